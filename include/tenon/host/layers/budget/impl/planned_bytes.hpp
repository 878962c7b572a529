// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Adds to the entry of a device, which is made if there is none.
inline void add_bytes(std::vector<DeviceBytes>& to, tenon_dl_device device, std::uint64_t nbytes) {
  for (DeviceBytes& entry : to) {
    if (!is_same_device(entry.device, device)) continue;
    entry.nbytes = add_saturating(entry.nbytes, nbytes);
    return;
  }
  to.push_back({device, nbytes});
}

/// The planned memory of a method by device, the CPU's first.
[[nodiscard]] inline std::vector<DeviceBytes> planned_bytes(const schema::ExecutionPlan& plan) {
  std::vector<DeviceBytes> out{{}};
  const auto& sizes = *plan.non_const_buffer_sizes();
  for (flatbuffers::uoffset_t i = 1; i < sizes.size(); ++i) {
    add_bytes(out, {TENON_DL_CPU, 0}, static_cast<std::uint64_t>(sizes.Get(i)));
  }
  for (const DeviceBuffer& buffer : find_device_buffers(plan)) {
    out.front().nbytes -= buffer.nbytes;
    add_bytes(out, buffer.device, buffer.nbytes);
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
