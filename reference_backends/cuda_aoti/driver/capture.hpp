// SPDX-License-Identifier: MIT
#pragma once

#include "driver/driver.hpp"

namespace tenon::cuda_aoti {

/// Whether the application records the work of `stream` (cuStreamBeginCapture) in place of doing
/// it. The context must be current.
/// errors: the driver's; for the legacy default stream while a stream that waits for it is
/// captured, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT.
[[nodiscard]] inline Result<bool> is_capturing(const Driver& driver, CUstream stream) {
  int status = CU_STREAM_CAPTURE_STATUS_NONE;
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuStreamIsCapturing, stream, &status));
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// Lets this thread allocate and free memory while an application captures any stream, which CUDA
/// prohibits otherwise, and which would invalidate the capture. To be used where the memory is not
/// a part of what is captured. A driver that refuses leaves the thread as it is.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver) noexcept
      : driver_(driver),
        is_set_(driver.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS) {}
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() {
    if (is_set_) static_cast<void>(driver_.cuThreadExchangeStreamCaptureMode(&mode_));
  }

 private:
  const Driver& driver_;
  int mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool is_set_;
};

}  // namespace tenon::cuda_aoti
