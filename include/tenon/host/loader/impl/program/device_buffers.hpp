// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/program/device_buffers.hpp"

#include <set>

#include "tenon/core/concat.hpp"
#include "tenon/host/loader/program/program_view.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

std::string device_name(tenon_dl_device device) {
  switch (device.device_type) {
    case TENON_DL_CPU:
      return "CPU";
    case TENON_DL_CUDA:
      return concat("CUDA device ", device.device_id);
    case TENON_DL_METAL:
      return concat("Metal device ", device.device_id);
    default:
      return concat("DLPack device ", device.device_type, ":", device.device_id);
  }
}

std::vector<DeviceBuffer> find_device_buffers(const schema::ExecutionPlan& plan) {
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

std::vector<tenon_dl_device> find_devices_of_unplanned(const schema::ExecutionPlan& plan) {
  std::vector<tenon_dl_device> out;
  for (const auto* indices : {plan.inputs(), plan.outputs()}) {
    for (const std::int32_t index : *indices) {
      const auto* tensor =
          plan.values()->Get(static_cast<flatbuffers::uoffset_t>(index))->val_as_Tensor();
      const auto* extra = tensor ? tensor->extra_tensor_info() : nullptr;
      if (!extra || tensor->allocation_info() || tensor->data_buffer_idx() != 0) continue;
      const tenon_dl_device device = dl_device(extra->device_type(), extra->device_index());
      if (!is_cpu(device)) out.push_back(device);
    }
  }
  return out;
}

std::vector<std::string_view> find_backend_ids(const schema::ExecutionPlan& plan) {
  std::vector<std::string_view> ids;
  std::set<std::string_view> seen;
  for (const auto* delegate : *plan.delegates()) {
    const std::string_view id = delegate->id()->string_view();
    if (seen.insert(id).second) ids.push_back(id);
  }
  return ids;
}

std::string DeviceBuffer::text() const {
  return concat("planned buffer ", index, " of ", nbytes, " bytes on ", device_name(device));
}

}}}  // namespace tenon::TENON_RELEASE::host
