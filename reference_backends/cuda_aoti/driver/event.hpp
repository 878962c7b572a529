// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include "driver/device.hpp"

namespace tenon::cuda_aoti {

/// A point in the work of a stream: an event of the driver, created when it is first recorded, or
/// one that belongs to others.
///
/// Threads: `wait` and `query` at the same time; otherwise one at a time.
class Event {
 public:
  Event() = default;
  /// An event of others, used in the context of `device`. It must outlive this.
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
      return error(Error::InvalidArgument, "an event of others is recorded by them");
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

}  // namespace tenon::cuda_aoti
