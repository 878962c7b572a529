// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared_device.hpp"
#include "tenon/aoti/call.hpp"
#include "tenon/aoti/device_memory.hpp"
#include "tenon/aoti/tensor_pool.hpp"

namespace tenon::metal_aoti {

/// How one delegate uses the device.
struct ContextSettings {
  std::size_t pool_nbytes = 0;       ///< Free memory that an instance keeps for its next tensors.
  std::uint64_t flush_interval = 0;  ///< Kernels after which work is handed over; 0: at the end.
};

/// What one instance of a model has on the device: its queue, what is being enqueued, and what it
/// knows of the buffers that its tensors lie in. Two delegates share nothing here.
///
/// Kernels are collected in one command buffer, which is handed over at the end of a run or after
/// `flush_interval` kernels. A failure is kept until `synchronize` tells it, because generated code
/// does not look at what most of these functions return; nothing is enqueued after it.
///
/// Threads: one at a time.
class MetalContext {
 public:
  /// The largest index that Metal has for a buffer.
  static constexpr unsigned most_arguments = 31;
  /// Bytes that Metal takes without a buffer.
  static constexpr std::size_t most_inline_bytes = 4096;

  /// errors: OutOfResources.
  [[nodiscard]] static Result<std::shared_ptr<MetalContext>> open(
      std::shared_ptr<SharedDevice> device, const ContextSettings& settings);

  [[nodiscard]] SharedDevice& shared() const noexcept { return *device_; }
  [[nodiscard]] const ContextSettings& settings() const noexcept { return settings_; }

  /// A buffer and where in it something lies.
  struct Place {
    MetalBuffer* buffer;
    std::size_t offset;
  };
  /// errors: InvalidArgument unless `nbytes` at `address` lie in a buffer of the device.
  [[nodiscard]] Result<Place> place(const void* address, std::size_t nbytes);

  /// Sets a kernel up; what follows until `dispatch` is about it.
  [[nodiscard]] Status begin(const MetalFunction* function);
  /// Fails unless `function` was set up last.
  [[nodiscard]] Status check_begun(const MetalFunction* function, unsigned index) const;
  [[nodiscard]] Status set_tensor(unsigned index, const aoti::Tensor& tensor);
  [[nodiscard]] Status set_bytes(unsigned index, std::span<const std::byte> bytes);
  template <class T>
  [[nodiscard]] Status set_value(unsigned index, const T& value) {
    return set_bytes(index, std::as_bytes(std::span(&value, 1)));
  }
  /// Enqueues the kernel that was set up. A `group` of zeroes means one that suits the kernel.
  [[nodiscard]] Status dispatch(const GridSize& threads, GridSize group);

  [[nodiscard]] Status copy(aoti::CopyKind kind, std::byte* to, const std::byte* from,
                            std::size_t nbytes);
  [[nodiscard]] Status copy_strided(const aoti::StridedCopy& copy);

  /// Waits for everything enqueued. Tells the first failure since the last call.
  [[nodiscard]] Status synchronize();
  /// Keeps a failure for `synchronize`.
  void fail(Status status) noexcept;
  [[nodiscard]] bool has_failed() const noexcept { return failure_.has_value(); }

  /// Where the model thinks that the constant it is about to make lies in its own block; see
  /// aoti_torch_mps_memcpy. Taking it resets it.
  void set_constant_offset(std::size_t offset) noexcept { constant_offset_ = offset; }
  [[nodiscard]] std::size_t take_constant_offset() noexcept {
    return std::exchange(constant_offset_, 0);
  }

 private:
  MetalContext(std::shared_ptr<SharedDevice> device, std::unique_ptr<MetalQueue> queue,
               const ContextSettings& settings) noexcept
      : device_(std::move(device)), queue_(std::move(queue)), settings_(settings) {}

  MetalBuffer* find(const std::byte* address);
  Status flush_if_due();

  std::shared_ptr<SharedDevice> device_;
  std::unique_ptr<MetalQueue> queue_;
  ContextSettings settings_;
  /// Buffers that were found, by address, for as long as no buffer of the device was freed: the
  /// same tensors come again in each run, and finding them takes no lock.
  std::vector<MetalBuffer*> known_;
  std::uint64_t known_generation_ = 0;
  const MetalFunction* begun_ = nullptr;
  std::uint64_t num_unflushed_ = 0;
  bool is_idle_ = true;
  std::size_t constant_offset_ = 0;
  std::optional<Status> failure_;
};

/// Memory for the tensors of an instance that works with `context`.
[[nodiscard]] aoti::DeviceMemory metal_memory(std::shared_ptr<MetalContext> context);

/// The context of the model that is running on this thread.
[[nodiscard]] inline MetalContext& current_context() noexcept {
  return *static_cast<MetalContext*>(aoti::current_pool().memory().context.get());
}

}  // namespace tenon::metal_aoti
