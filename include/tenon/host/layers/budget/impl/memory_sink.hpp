// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <string_view>
#include <vector>

#include "tenon/abi/memory_use.h"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/plugin/backend_api.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Collects the memory that a backend passes to its sink, by device.
struct MemorySink {
  std::vector<DelegateBytes> devices;
  bool is_complete = true;  ///< Nothing was TENON_MEMORY_UNKNOWN.
  bool out_of_memory = false;

  // No exception may pass through the plugin's frames.
  static void take(void* context, const tenon_memory_use* from) noexcept {
    if (!from) return;
    auto& self = *static_cast<MemorySink*>(context);
    const auto use = complete_table<tenon_memory_use>(from);
    try {
      self.add(use);
    } catch (const std::bad_alloc&) {
      self.out_of_memory = true;
    }
  }

 private:
  void add(const tenon_memory_use& use) {
    if (use.nbytes == TENON_MEMORY_UNKNOWN) {
      is_complete = false;
      return;
    }
    auto found = std::ranges::find_if(devices, [&](const DelegateBytes& known) {
      return is_same_device(known.device, use.device);
    });
    if (found == devices.end()) {
      devices.push_back({use.device});
      found = devices.end() - 1;
    }
    const std::string_view kind = use.kind ? use.kind : "";
    std::uint64_t& sum = kind == TENON_MEMORY_WEIGHTS   ? found->weights
                         : kind == TENON_MEMORY_SESSION ? found->session
                                                        : found->workspace;
    sum = add_saturating(sum, use.nbytes);
  }
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
