// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/devices/device_buffers.hpp"

#include <set>

#include "tenon/core/concat.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/loader/program/program_view.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

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
