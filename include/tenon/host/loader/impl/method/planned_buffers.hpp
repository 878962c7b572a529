// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/core/sanitizer.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/impl/method/device_space.hpp"
#include "tenon/host/loader/impl/method/page_source.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The buffers of a method's memory plan (ExecutionPlan.non_const_buffer_sizes), each on the device
/// that the plan names. Zeroed, so that a method never shows data of another one; on a device by
/// copying zeroes there, once.
class PlannedBuffers {
 private:
  struct Buffer {
    void* block = nullptr;       ///< To be freed: on `device`, or by `std::free`.
    std::byte* begin = nullptr;  ///< Aligned, in `block`, in the arena, or of a PageSource.
    tenon_dl_device device = cpu_device;
    std::size_t padding = 0;  ///< Bytes of the host that are not the plan's.
  };

 public:
  /// Bytes that `allocate` takes from its arena for each buffer, besides small ones.
  static constexpr std::size_t bytes_of_entry = sizeof(Buffer);
  /// Bytes to which each buffer is aligned: the size of the widest vector registers.
  static constexpr std::size_t alignment = 64;
  /// Bytes to which a buffer on a device is aligned: the alignment of CUDA's own allocator.
  static constexpr std::size_t device_alignment = 256;
  /// Buffers of up to this many bytes are taken from the method's arena. None with the address
  /// sanitizer, which sees only the end of what was allocated by itself.
  static constexpr std::uint64_t largest_in_arena = TENON_DETAIL_ADDRESS_SANITIZER ? 0 : 1024;

  PlannedBuffers() noexcept = default;
  PlannedBuffers(const PlannedBuffers&) = delete;
  PlannedBuffers& operator=(const PlannedBuffers&) = delete;
  ~PlannedBuffers() {
    for (const Buffer& buffer : buffers_) {
      if (!is_cpu(buffer.device)) {
        devices_->free(buffer.device, buffer.block);
      } else {
        std::free(buffer.block);
      }
    }
  }

  /// Bytes that `allocate` takes from its arena, at most.
  [[nodiscard]] static std::size_t estimated_bytes(const schema::ExecutionPlan& plan) noexcept {
    const auto& sizes = *plan.non_const_buffer_sizes();
    std::size_t bytes = sizes.size() * sizeof(Buffer);
    for (flatbuffers::uoffset_t i = 1; i < sizes.size(); ++i) {
      const auto size = static_cast<std::uint64_t>(sizes.Get(i));
      if (size <= largest_in_arena) bytes += static_cast<std::size_t>(size) + alignment;
    }
    return bytes;
  }

  /// Bytes of the buffers that are taken from the arena, and those that aligning the others takes.
  [[nodiscard]] static std::pair<std::uint64_t, std::uint64_t> bytes_in_arena(
      const schema::ExecutionPlan& plan) {
    const auto& sizes = *plan.non_const_buffer_sizes();
    std::vector<bool> elsewhere(sizes.size());
    for (const DeviceBuffer& buffer : find_device_buffers(plan)) elsewhere[buffer.index] = true;
    std::uint64_t in_arena = 0, aligning = 0;
    for (flatbuffers::uoffset_t i = 1; i < sizes.size(); ++i) {
      const auto size = static_cast<std::uint64_t>(sizes.Get(i));
      if (size == 0 || elsewhere[i]) continue;
      if (size <= largest_in_arena) {
        in_arena += size;
      } else {
        aligning += alignment;
      }
    }
    return {in_arena, aligning};
  }

  /// Allocates all of them, once. `devices` must have the device of each buffer, and may be
  /// null without any; it, `arena` and `pages`, or null, must outlive this
  /// object.
  ///
  /// errors: OutOfResources when all together have more than `planned_bytes`; nothing was allocated
  ///         then. MemoryAllocationFailed when there is no memory; on a device whatever its backend
  ///         fails with. The text names the buffer, its size and its device.
  [[nodiscard]] Status allocate(const schema::ExecutionPlan& plan, DeviceSpace* devices,
                                std::uint64_t planned_bytes, Arena& arena, PageSource* pages) {
    const auto& sizes = *plan.non_const_buffer_sizes();
    std::uint64_t all = 0;
    for (flatbuffers::uoffset_t i = 1; i < sizes.size(); ++i) {
      all = add_saturating(all, static_cast<std::uint64_t>(sizes.Get(i)));
      if (all > planned_bytes) {
        return over_limit("bytes of planned memory", all, "planned_bytes", planned_bytes);
      }
    }
    auto* buffers = arena.allocate_list<Buffer>(sizes.size());
    if (!buffers) return error(Error::MemoryAllocationFailed, "no memory for the planned buffers");
    std::uninitialized_fill_n(buffers, sizes.size(), Buffer{});
    buffers_ = {buffers, sizes.size()};
    devices_ = devices;
    for (const DeviceBuffer& buffer : find_device_buffers(plan)) {
      TENON_RETURN_IF_ERROR(
          allocate_there(buffer, buffers_[buffer.index]).with_context(buffer.text()));
    }
    for (flatbuffers::uoffset_t i = 1; i < sizes.size(); ++i) {
      const auto size = static_cast<std::uint64_t>(sizes.Get(i));
      if (size == 0 || !is_cpu(buffers_[i].device)) continue;
      const bool is_allocated = pages && pages->takes(size)
                                    ? take_pages(*pages, size, buffers_[i])
                                    : allocate_here(size, arena, buffers_[i]);
      if (!is_allocated) {
        return error(Error::MemoryAllocationFailed, "planned buffer ", i, ": no memory for ", size,
                     " bytes");
      }
    }
    if (pages) pages->end();
    return ok();
  }

  /// Bytes in the host's memory that the plan does not count.
  [[nodiscard]] std::uint64_t padding() const noexcept {
    std::uint64_t sum = 0;
    for (const Buffer& buffer : buffers_) sum += buffer.padding;
    return sum;
  }

  /// Address of `offset` in buffer `id`; both were checked when the program was opened.
  [[nodiscard]] std::byte* at(std::uint32_t id, std::uint64_t offset) const noexcept {
    std::byte* const begin = buffers_[id].begin;
    return begin ? begin + offset : nullptr;
  }

  /// The device of buffer `id`.
  [[nodiscard]] tenon_dl_device device(std::uint32_t id) const noexcept {
    return buffers_[id].device;
  }
  /// Whose memory buffers on devices are.
  [[nodiscard]] const DeviceSpace& devices() const noexcept { return *devices_; }

 private:
  static bool take_pages(PageSource& pages, std::uint64_t size, Buffer& out) {
    const std::span<std::byte> bytes = pages.take(size);
    if (bytes.empty()) return false;
    out.begin = bytes.data();
    out.padding = bytes.size() - static_cast<std::size_t>(size);
    return true;
  }

  static bool allocate_here(std::uint64_t size, Arena& arena, Buffer& out) noexcept {
    if (size <= largest_in_arena) {
      void* const bytes = arena.allocate(size, alignment);
      if (!bytes) return false;
      out.begin = static_cast<std::byte*>(std::memset(bytes, 0, static_cast<std::size_t>(size)));
      return true;
    }
    if (size > PTRDIFF_MAX - alignment) return false;
    // calloc gives large blocks as untouched zero pages, which a plan that is larger than what a
    // run uses never pays for.
    out.padding = alignment;
    out.block = std::calloc(1, static_cast<std::size_t>(size) + alignment);
    if (!out.block) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(out.block);
    out.begin = reinterpret_cast<std::byte*>((address + alignment - 1) & ~(alignment - 1));
    return true;
  }

  /// `out` has the device also without bytes.
  Status allocate_there(const DeviceBuffer& from, Buffer& out) {
    out.device = from.device;
    const std::uint64_t size = from.nbytes;
    if (size == 0) return ok();
    TENON_TRY(out.block, devices_->allocate(from.device, size, device_alignment));
    out.begin = static_cast<std::byte*>(out.block);
    // Zero pages of the system, copied again and again.
    constexpr std::uint64_t most = std::uint64_t{4} << 20;
    const std::uint64_t step = std::min(size, most);
    const std::unique_ptr<void, decltype(&std::free)> zeroes(
        std::calloc(1, static_cast<std::size_t>(step)), &std::free);
    if (!zeroes) return error(Error::MemoryAllocationFailed, "no memory for ", step, " zeroes");
    for (std::uint64_t at = 0; at < size; at += step) {
      TENON_RETURN_IF_ERROR(devices_->copy(from.device, out.begin + at, cpu_device, zeroes.get(),
                                           std::min(step, size - at)));
    }
    return ok();
  }

  std::span<Buffer> buffers_;
  DeviceSpace* devices_ = nullptr;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
