// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "tenon/aoti/tensors/model_tensor.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Direction of a copy.
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

/// The memory functions of one device: allocation, copies, waiting. A device whose tensors are in
/// the host's memory (the CPU) sets only those that allocate.
///
/// `context` belongs to the device, such as its number and its queue, is passed to each of its
/// functions, and lives as long as any copy of this object. `stream` is the device's own handle of
/// the queue that a copy or a wait belongs to.
///
/// Threads: one at a time, like the pool that uses it; objects that share a context may be used by
/// different threads.
struct DeviceMemoryApi {
  TorchDeviceType device_type = TorchDeviceType::cpu;
  /// Blocks for tensors of the device, aligned to 64 bytes at least.
  Result<std::byte*> (*allocate)(void* context, std::size_t nbytes) = nullptr;
  void (*free)(void* context, std::byte* block) noexcept = nullptr;

  /// Allocates a block for work on `stream`, and frees it after that work, in place of the two
  /// functions above for the tensors of a pool: what a device can do without waiting. Such a device
  /// also keeps free memory itself, so a pool whose sizes change frees what its last run did not
  /// use. Optional; both or none.
  Result<std::byte*> (*allocate_on)(void* context, void* stream, std::size_t nbytes) = nullptr;
  void (*free_on)(void* context, void* stream, std::byte* block) noexcept = nullptr;

  /// Makes bytes of the host memory of the device, at the same address, up to `free` of that
  /// address: for a device that shares the host's memory. They are only read, and remain what and
  /// where they are. False where they have to be copied. Optional.
  Result<bool> (*adopt)(void* context, Bytes bytes) = nullptr;

  /// Whether the device works on bytes of the host where they are: on bytes in memory that it
  /// allocated or imported for the host, which keeps that memory until the run that uses them is
  /// done. Optional; arguments in other memory of the host are copied.
  bool (*reaches)(void* context, const std::byte* bytes, std::size_t nbytes) noexcept = nullptr;

  /// Bytes of free blocks that a pool keeps for its next tensors; it frees others at once.
  std::size_t max_kept = std::numeric_limits<std::size_t>::max();

  // The members below are for devices with memory of their own.
  std::int32_t device_index = 0;
  tenon_dl_device dl_device{TENON_DL_CPU, 0};  ///< Device of a host's tensors in this memory.
  void* stream = nullptr;                      ///< Of the models, unless a caller sets another.
  /// Enqueues a copy. The host's bytes have been read, or written, when `synchronize` returns.
  Status (*copy)(void* context, void* stream, CopyKind kind, std::byte* to, const std::byte* from,
                 std::size_t nbytes) = nullptr;
  /// Whether they have been read, or written, when `copy` returns.
  bool copies_at_once = false;
  /// Enqueues a copy of many bytes of the host, which have been read when this returns. What it
  /// keeps for the next one is freed by `end_uploads`, once the stream was waited for. Optional;
  /// both or none.
  Status (*upload)(void* context, void* stream, std::byte* to, Bytes from) = nullptr;
  Status (*end_uploads)(void* context) = nullptr;
  /// Whether the constants of a model are better in one block than in one each.
  bool joins_constants = false;
  /// Whether a block holds these bytes: true or false when this returns, with `end_uploads` as
  /// after an upload. Optional; otherwise blocks are read back piece by piece, with a wait for
  /// each.
  Result<bool> (*holds)(void* context, void* stream, const std::byte* block,
                        Bytes expected) = nullptr;
  Status (*copy_strided)(void* context, void* stream, const StridedCopy& copy) = nullptr;
  /// Enqueues zeroes.
  Status (*zero)(void* context, void* stream, std::byte* to, std::size_t nbytes) = nullptr;
  /// Waits for all enqueued work and returns its first failure.
  Status (*synchronize)(void* context, void* stream) = nullptr;
  /// Allocates blocks for host tensors of a model on this device: memory that the device copies
  /// from and to directly. Optional.
  Result<std::byte*> (*allocate_host)(void* context, std::size_t nbytes) = nullptr;
  void (*free_host)(void* context, std::byte* block) noexcept = nullptr;
  /// Makes the device the current one of this thread, around each call into a model. Optional;
  /// nests.
  Status (*enter)(void* context) = nullptr;
  void (*leave)(void* context) noexcept = nullptr;
  std::shared_ptr<void> context{};

  /// True when tensors and weights in the host's memory may be used in place.
  [[nodiscard]] bool is_host() const noexcept { return copy == nullptr; }
};

/// Makes a device this thread's current one for the lifetime of this object, unless that fails.
class DeviceScope {
 public:
  explicit DeviceScope(const DeviceMemoryApi& memory)
      : memory_(memory),
        status_(memory.enter ? memory.enter(memory.context.get()) : ::tenon::ok()) {}
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope() {
    if (memory_.leave && ok()) memory_.leave(memory_.context.get());
  }

  [[nodiscard]] bool ok() const noexcept { return status_.ok(); }
  [[nodiscard]] const Status& status() const& noexcept { return status_; }
  const Status& status() const&& = delete;

 private:
  const DeviceMemoryApi& memory_;
  Status status_;
};

/// A block of a device's memory, freed on destruction.
class DeviceBlock {
 public:
  [[nodiscard]] static Result<DeviceBlock> allocate(const DeviceMemoryApi& memory,
                                                    std::size_t nbytes) {
    TENON_TRY(std::byte* const data, memory.allocate(memory.context.get(), nbytes));
    return DeviceBlock(memory, data, nbytes);
  }
  /// Bytes of the host as a block, without a copy; empty where the device cannot have that, and for
  /// no bytes. They must outlive it, and nothing writes to them.
  [[nodiscard]] static Result<std::optional<DeviceBlock>> adopt(const DeviceMemoryApi& memory,
                                                                Bytes bytes) {
    std::optional<DeviceBlock> out;
    if (!memory.adopt || bytes.empty()) return out;
    TENON_TRY(const bool is_adopted, memory.adopt(memory.context.get(), bytes));
    if (is_adopted) {
      out.emplace(DeviceBlock(memory, const_cast<std::byte*>(bytes.data()), bytes.size()));
    }
    return out;
  }
  /// A block with a copy of `bytes`. The copy is complete when this returns.
  [[nodiscard]] static Result<DeviceBlock> upload(const DeviceMemoryApi& memory, Bytes bytes) {
    TENON_TRY(DeviceBlock block, allocate(memory, bytes.size()));
    TENON_RETURN_IF_ERROR(memory.copy(memory.context.get(), memory.stream, CopyKind::to_device,
                                      block.data_, bytes.data(), bytes.size()));
    TENON_RETURN_IF_ERROR(memory.synchronize(memory.context.get(), memory.stream));
    return block;
  }
  /// A block with a copy of `bytes`, for many bytes and without a wait: on the device's stream the
  /// block has its content for later work. `bytes` must live, and the block must not be freed,
  /// until the stream was waited for.
  [[nodiscard]] static Result<DeviceBlock> enqueue_upload(const DeviceMemoryApi& memory,
                                                          Bytes bytes) {
    TENON_TRY(DeviceBlock block, allocate(memory, bytes.size()));
    TENON_RETURN_IF_ERROR(block.enqueue_write(0, bytes));
    return block;
  }
  /// Copies `bytes` into the block, from `offset` on, without a wait: `bytes` must live, and the
  /// block must not be freed, until the stream was waited for.
  [[nodiscard]] Status enqueue_write(std::size_t offset, Bytes bytes) {
    void* const context = memory_.context.get();
    std::byte* const to = data_ + offset;
    Status status = memory_.upload ? memory_.upload(context, memory_.stream, to, bytes)
                                   : memory_.copy(context, memory_.stream, CopyKind::to_device, to,
                                                  bytes.data(), bytes.size());
    // A part of it may be on its way.
    if (!status.ok()) static_cast<void>(memory_.synchronize(context, memory_.stream));
    return status;
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
  [[nodiscard]] const DeviceMemoryApi& memory() const noexcept { return memory_; }

 private:
  DeviceBlock(const DeviceMemoryApi& memory, std::byte* data, std::size_t nbytes)
      : memory_(memory), data_(data), nbytes_(nbytes) {}

  DeviceMemoryApi memory_;
  std::byte* data_;
  std::size_t nbytes_;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
