// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include "driver/capture.hpp"
#include "driver/device.hpp"

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

}  // namespace tenon::cuda_aoti
