// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "driver/capture.hpp"
#include "driver/device.hpp"
#include "tenon/core/application/external_memory.hpp"

/// Streams, events and memory that an application gives to delegates.
namespace tenon::cuda_aoti {

/// A stream of the application, for as long as a delegate enqueues on it.
class CallerStream {
 public:
  CallerStream() = default;
  CallerStream(std::shared_ptr<CudaDevice> device, CUstream stream)
      : device_(std::move(device)), stream_(stream) {
    if (may_be_unfinished()) device_->caller_streams.add(stream_);
  }
  CallerStream(CallerStream&& other) noexcept
      : device_(std::move(other.device_)), stream_(std::exchange(other.stream_, nullptr)) {}
  CallerStream& operator=(CallerStream&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~CallerStream() {
    if (device_ && may_be_unfinished()) device_->caller_streams.remove(stream_);
  }

  /// Whether this is the per-thread default stream. No other thread can wait for it, so that a run
  /// on it returns only when its work is complete.
  [[nodiscard]] bool is_of_thread() const noexcept { return stream_ == per_thread_stream; }

  /// Whether there is a stream and the application captures it.
  [[nodiscard]] Result<bool> is_captured() const {
    if (!stream_) return false;
    const ContextScope scope(*device_);
    TENON_RETURN_IF_ERROR(scope.status());
    return is_capturing(device_->driver(), stream_);
  }

 private:
  /// Whether the plugin's own copies must wait for work on the stream. They are ordered after work
  /// on the legacy stream without it, and no work is left on a per-thread stream after a run.
  [[nodiscard]] bool may_be_unfinished() const noexcept {
    return !is_of_thread() && stream_ != legacy_stream;
  }

  std::shared_ptr<CudaDevice> device_;
  CUstream stream_ = nullptr;
};

/// A point in the work of a stream: an event of the driver, created when it is first recorded, or
/// an event of another owner.
///
/// Threads: `wait` and `query` at the same time; otherwise one at a time.
class Event {
 public:
  Event() = default;
  /// A foreign event, used in the context of `device`. It must outlive this.
  Event(std::shared_ptr<CudaDevice> device, CUevent handle) noexcept
      : device_(std::move(device)), handle_(handle) {}
  Event(Event&& other) noexcept
      : device_(std::move(other.device_)),
        handle_(std::exchange(other.handle_, nullptr)),
        is_own_(other.is_own_) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(is_own_, other.is_own_);
    return *this;
  }
  ~Event() {
    if (!handle_ || !is_own_) return;
    const ContextScope scope(*device_);
    static_cast<void>(device_->driver().cuEventDestroy(handle_));
  }

  /// Null before the first `record`.
  [[nodiscard]] CUevent handle() const noexcept { return handle_; }

  /// From now on it marks what has been enqueued on `stream`, of `device`.
  [[nodiscard]] Status record(const std::shared_ptr<CudaDevice>& device, CUstream stream) {
    if (handle_ && !is_own_) {
      return error(Error::InvalidArgument, "a foreign event is recorded by its owner");
    }
    if (device_ != device) *this = Event();
    const ContextScope scope(*device);
    TENON_RETURN_IF_ERROR(scope.status());
    if (!handle_) {
      TENON_RETURN_IF_ERROR(
          TENON_CUDA(device->driver(), cuEventCreate, &handle_, CU_EVENT_DISABLE_TIMING));
      device_ = device;
      is_own_ = true;
    }
    return TENON_CUDA(device->driver(), cuEventRecord, handle_, stream);
  }

  [[nodiscard]] Status wait() const {
    if (!handle_) return ok();
    const ContextScope scope(*device_);
    TENON_RETURN_IF_ERROR(scope.status());
    return TENON_CUDA(device_->driver(), cuEventSynchronize, handle_);
  }

  /// Whether it is complete. Work that failed is.
  [[nodiscard]] Result<bool> query() const {
    if (!handle_) return true;
    const ContextScope scope(*device_);
    TENON_RETURN_IF_ERROR(scope.status());
    return device_->driver().cuEventQuery(handle_) != CUDA_ERROR_NOT_READY;
  }

  /// Later work on `stream`, of `device`, begins after it.
  [[nodiscard]] Status hold(const CudaDevice& device, CUstream stream) const {
    if (!handle_) return ok();
    const ContextScope scope(device);
    TENON_RETURN_IF_ERROR(scope.status());
    return TENON_CUDA(device.driver(), cuStreamWaitEvent, stream, handle_, 0u);
  }

 private:
  std::shared_ptr<CudaDevice> device_;
  CUevent handle_ = nullptr;
  bool is_own_ = false;
};

/// Memory that another interface of the same GPU exported, such as Vulkan or CUDA's virtual memory,
/// as memory of a device.
class ImportedMemory {
 public:
  /// Imports from an opaque descriptor, of which the driver gets a duplicate that it keeps. It
  /// cannot say how large the object is: that is `memory.object_size`.
  ///
  /// errors: InvalidArgument (no size), NotSupported (memory to be read alone: the driver maps for
  /// reading and writing), and the driver's.
  [[nodiscard]] static Result<ImportedMemory> import(std::shared_ptr<CudaDevice> device,
                                                     const ExternalMemory& memory) {
    if (memory.object_size == 0) {
      return error(Error::InvalidArgument, "expected the size of the object, found 0");
    }
    if (!memory.is_written) {
      return error(Error::NotSupported,
                   "the CUDA driver has no mapping that can only be read; import the memory for "
                   "writing, too");
    }
    const ContextScope scope(*device);
    TENON_RETURN_IF_ERROR(scope.status());
    const int duplicate = ::fcntl(memory.descriptor, F_DUPFD_CLOEXEC, 0);
    if (duplicate < 0) {
      return error(Error::InvalidArgument, "descriptor ", memory.descriptor, ": ",
                   std::generic_category().message(errno));
    }
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC from{};
    from.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    from.handle.fd = duplicate;
    from.size = memory.object_size;
    from.flags = memory.is_dedicated ? external_memory_dedicated : 0;
    ImportedMemory out(device);
    const Driver& driver = out.device_->driver();
    if (Status imported = TENON_CUDA(driver, cuImportExternalMemory, &out.memory_, &from);
        !imported.ok()) {
      ::close(duplicate);  // The driver owns it after a success alone.
      return imported;
    }
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC range{};
    range.offset = memory.offset;
    range.size = memory.nbytes;
    TENON_RETURN_IF_ERROR(
        TENON_CUDA(driver, cuExternalMemoryGetMappedBuffer, &out.address_, out.memory_, &range));
    return out;
  }

  ImportedMemory(ImportedMemory&& other) noexcept
      : device_(std::move(other.device_)),
        memory_(std::exchange(other.memory_, nullptr)),
        address_(std::exchange(other.address_, 0)) {}
  ImportedMemory& operator=(ImportedMemory&&) = delete;
  ~ImportedMemory() {
    if (!memory_) return;
    const ContextScope scope(*device_);
    const RelaxedCapture relaxed(device_->driver());
    if (address_ != 0) static_cast<void>(device_->driver().cuMemFree(address_));
    static_cast<void>(device_->driver().cuDestroyExternalMemory(memory_));
  }

  [[nodiscard]] void* data() const noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address_));
  }

 private:
  explicit ImportedMemory(std::shared_ptr<CudaDevice> device) noexcept
      : device_(std::move(device)) {}

  std::shared_ptr<CudaDevice> device_;
  CUexternalMemory memory_ = nullptr;
  CUdeviceptr address_ = 0;
};

}  // namespace tenon::cuda_aoti
