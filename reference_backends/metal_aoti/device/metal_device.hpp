// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tenon/core/result.hpp"

namespace tenon::metal_aoti {

/// The interface of a Metal device: a small part of Metal, in Metal's own terms. Implemented by
/// `metal_cpp_device.cpp`, and by a stand-in for tests on machines without Metal.
///
/// Objects are released with their last pointer. Enqueued work keeps what it uses, so any object
/// may be released while the device is running.

/// Memory that the CPU and the device share (MTLBuffer, storage mode shared).
class MetalBuffer {
 public:
  virtual ~MetalBuffer() = default;
  [[nodiscard]] std::byte* contents() const noexcept { return contents_; }
  [[nodiscard]] std::size_t nbytes() const noexcept { return nbytes_; }

 protected:
  MetalBuffer(std::byte* contents, std::size_t nbytes) noexcept
      : contents_(contents), nbytes_(nbytes) {}

 private:
  std::byte* contents_;
  std::size_t nbytes_;
};

/// A kernel that is ready to run (MTLComputePipelineState). Threads: any.
class MetalFunction {
 public:
  virtual ~MetalFunction() = default;
  [[nodiscard]] std::uint64_t max_threads_per_group() const noexcept { return max_threads_; }
  /// Threads that run in lockstep.
  [[nodiscard]] std::uint64_t simd_width() const noexcept { return simd_width_; }

 protected:
  MetalFunction(std::uint64_t max_threads, std::uint64_t simd_width) noexcept
      : max_threads_(max_threads), simd_width_(simd_width) {}

 private:
  std::uint64_t max_threads_;
  std::uint64_t simd_width_;
};

/// Kernels compiled from source (MTLLibrary). Threads: any.
class MetalLibrary {
 public:
  virtual ~MetalLibrary() = default;
  /// errors: NotFound for an unknown kernel; Internal with the device's message.
  [[nodiscard]] virtual Result<std::unique_ptr<MetalFunction>> function(const char* name) = 0;
};

/// A number of threads in each dimension; unused ones are 1.
using GridSize = std::array<std::uint64_t, 3>;

/// A number that only grows, which the device and the CPU set and wait for (MTLSharedEvent).
/// Threads: any.
class MetalEvent {
 public:
  virtual ~MetalEvent() = default;
  [[nodiscard]] virtual std::uint64_t signaled_value() const = 0;
  /// Sets the value, which is larger than what any work that may still run sets.
  virtual void signal(std::uint64_t value) = 0;
  /// Returns when the value is `value` or larger.
  virtual void wait(std::uint64_t value) = 0;
  /// The MTLSharedEvent, valid as long as this.
  [[nodiscard]] virtual void* handle() const noexcept = 0;
};

/// Work that was submitted (MTLCommandBuffer, one or more of one queue). Threads: any.
class MetalWork {
 public:
  virtual ~MetalWork() = default;
  /// Returns when all of it is complete, with the first failure, each time.
  [[nodiscard]] virtual Status wait() = 0;
  /// Whether all of it is complete, also after a failure.
  [[nodiscard]] virtual bool is_complete() const = 0;
  /// Whether some of it is complete and has failed.
  [[nodiscard]] virtual bool has_failed() const = 0;
};

/// Enqueues work, which runs in the order in which it was enqueued (MTLCommandQueue with one open
/// command buffer and one encoder at a time). Threads: one at a time.
class MetalQueue {
 public:
  virtual ~MetalQueue() = default;
  /// Sets the kernel to dispatch next, without arguments.
  [[nodiscard]] virtual Status set_function(const MetalFunction& function) = 0;
  virtual void set_buffer(unsigned index, const MetalBuffer& buffer, std::size_t offset) = 0;
  /// The bytes are copied; at most 4096.
  virtual void set_bytes(unsigned index, std::span<const std::byte> bytes) = 0;
  /// Enqueues the kernel for `threads` in groups of `group`; the last groups may be smaller.
  [[nodiscard]] virtual Status dispatch(const GridSize& threads, const GridSize& group) = 0;
  [[nodiscard]] virtual Status copy(const MetalBuffer& to, std::size_t to_offset,
                                    const MetalBuffer& from, std::size_t from_offset,
                                    std::size_t nbytes) = 0;
  /// Sets the event's value after all that was enqueued on the queue before, if that is smaller.
  [[nodiscard]] virtual Status signal(const MetalEvent& event, std::uint64_t value) = 0;
  /// Later work begins when the event's value is `value` or larger.
  [[nodiscard]] virtual Status wait_for(const MetalEvent& event, std::uint64_t value) = 0;
  /// Submits the enqueued work to the device.
  [[nodiscard]] virtual Status commit() = 0;
  /// The work that was submitted and is not waited for yet, which `wait` no longer waits for. Null
  /// for none. Throws std::bad_alloc.
  [[nodiscard]] virtual std::shared_ptr<MetalWork> take_submitted() = 0;
  /// Submits, waits for all work, and returns its failure.
  [[nodiscard]] virtual Status wait() = 0;
};

/// Threads: any.
class MetalDevice {
 public:
  virtual ~MetalDevice() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// Bytes of memory that the device recommends to use at most.
  [[nodiscard]] virtual std::uint64_t memory() const = 0;
  /// Name of the architecture: "applegpu_g14s". Empty before macOS 14, which has none.
  [[nodiscard]] virtual std::string architecture() const = 0;
  /// The number of the device in the system's registry, which all processes see.
  [[nodiscard]] virtual std::uint64_t registry_id() const = 0;
  /// errors: MemoryAllocationFailed.
  [[nodiscard]] virtual Result<std::unique_ptr<MetalBuffer>> allocate(std::size_t nbytes) = 0;
  /// A buffer of memory that exists, at the same address: whole pages, which outlive it and the
  /// work that uses it. Null where the device cannot have that: it has memory of its own, or the
  /// pages are not of a kind that it takes.
  [[nodiscard]] virtual std::unique_ptr<MetalBuffer> adopt(std::byte* pages,
                                                           std::size_t nbytes) = 0;
  /// errors: InvalidProgram with the text of Metal's compiler.
  [[nodiscard]] virtual Result<std::unique_ptr<MetalLibrary>> compile(const char* source) = 0;
  /// errors: OutOfResources.
  [[nodiscard]] virtual Result<std::unique_ptr<MetalQueue>> make_queue() = 0;
  /// Enqueues on a queue of the application, an MTLCommandQueue, which is retained.
  /// errors: NotSupported for a queue of another device.
  [[nodiscard]] virtual Result<std::unique_ptr<MetalQueue>> use_queue(void* handle) = 0;
  /// An event whose value is 0. errors: OutOfResources.
  [[nodiscard]] virtual Result<std::shared_ptr<MetalEvent>> make_event() = 0;
  /// A foreign event, an MTLSharedEvent, which is retained.
  [[nodiscard]] virtual std::shared_ptr<MetalEvent> use_event(void* handle) = 0;
};

/// The system's device. The linked implementation provides this function.
/// errors: NotFound, with the reason, without a device.
[[nodiscard]] Result<std::unique_ptr<MetalDevice>> open_metal_device();

}  // namespace tenon::metal_aoti
