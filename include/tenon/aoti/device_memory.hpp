// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "tenon/aoti/tensor.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aoti {

/// Between which memories bytes are copied.
enum class CopyKind { to_device, to_host, within_device };

/// A copy of elements between two layouts of the same sizes, both on the device. Strides are in
/// elements; a source stride of 0 repeats an element. The two do not overlap.
struct StridedCopy {
  std::byte* to;
  std::span<const std::int64_t> to_strides;
  const std::byte* from;
  std::span<const std::int64_t> from_strides;
  std::span<const std::int64_t> sizes;
  std::size_t element_size;
};

/// What one device tells about its memory: how blocks come and go, and how bytes get there and
/// back. A device whose tensors lie in the host's memory (the CPU) tells only how to allocate.
///
/// `context` is the device's own, such as its number and its queue, and is handed to each of its
/// functions; it lives as long as any copy of this object. `stream` is the queue of work that a
/// copy or a wait belongs to, in the device's own terms.
///
/// Threads: as the pool that uses it, one at a time; objects that share a context may be used by
/// different threads.
struct DeviceMemory {
  DeviceType device_type = DeviceType::cpu;
  /// Blocks for tensors of the device, aligned to 64 bytes at least.
  Result<std::byte*> (*allocate)(void* context, std::size_t nbytes) = nullptr;
  void (*free)(void* context, std::byte* block) noexcept = nullptr;

  // The rest is for devices with memory of their own.
  std::int32_t device_index = 0;
  tenon_dl_device dl_device{TENON_DL_CPU, 0};  ///< Where a host's tensors on this device lie.
  void* stream = nullptr;                      ///< Of the models, unless a caller gives another.
  /// Enqueues a copy. Bytes of the host may be reused when this returns from `to_device`, and are
  /// there after `synchronize` for `to_host`.
  Status (*copy)(void* context, void* stream, CopyKind kind, std::byte* to, const std::byte* from,
                 std::size_t nbytes) = nullptr;
  Status (*copy_strided)(void* context, void* stream, const StridedCopy& copy) = nullptr;
  /// Waits until everything enqueued is done, and tells whether it went well.
  Status (*synchronize)(void* context, void* stream) = nullptr;
  /// Blocks for host tensors of a model on this device: memory that the device copies from and to
  /// without a detour. Optional.
  Result<std::byte*> (*allocate_host)(void* context, std::size_t nbytes) = nullptr;
  void (*free_host)(void* context, std::byte* block) noexcept = nullptr;
  std::shared_ptr<void> context{};

  /// True when tensors of the host may be used where they lie, and weights, too.
  [[nodiscard]] bool is_host() const noexcept { return copy == nullptr; }
};

/// A block of a device's memory that goes back when this object goes.
class DeviceBlock {
 public:
  [[nodiscard]] static Result<DeviceBlock> allocate(const DeviceMemory& memory,
                                                    std::size_t nbytes) {
    TENON_TRY(std::byte* const data, memory.allocate(memory.context.get(), nbytes));
    return DeviceBlock(memory, data, nbytes);
  }
  /// A block with a copy of `bytes`, complete when this returns.
  [[nodiscard]] static Result<DeviceBlock> upload(const DeviceMemory& memory,
                                                  std::span<const std::byte> bytes) {
    TENON_TRY(DeviceBlock block, allocate(memory, bytes.size()));
    TENON_CHECK(memory.copy(memory.context.get(), memory.stream, CopyKind::to_device, block.data_,
                            bytes.data(), bytes.size()));
    TENON_CHECK(memory.synchronize(memory.context.get(), memory.stream));
    return block;
  }

  DeviceBlock(DeviceBlock&& other) noexcept
      : memory_(std::move(other.memory_)),
        data_(std::exchange(other.data_, nullptr)),
        nbytes_(other.nbytes_) {}
  DeviceBlock& operator=(DeviceBlock&&) = delete;
  ~DeviceBlock() {
    if (data_) memory_.free(memory_.context.get(), data_);
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t nbytes() const noexcept { return nbytes_; }
  [[nodiscard]] const DeviceMemory& memory() const noexcept { return memory_; }

 private:
  DeviceBlock(const DeviceMemory& memory, std::byte* data, std::size_t nbytes)
      : memory_(memory), data_(data), nbytes_(nbytes) {}

  DeviceMemory memory_;
  std::byte* data_;
  std::size_t nbytes_;
};

}  // namespace tenon::aoti
