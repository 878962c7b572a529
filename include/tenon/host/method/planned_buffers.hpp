// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/files/limits.hpp"
#include "tenon/host/method/device_memory.hpp"
#include "tenon/host/method/requirements.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::host::detail {

/// The buffers of a method's memory plan (ExecutionPlan.non_const_buffer_sizes), each on the device
/// that the plan names. Zeroed, so that a method never shows data of another one; on a device by
/// copying zeroes there, once.
class PlannedBuffers {
 public:
  /// Bytes to which each buffer is aligned: those of the widest vector registers.
  static constexpr std::size_t alignment = 64;
  /// The same on a device: the alignment of CUDA's own allocator.
  static constexpr std::size_t device_alignment = 256;

  PlannedBuffers() noexcept = default;

  /// `devices` must have the device of each buffer, and outlive what is returned.
  ///
  /// errors: OutOfResources when all together have more than `planned_bytes`; nothing was allocated
  ///         then. MemoryAllocationFailed when there is no memory; on a device whatever its backend
  ///         fails with. The text names the buffer, its size and its device.
  [[nodiscard]] static Result<PlannedBuffers> allocate(const schema::ExecutionPlan& plan,
                                                       const DeviceMemories& devices,
                                                       std::uint64_t planned_bytes) {
    PlannedBuffers memory;
    const auto& sizes = *plan.non_const_buffer_sizes();
    std::uint64_t all = 0;
    for (flatbuffers::uoffset_t i = 1; i < sizes.size(); ++i) {
      const auto size = static_cast<std::uint64_t>(sizes.Get(i));
      all = add_saturating(all, size);
      if (all > planned_bytes) {
        return over_limit("bytes of planned memory", all, "planned_bytes", planned_bytes);
      }
    }
    memory.buffers_.resize(sizes.size());
    for (const DeviceBuffer& buffer : find_device_buffers(plan)) {
      Buffer& block = memory.buffers_[buffer.index];
      block.get_deleter().device = devices.find(buffer.device);
      TENON_RETURN_IF_ERROR(allocate_on(*devices.find(buffer.device), buffer.nbytes, block)
                                .with_context(buffer.text()));
    }
    for (flatbuffers::uoffset_t i = 1; i < sizes.size(); ++i) {
      const auto size = static_cast<std::uint64_t>(sizes.Get(i));
      if (size == 0 || memory.device(i)) continue;
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

  /// The device of buffer `id`, or null when it is the CPU.
  [[nodiscard]] const DeviceMemory* device(std::uint32_t id) const noexcept {
    return buffers_[id].get_deleter().device;
  }

 private:
  struct Free {
    const DeviceMemory* device = nullptr;
    void operator()(void* block) const noexcept {
      if (device) return device->free(block);
      std::free(block);
    }
  };
  using Buffer = std::unique_ptr<void, Free>;

  static Status allocate_on(const DeviceMemory& device, std::uint64_t size, Buffer& out) {
    if (size == 0) return ok();
    TENON_TRY(void* const block, device.allocate(size, device_alignment));
    out.reset(block);
    // Zero pages of the system, copied again and again.
    constexpr std::uint64_t most = std::uint64_t{4} << 20;
    const std::uint64_t step = std::min(size, most);
    const std::unique_ptr<void, Free> zeroes(std::calloc(1, static_cast<std::size_t>(step)));
    if (!zeroes) return error(Error::MemoryAllocationFailed, "no memory for ", step, " zeroes");
    for (std::uint64_t at = 0; at < size; at += step) {
      TENON_RETURN_IF_ERROR(device.copy_to_device(static_cast<std::byte*>(block) + at, zeroes.get(),
                                                  std::min(step, size - at)));
    }
    return ok();
  }

  std::vector<Buffer> buffers_;
};

}  // namespace tenon::host::detail
