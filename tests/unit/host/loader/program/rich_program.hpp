// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "support/catch.hpp"
#include "support/program_builder.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::test {

/// Values of method "forward" of `rich_program`, by index.
namespace rich {
enum : std::int32_t {
  input = 0,
  output,
  integer,
  boolean,
  real,
  text,
  none,
  int_items,
  double_items,
  bool_items,
  tensor_items,
  optional_items,
  constant,
  state,
  external,
  count,
};
}  // namespace rich

/// A valid program that uses every feature of the format: each kind of value and instruction,
/// constants, initial state, external and named data, blobs inside and outside the flatbuffer, a
/// buffer on a device, two methods.
inline ProgramBuilder rich_program() {
  ProgramBuilder builder;
  builder.constants({std::string(16, 'c')});
  builder.mutable_data({std::string(16, 'm')});
  const auto blob = builder.segment(bytes_of("blob in a segment"));
  builder.named_data("weights", builder.segment(bytes_of("named data")));
  builder.named_data("same weights", 3);

  auto plan = builder.plan("forward");
  const auto host_memory = plan.buffer(64);
  const auto device_memory = plan.buffer(16);
  auto& device = *plan.table().non_const_buffer_device.emplace_back(
      std::make_unique<schema::objects::NonConstBufferDeviceT>());
  device.buffer_idx = static_cast<std::int32_t>(device_memory);
  device.device_type = schema::DeviceType::CUDA;
  device.device_index = 1;

  plan.input(planned_tensor(ScalarType::Float, {2, 3}, host_memory, 0));
  plan.output(planned_tensor(ScalarType::Float, {2, 3}, host_memory, 32));
  plan.value(int_value(7));
  plan.value(bool_value(true));
  plan.value(double_value(1.5));
  plan.value(string_value("text"));
  plan.value(schema::objects::NullT());
  plan.value(int_list({rich::integer, rich::integer}));
  plan.value(double_list({0.5, 0.25}));
  plan.value(bool_list({true, false}));
  plan.value(tensor_list({rich::input, rich::output}));
  plan.value(optional_tensor_list({rich::input, -1, rich::none}));
  plan.value(constant_tensor(ScalarType::Float, {4}, 1));
  auto state = planned_tensor(ScalarType::Float, {4}, device_memory, 0);
  state.data_buffer_idx = 1;
  state.extra_tensor_info = std::make_unique<schema::objects::ExtraTensorInfoT>();
  state.extra_tensor_info->fully_qualified_name = "module.state";
  state.extra_tensor_info->device_type = schema::DeviceType::CUDA;
  state.extra_tensor_info->device_index = 1;
  plan.value(std::move(state));
  auto external = tensor(ScalarType::Float, {2});
  external.extra_tensor_info = std::make_unique<schema::objects::ExtraTensorInfoT>();
  external.extra_tensor_info->fully_qualified_name = "module.weight";
  external.extra_tensor_info->location = schema::TensorDataLocation::EXTERNAL;
  plan.value(std::move(external));

  plan.op("aten::add", "out");
  plan.delegate("Outside", schema::DataLocation::SEGMENT, blob);
  plan.delegate("Inside", schema::DataLocation::INLINE, builder.inline_blob("blob inside"));
  plan.compile_spec(0, "first", "one");
  plan.compile_spec(0, "second", "");
  plan.instruction(kernel_call(0, {rich::input, rich::constant, rich::output}));
  plan.instruction(delegate_call(0, {rich::input, rich::output}));
  plan.instruction(delegate_call(1, {rich::input, rich::output}));
  plan.instruction(move_call(rich::integer, rich::integer));
  plan.instruction(jump_false_call(rich::boolean, 6));
  plan.instruction(free_call(rich::output));

  builder.plan("backward");
  return builder;
}

/// The table of method "forward".
inline schema::objects::ExecutionPlanT& forward(ProgramBuilder& builder) {
  return *builder.program.execution_plan.front();
}
inline const schema::ExecutionPlan& forward(const AlignedBytes& file) {
  return *program_in(file).execution_plan()->Get(0);
}

/// The offset of a table's field in the file.
template <class Table>
std::size_t place_of_field(const AlignedBytes& file, const Table& table,
                           flatbuffers::voffset_t field) {
  const auto* base = reinterpret_cast<const std::uint8_t*>(&table);
  const auto* vtable = base - flatbuffers::ReadScalar<flatbuffers::soffset_t>(base);
  const auto* place = base + flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable + field);
  return static_cast<std::size_t>(place -
                                  reinterpret_cast<const std::uint8_t*>(file.bytes().data()));
}

/// Moves a list of eight-byte elements that begins with the number 1 by four bytes: the low half of
/// that element is then read as the length, and the elements behind it are unaligned.
template <class Table>
void misalign(AlignedBytes& file, const Table& table, flatbuffers::voffset_t field) {
  const auto place = place_of_field(file, table, field);
  patch(file, place, flatbuffers::ReadScalar<std::uint32_t>(&file.bytes()[place]) + 4);
}

/// One way to damage a program, and the error that its reader must report.
struct Fault {
  std::string name;
  Error error;
  std::string text;                                ///< A part of the error's text.
  std::function<void(ProgramBuilder&)> edit = {};  ///< Applied before the file is built.
  std::function<void(AlignedBytes&)> damage = {};  ///< Applied to the built file.
};

/// Builds the rich program with one fault and checks that it is refused as the fault says.
inline void check_refused(const Fault& fault) {
  INFO(fault.name);
  auto builder = rich_program();
  if (fault.edit) fault.edit(builder);
  auto file = builder.build();
  if (fault.damage) fault.damage(file);
  const auto program = host::Program::from_bytes(file.bytes(), nullptr, "faulty.pte");
  REQUIRE_FALSE(program.ok());
  CHECK(error_name(program.error()) == error_name(fault.error));
  CHECK(program.text().starts_with("faulty.pte: "));
  CHECK_THAT(std::string(program.text()), ContainsSubstring(fault.text));
}

}  // namespace tenon::test
