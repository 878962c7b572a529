// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::host {

/// The buffers that a method's memory plan asks for (ExecutionPlan.non_const_buffer_sizes). Zeroed,
/// so that a method never shows what another one left behind.
class PlannedMemory {
 public:
  /// Bytes to which each buffer is aligned: what the widest vector registers ask for.
  static constexpr std::size_t alignment = 64;

  PlannedMemory() noexcept = default;

  /// NotSupported when a buffer lies on a device, since nothing here can allocate there;
  /// MemoryAllocationFailed when there is no memory, naming the buffer and its size.
  [[nodiscard]] static Result<PlannedMemory> allocate(const schema::ExecutionPlan& plan) {
    if (const auto* devices = plan.non_const_buffer_device()) {
      for (const auto* device : *devices) {
        if (device->device_type() == schema::DeviceType::CPU) continue;
        return error(Error::NotSupported, "planned buffer ", device->buffer_idx(), " lies on ",
                     std::string_view(schema::EnumNameDeviceType(device->device_type())),
                     " device ", int{device->device_index()},
                     ", and no backend offers a device allocator for it");
      }
    }
    PlannedMemory memory;
    const auto& sizes = *plan.non_const_buffer_sizes();
    memory.buffers_.resize(sizes.size());
    for (flatbuffers::uoffset_t i = 1; i < sizes.size(); ++i) {
      const auto size = static_cast<std::uint64_t>(sizes.Get(i));
      if (size == 0) continue;
      // calloc gives large blocks as untouched zero pages, which a plan that is larger than what a
      // run uses never pays for.
      void* block = size <= PTRDIFF_MAX - alignment
                        ? std::calloc(1, static_cast<std::size_t>(size) + alignment)
                        : nullptr;
      if (!block) {
        return error(Error::MemoryAllocationFailed, "planned buffer ", i, ": no memory for ", size,
                     " bytes");
      }
      memory.buffers_[i].reset(block);
    }
    return memory;
  }

  /// Address of `offset` in buffer `id`; both were checked when the program was opened.
  [[nodiscard]] std::byte* at(std::uint32_t id, std::uint64_t offset) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(buffers_[id].get());
    if (address == 0) return nullptr;
    const std::uintptr_t aligned = (address + alignment - 1) & ~(alignment - 1);
    return reinterpret_cast<std::byte*>(aligned + offset);
  }

 private:
  struct Free {
    void operator()(void* block) const noexcept { std::free(block); }
  };
  std::vector<std::unique_ptr<void, Free>> buffers_;
};

}  // namespace tenon::host
