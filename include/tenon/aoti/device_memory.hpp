// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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

  /// Bytes of free blocks that a pool keeps for its next tensors; others go back at once.
  std::size_t most_kept = std::numeric_limits<std::size_t>::max();

  // The rest is for devices with memory of their own.
  std::int32_t device_index = 0;
  tenon_dl_device dl_device{TENON_DL_CPU, 0};  ///< Where a host's tensors on this device lie.
  void* stream = nullptr;                      ///< Of the models, unless a caller gives another.
  /// Enqueues a copy. Bytes of the host are read, or written, by the time `synchronize` returns.
  Status (*copy)(void* context, void* stream, CopyKind kind, std::byte* to, const std::byte* from,
                 std::size_t nbytes) = nullptr;
  Status (*copy_strided)(void* context, void* stream, const StridedCopy& copy) = nullptr;
  /// Enqueues zeroes.
  Status (*zero)(void* context, void* stream, std::byte* to, std::size_t nbytes) = nullptr;
  /// Waits until everything enqueued is done, and tells whether it went well.
  Status (*synchronize)(void* context, void* stream) = nullptr;
  /// Blocks for host tensors of a model on this device: memory that the device copies from and to
  /// without a detour. Optional.
  Result<std::byte*> (*allocate_host)(void* context, std::size_t nbytes) = nullptr;
  void (*free_host)(void* context, std::byte* block) noexcept = nullptr;
  /// Around each call into a model on this thread: makes the device the thread's current one.
  /// Optional; nests.
  Status (*enter)(void* context) = nullptr;
  void (*leave)(void* context) noexcept = nullptr;
  std::shared_ptr<void> context{};

  /// True when tensors of the host may be used where they lie, and weights, too.
  [[nodiscard]] bool is_host() const noexcept { return copy == nullptr; }
};

/// While it lives the device is this thread's current one, unless that failed.
class DeviceScope {
 public:
  explicit DeviceScope(const DeviceMemory& memory)
      : memory_(memory),
        status_(memory.enter ? memory.enter(memory.context.get()) : ::tenon::ok()) {}
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope() {
    if (memory_.leave && ok()) memory_.leave(memory_.context.get());
  }

  [[nodiscard]] bool ok() const noexcept { return status_.ok(); }
  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  const DeviceMemory& memory_;
  Status status_;
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
