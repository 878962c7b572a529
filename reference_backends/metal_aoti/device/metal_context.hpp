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

#include "device/metal_mark.hpp"
#include "device/shared_device.hpp"
#include "device/unfinished_work.hpp"
#include "tenon/aoti/instance.hpp"
#include "tenon/aoti/shims/call.hpp"
#include "tenon/aoti/tensors/device_memory_api.hpp"
#include "tenon/aoti/tensors/tensor_pool.hpp"

namespace tenon::metal_aoti {

/// Settings of one delegate.
struct ContextSettings {
  std::size_t pool_nbytes = 0;       ///< Free memory that an instance keeps for its next tensors.
  std::uint64_t flush_interval = 0;  ///< Kernels after which work is submitted; 0: at the end.
  /// Whether attention also gives its weights, which takes memory for each query and key.
  bool attention_weights = false;
  /// Whether the device reads weights where the host has them.
  bool weights_in_place = true;
};

/// Fails for a tensor with elements and no memory: the weights that attention did not keep.
[[nodiscard]] Status check_has_memory(const aoti::ModelTensor& tensor);

/// The state of one instance of a model on the device: its queue, the work being enqueued, and the
/// buffers that its tensors are in. Delegates share nothing here.
///
/// Kernels are collected in one command buffer, which is submitted at the end of a run or after
/// `flush_interval` kernels. A failure is kept until `synchronize` or `leave` returns it, because
/// generated code ignores the results of most of these functions; nothing is enqueued after it.
///
/// Threads: one at a time.
class MetalContext {
 public:
  /// The largest index of a buffer in Metal.
  static constexpr unsigned max_arguments = 31;
  /// Bytes that can be passed without a buffer.
  static constexpr std::size_t max_inline_bytes = 4096;

  /// errors: OutOfResources.
  [[nodiscard]] static Result<std::shared_ptr<MetalContext>> open(
      std::shared_ptr<SharedDevice> device, const ContextSettings& settings);

  [[nodiscard]] SharedDevice& shared() const noexcept { return *device_; }
  [[nodiscard]] const ContextSettings& settings() const noexcept { return settings_; }

  using Place = SharedDevice::Place;
  /// errors: InvalidArgument unless `nbytes` at `address` are in one buffer of the device.
  [[nodiscard]] Result<Place> place(const void* address, std::size_t nbytes);

  /// True when `nbytes` of the host at `bytes` are in a buffer that the host keeps.
  [[nodiscard]] bool reaches(const std::byte* bytes, std::size_t nbytes) noexcept;

  /// Learns from the first run which layout the model was compiled for. True when that run failed
  /// because an output of a convolution was not contiguous: from now on all are, and the run is to
  /// be repeated. operators/convolution.cpp says when models differ.
  [[nodiscard]] bool learn_layout(const Status& run) noexcept;
  [[nodiscard]] bool has_contiguous_convolutions() const noexcept {
    return has_contiguous_convolutions_;
  }

  /// Begins the launch of a kernel, up to `dispatch`.
  [[nodiscard]] Status begin(const MetalFunction* function);
  /// Fails unless the launch of `function` was begun last.
  [[nodiscard]] Status check_begun(const MetalFunction* function, unsigned index) const;
  [[nodiscard]] Status set_tensor(unsigned index, const aoti::ModelTensor& tensor);
  [[nodiscard]] Status set_bytes(unsigned index, std::span<const std::byte> bytes);
  template <class T>
  [[nodiscard]] Status set_value(unsigned index, const T& value) {
    return set_bytes(index, std::as_bytes(std::span(&value, 1)));
  }
  /// Enqueues the kernel. A `group` of zeroes means a size that suits the kernel.
  [[nodiscard]] Status dispatch(const GridSize& threads, GridSize group);

  [[nodiscard]] Status copy(aoti::CopyKind kind, std::byte* to, const std::byte* from,
                            std::size_t nbytes);
  [[nodiscard]] Status copy_strided(const aoti::StridedCopy& copy);

  /// Waits for all enqueued work, what was left included, and returns the first failure since the
  /// last call that no event reports.
  [[nodiscard]] Status synchronize();

  /// Submits the run that was enqueued, and leaves it to the device. Waits if that fails, and
  /// returns the first failure since the last call: of enqueueing, or of an earlier run whose
  /// failure is due by now.
  [[nodiscard]] Status leave(UnfinishedWork::Report report);
  /// Whether everything that was enqueued is complete and was waited for.
  [[nodiscard]] bool is_idle() const noexcept { return is_idle_; }

  /// Enqueues later work on a queue of the application, or with null on its own one again. Nothing
  /// may be enqueued that was not waited for.
  void use(std::unique_ptr<MetalQueue> callers) noexcept { callers_queue_ = std::move(callers); }

  /// Marks the runs so far.
  [[nodiscard]] Result<MetalMark> mark();
  /// Later work, copies of the CPU included, begins after the mark is reached.
  [[nodiscard]] Status hold(const MetalMark& mark);
  /// Records a failure for `synchronize`.
  void fail(Status status) noexcept;
  [[nodiscard]] bool has_failed() const noexcept { return failure_.has_value(); }

  /// The offset that the model assumes for its next constant, in a block of its own; see
  /// aoti_torch_mps_memcpy. `take_constant_offset` resets it.
  void set_constant_offset(std::size_t offset) noexcept { constant_offset_ = offset; }
  [[nodiscard]] std::size_t take_constant_offset() noexcept {
    return std::exchange(constant_offset_, 0);
  }

 private:
  MetalContext(std::shared_ptr<SharedDevice> device, std::unique_ptr<MetalQueue> queue,
               const ContextSettings& settings)
      : device_(std::move(device)), own_queue_(std::move(queue)), settings_(settings) {}

  SharedDevice::Found find(const std::byte* address);
  Status flush_if_due();
  Status copy_from_host(std::byte* to, const std::byte* from, std::size_t nbytes);
  Status enqueue_copy(const Place& target, const Place& source, std::size_t nbytes);

  void leave(std::shared_ptr<MetalWork> work, UnfinishedWork::Report report);
  void forget_reached();

  [[nodiscard]] MetalQueue& queue() const noexcept {
    return callers_queue_ ? *callers_queue_ : *own_queue_;
  }

  std::shared_ptr<SharedDevice> device_;
  std::unique_ptr<MetalQueue> own_queue_;
  std::unique_ptr<MetalQueue> callers_queue_;  ///< Null without one.
  std::shared_ptr<UnfinishedWork> unfinished_ = std::make_shared<UnfinishedWork>();
  bool has_left_ = false;                ///< Whether there may be some.
  std::shared_ptr<MetalWork> last_run_;  ///< Null when the last run was waited for.
  /// Set at each mark, to the next value; made at the first one.
  std::shared_ptr<MetalEvent> marks_;
  std::uint64_t last_mark_ = 0;
  std::vector<MetalMark> held_by_;  ///< Marks that the CPU's copies wait for, too.
  ContextSettings settings_;
  /// Buffers found so far, by address, valid until a buffer of the device is freed: each run uses
  /// the same tensors, and finding them here needs no lock.
  std::vector<SharedDevice::Found> known_;
  std::uint64_t known_generation_ = 0;
  const MetalFunction* begun_ = nullptr;
  std::uint64_t num_unflushed_ = 0;
  bool is_idle_ = true;
  bool has_learnt_layout_ = false;
  bool has_contiguous_convolutions_ = false;
  std::size_t constant_offset_ = 0;
  std::optional<Status> failure_;
};

/// Memory for the tensors of an instance that works with `context`.
[[nodiscard]] aoti::DeviceMemoryApi metal_memory(std::shared_ptr<MetalContext> context);

/// The context that an instance works with.
[[nodiscard]] inline MetalContext& context_of(const aoti::Instance& instance) noexcept {
  return *static_cast<MetalContext*>(instance.pool().memory().context.get());
}

/// The context of the model that is running on this thread.
[[nodiscard]] inline MetalContext& current_context() noexcept {
  return *static_cast<MetalContext*>(aoti::current_pool().memory().context.get());
}

}  // namespace tenon::metal_aoti
