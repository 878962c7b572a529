// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/host/kernels.hpp"
#include "tenon/host/method_meta.hpp"
#include "tenon/host/named_data.hpp"
#include "tenon/host/schema/program_generated.h"

/// What a method needs beside its backends, and what of it is not there. All of it at once, so that
/// it can be mended at once. Plans are those of a program that was verified.
namespace tenon::host {

/// Operators without a kernel, each with the instructions that call it: "0:1, 0:4" (number of the
/// chain, and in it). `kernels` may be null: there are none then.
[[nodiscard]] inline std::map<std::string, std::string> find_missing_operators(
    const schema::ExecutionPlan& plan, const KernelTable* kernels) {
  std::map<std::string, std::string> missing;
  for (flatbuffers::uoffset_t c = 0; c < plan.chains()->size(); ++c) {
    const auto& instructions = *plan.chains()->Get(c)->instructions();
    for (flatbuffers::uoffset_t i = 0; i < instructions.size(); ++i) {
      const auto* call = instructions.Get(i)->instr_args_as_KernelCall();
      if (!call) continue;
      const std::string op = operator_name(
          *plan.operators()->Get(static_cast<flatbuffers::uoffset_t>(call->op_index())));
      if (kernels && kernels->find(op)) continue;
      std::string& places = missing[op];
      places += concat(places.empty() ? "" : ", ", c, ":", i);
    }
  }
  return missing;
}

/// Names of tensors whose data is external and in none of the data files, each once. `external` may
/// be null.
[[nodiscard]] inline std::vector<std::string> find_missing_tensors(
    const schema::ExecutionPlan& plan, const NamedDataMap* external) {
  std::vector<std::string> missing;
  for (const auto* value : *plan.values()) {
    const auto* tensor = value->val_as_Tensor();
    const auto* extra = tensor ? tensor->extra_tensor_info() : nullptr;
    if (!extra || extra->location() != schema::TensorDataLocation::EXTERNAL) continue;
    const std::string_view name = extra->fully_qualified_name()->string_view();
    if (external && external->find(name)) continue;
    if (std::ranges::find(missing, name) == missing.end()) missing.emplace_back(name);
  }
  return missing;
}

/// Planned buffers that lie on a device: "planned buffer 1 on CUDA device 0". This host has no
/// memory there.
[[nodiscard]] inline std::vector<std::string> find_device_buffers(
    const schema::ExecutionPlan& plan) {
  std::vector<std::string> out;
  if (const auto* devices = plan.non_const_buffer_device()) {
    for (const auto* device : *devices) {
      if (device->device_type() == schema::DeviceType::CPU) continue;
      out.push_back(concat("planned buffer ", device->buffer_idx(), " on ",
                           std::string_view(schema::EnumNameDeviceType(device->device_type())),
                           " device ", int{device->device_index()}));
    }
  }
  return out;
}

}  // namespace tenon::host
