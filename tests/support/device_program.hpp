// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "support/program_builder.hpp"

namespace tenon::test {

inline void put_on_device(schema::objects::ExecutionPlanT& plan, std::uint32_t buffer,
                          std::int8_t index) {
  auto& entry = *plan.non_const_buffer_device.emplace_back(
      std::make_unique<schema::objects::NonConstBufferDeviceT>());
  entry.buffer_idx = static_cast<std::int32_t>(buffer);
  entry.device_type = schema::DeviceType::CUDA;
  entry.device_index = index;
}

/// `tensor` with the tag of a CUDA device.
inline schema::objects::TensorT tagged(schema::objects::TensorT tensor, std::int8_t index = 0) {
  tensor.extra_tensor_info = std::make_unique<schema::objects::ExtraTensorInfoT>();
  tensor.extra_tensor_info->device_type = schema::DeviceType::CUDA;
  tensor.extra_tensor_info->device_index = index;
  return tensor;
}

/// The values of `device_program`.
namespace values {
enum : std::int32_t { x, y, device_x, device_y, device_out, out };
}

/// A program as ExecuTorch's exporter writes it for CUDA, with the values, places and instructions
/// of the fixture cuda_addmul: two inputs [2, 3] are copied to the device, `blob` is run there, and
/// the result is copied back.
inline ProgramBuilder device_program(std::string_view blob = "add", std::int8_t index = 0,
                                     const std::string& backend = "FarBackend") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto here = plan.buffer(64);
  const auto there = plan.buffer(96);
  put_on_device(plan.table(), there, index);
  const auto at = [](std::uint32_t buffer, std::uint64_t offset) {
    return planned_tensor(ScalarType::Float, {2, 3}, buffer, offset);
  };
  plan.input(at(here, 32));
  plan.input(at(here, 0));
  plan.value(tagged(at(there, 64), index));
  plan.value(tagged(at(there, 32), index));
  plan.value(tagged(at(there, 0), index));
  plan.output(at(here, 0));
  const auto to_device = plan.op("et_copy::_h2d_copy", "out");
  const auto to_host = plan.op("et_copy::_d2h_copy", "out");
  const auto delegate =
      plan.delegate(backend, schema::DataLocation::INLINE, builder.inline_blob(blob));
  plan.instruction(kernel_call(to_device, {values::x, values::device_x, values::device_x}));
  plan.instruction(kernel_call(to_device, {values::y, values::device_y, values::device_y}));
  plan.instruction(
      delegate_call(delegate, {values::device_x, values::device_y, values::device_out}));
  plan.instruction(kernel_call(to_host, {values::device_out, values::out, values::out}));
  return builder;
}

/// Where the values of a chain of delegates are.
enum class Chain {
  copied,   ///< On the CPU between two delegates: each has copies around it.
  kept,     ///< On the device from the first delegate to the last, as ExecuTorch 1.5 exports.
  resident  ///< Buffers of the inputs and outputs, too.
};

/// Three delegates "add" of which each adds an input to what the one before made. Inputs are [2,
/// 3].
inline ProgramBuilder chain_on_device(Chain where) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto here = plan.buffer(512);
  const auto there = plan.buffer(512);
  put_on_device(plan.table(), there, 0);
  std::uint64_t used = 0;
  const auto at = [&](bool on_device) {
    auto made = planned_tensor(ScalarType::Float, {2, 3}, on_device ? there : here, used);
    used += 32;
    return on_device ? tagged(std::move(made)) : std::move(made);
  };
  const auto to_device = plan.op("et_copy::_h2d_copy", "out");
  const auto to_host = plan.op("et_copy::_d2h_copy", "out");
  const auto copy = [&](std::int32_t op, std::int32_t from, bool on_device) {
    const std::int32_t to = plan.value(at(on_device));
    plan.instruction(kernel_call(op, {from, to, to}));
    return to;
  };
  const bool resident = where == Chain::resident;
  const std::int32_t inputs[] = {plan.input(at(resident)), plan.input(at(resident))};
  const auto on_device = [&](std::int32_t value) {
    return resident ? value : copy(to_device, value, true);
  };
  std::int32_t sum = on_device(inputs[0]);
  const std::int32_t addend = on_device(inputs[1]);
  for (int i = 0; i < 3; ++i) {
    const bool is_last = i == 2;
    const std::int32_t out = is_last && resident ? plan.output(at(true)) : plan.value(at(true));
    const auto delegate =
        plan.delegate("FarBackend", schema::DataLocation::INLINE, builder.inline_blob("add"));
    plan.instruction(delegate_call(delegate, {sum, addend, out}));
    sum = out;
    if (where == Chain::copied && !is_last) {
      sum = copy(to_device, copy(to_host, sum, false), true);
    }
  }
  if (!resident) {
    const std::int32_t out = plan.output(at(false));
    plan.instruction(kernel_call(to_host, {sum, out, out}));
  }
  return builder;
}

/// A program of one delegate "copy" whose input and output are on the device, without copies around
/// it (exporter: skip_h2d_for_method_inputs, skip_d2h_for_method_outputs). Planned or not.
inline ProgramBuilder resident_program(bool planned, std::uint64_t output_at = 32) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto there = plan.buffer(64);
  put_on_device(plan.table(), there, 0);
  const auto made = [&](std::uint64_t offset) {
    return tagged(planned ? planned_tensor(ScalarType::Float, {2, 3}, there, offset)
                          : tensor(ScalarType::Float, {2, 3}));
  };
  plan.input(made(0));
  plan.output(made(output_at));
  const auto delegate =
      plan.delegate("FarBackend", schema::DataLocation::INLINE, builder.inline_blob("copy"));
  plan.instruction(delegate_call(delegate, {0, 1}));
  return builder;
}

}  // namespace tenon::test
