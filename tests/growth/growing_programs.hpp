// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "support/aligned_bytes.hpp"
#include "support/device_program.hpp"
#include "support/program_builder.hpp"
#include "tenon/abi/static_plugin.h"
#include "tenon/core/concat.hpp"

TENON_DECLARE_STATIC_PLUGIN(Growing);

namespace tenon::test {

/// Programs with many of one thing, for readers and for the programs that diagnose them.
namespace growing {

inline std::string key(std::size_t i) { return concat("k", i); }

inline ProgramBuilder external_tensors(std::size_t count) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  for (std::size_t i = 0; i < count; ++i) {
    auto external = tensor(ScalarType::Float, {1});
    external.extra_tensor_info = std::make_unique<schema::objects::ExtraTensorInfoT>();
    external.extra_tensor_info->location = schema::TensorDataLocation::EXTERNAL;
    external.extra_tensor_info->fully_qualified_name = key(i);
    plan.value(std::move(external));
  }
  return builder;
}

inline ProgramBuilder device_buffers(std::size_t count) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  for (std::size_t i = 0; i < count; ++i) {
    const auto buffer = plan.buffer(16);
    put_on_device(plan.table(), buffer, 0);
    plan.value(tagged(planned_tensor(ScalarType::Float, {1}, buffer, 0)));
  }
  plan.delegate("Growing", schema::DataLocation::INLINE, builder.inline_blob("blob"));
  return builder;
}

inline ProgramBuilder delegates(std::size_t count, std::string_view blob = "blob") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  for (std::size_t i = 0; i < count; ++i) {
    plan.delegate("Growing", schema::DataLocation::INLINE, builder.inline_blob(blob));
  }
  return builder;
}

/// Each delegate of a backend of its own, which is not there.
inline ProgramBuilder backend_ids(std::size_t count) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  for (std::size_t i = 0; i < count; ++i) {
    plan.delegate(concat("Missing", i), schema::DataLocation::INLINE, builder.inline_blob("x"));
  }
  return builder;
}

inline ProgramBuilder compile_specs(std::size_t count) {
  ProgramBuilder builder = delegates(1);
  const PlanBuilder plan(*builder.program.execution_plan[0]);
  for (std::size_t i = 0; i < count; ++i) PlanBuilder(plan).compile_spec(0, key(i), "value");
  return builder;
}

/// Each instruction calls an operator of its own.
inline ProgramBuilder operators(std::size_t count) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  for (std::size_t i = 0; i < count; ++i) {
    plan.instruction(kernel_call(plan.op(concat("test::op", i), "out"), {}));
  }
  return builder;
}

/// All instructions call one operator.
inline ProgramBuilder kernel_calls(std::size_t count) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto op = plan.op("test::op", "out");
  for (std::size_t i = 0; i < count; ++i) plan.instruction(kernel_call(op, {}));
  return builder;
}

/// One delegate whose check asks for `count` keys, and a program that has another one.
inline ProgramBuilder named_data_asked_for(std::size_t count) {
  ProgramBuilder builder = delegates(1, concat("data ", count));
  builder.named_data("other", builder.segment(bytes_of("x")));
  return builder;
}

}  // namespace growing
}  // namespace tenon::test
