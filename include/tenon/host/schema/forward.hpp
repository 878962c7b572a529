// SPDX-License-Identifier: MIT
//
// Names of the tables that flatc generates readers for, for headers that only refer to them.
// Include "tenon/host/schema/program_generated.h" or "flat_tensor_generated.h" to read them.
#pragma once

#include <cstdint>

namespace tenon::schema {

struct BackendDelegate;
struct EValue;
struct ExecutionPlan;
struct Operator;
struct Program;
struct SubsegmentOffsets;
struct Tensor;
enum class DeviceType : std::int8_t;
enum class InstructionArguments : std::uint8_t;

}  // namespace tenon::schema

namespace tenon::flat_tensor_schema {

struct FlatTensor;

}  // namespace tenon::flat_tensor_schema
