// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/api.hpp"
#include "tenon/host/schema/forward.hpp"

/// The needs of a method besides its backends, and what of them is missing: all of it at once, so
/// that it can be fixed at once. Plans are those of a program that was verified.
namespace tenon::host {

class KernelTable;
class MergedDataMap;

/// Operators without a kernel, neither in `kernels` nor built in (copy_kernels.hpp), each with the
/// instructions that call it: "0:1, 0:4" (number of the chain, and in it). `kernels` may be null.
TENON_ON_USE [[nodiscard]] TENON_API std::map<std::string, std::string> find_missing_operators(
    const schema::ExecutionPlan& plan, const KernelTable* kernels);

/// Names of tensors whose data is external and in none of the data files, each once. `external` may
/// be null.
TENON_ON_USE [[nodiscard]] TENON_API std::vector<std::string> find_missing_tensors(
    const schema::ExecutionPlan& plan, const MergedDataMap* external);

/// A buffer that a plan puts on a device.
struct DeviceBuffer {
  std::uint32_t index = 0;  ///< Its memory_id, 1 or more.
  std::uint64_t nbytes = 0;
  tenon_dl_device device{TENON_DL_CPU, 0};

  /// "planned buffer 2 of 384 bytes on CUDA device 0"
  [[nodiscard]] std::string text() const;
};

/// Planned buffers that are on a device, in the order of the plan.
[[nodiscard]] TENON_API std::vector<DeviceBuffer> find_device_buffers(
    const schema::ExecutionPlan& plan);

/// Ids of the backends that the delegates need, each once, in the order of the delegates. That is
/// the order in which they are asked for memory on a device.
[[nodiscard]] TENON_API std::vector<std::string_view> find_backend_ids(
    const schema::ExecutionPlan& plan);

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include <set>

#include "tenon/core/concat.hpp"
#include "tenon/host/method/copy_kernels.hpp"
#include "tenon/host/method/device_memory.hpp"
#include "tenon/host/method/kernels.hpp"
#include "tenon/host/program/merged_data_map.hpp"
#include "tenon/host/program/method_meta.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::host {

TENON_ON_USE TENON_API std::map<std::string, std::string> find_missing_operators(
    const schema::ExecutionPlan& plan, const KernelTable* kernels) {
  std::map<std::string, std::string> missing;
  for (flatbuffers::uoffset_t c = 0; c < plan.chains()->size(); ++c) {
    const auto& instructions = *plan.chains()->Get(c)->instructions();
    for (flatbuffers::uoffset_t i = 0; i < instructions.size(); ++i) {
      const auto* call = instructions.Get(i)->instr_args_as_KernelCall();
      if (!call) continue;
      const std::string op = operator_name(
          *plan.operators()->Get(static_cast<flatbuffers::uoffset_t>(call->op_index())));
      if (is_built_in(op) || (kernels && kernels->find(op))) continue;
      std::string& places = missing[op];
      places += concat(places.empty() ? "" : ", ", c, ":", i);
    }
  }
  return missing;
}

TENON_ON_USE TENON_API std::vector<std::string> find_missing_tensors(
    const schema::ExecutionPlan& plan, const MergedDataMap* external) {
  std::vector<std::string> missing;
  std::set<std::string_view> seen;
  for (const auto* value : *plan.values()) {
    const auto* tensor = value->val_as_Tensor();
    const auto* extra = tensor ? tensor->extra_tensor_info() : nullptr;
    if (!extra || extra->location() != schema::TensorDataLocation::EXTERNAL) continue;
    const std::string_view name = extra->fully_qualified_name()->string_view();
    if (external && external->find(name)) continue;
    if (seen.insert(name).second) missing.emplace_back(name);
  }
  return missing;
}

TENON_API std::vector<DeviceBuffer> find_device_buffers(const schema::ExecutionPlan& plan) {
  std::vector<DeviceBuffer> out;
  if (const auto* devices = plan.non_const_buffer_device()) {
    for (const auto* entry : *devices) {
      if (entry->device_type() == schema::DeviceType::CPU) continue;
      const auto index = static_cast<flatbuffers::uoffset_t>(entry->buffer_idx());
      out.push_back({index, static_cast<std::uint64_t>(plan.non_const_buffer_sizes()->Get(index)),
                     dl_device(entry->device_type(), entry->device_index())});
    }
  }
  return out;
}

TENON_API std::vector<std::string_view> find_backend_ids(const schema::ExecutionPlan& plan) {
  std::vector<std::string_view> ids;
  std::set<std::string_view> seen;
  for (const auto* delegate : *plan.delegates()) {
    const std::string_view id = delegate->id()->string_view();
    if (seen.insert(id).second) ids.push_back(id);
  }
  return ids;
}

TENON_API std::string DeviceBuffer::text() const {
  return concat("planned buffer ", index, " of ", nbytes, " bytes on ", device_name(device));
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
