// SPDX-License-Identifier: MIT
#include "driver/caller_streams.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "driver/capture.hpp"

namespace tenon::cuda_aoti {

void CallerStreams::add(CUstream stream) {
  const std::unique_lock lock(mutex_);
  streams_.push_back(stream);
}

void CallerStreams::remove(CUstream stream) noexcept {
  const std::unique_lock lock(mutex_);
  const auto found = std::ranges::find(streams_, stream);
  if (found != streams_.end()) streams_.erase(found);
}

bool CallerStreams::empty() const noexcept {
  const std::shared_lock lock(mutex_);
  return streams_.empty();
}

Status CallerStreams::synchronize(const Driver& driver) const {
  const std::shared_lock lock(mutex_);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const auto before = streams_.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(streams_.begin(), before, streams_[i]) != before) continue;
    TENON_TRY(const bool captured, is_capturing(driver, streams_[i]));
    // What the application captures has not run, and waiting for it would invalidate the capture.
    if (captured) continue;
    TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuStreamSynchronize, streams_[i]));
  }
  return ok();
}

}  // namespace tenon::cuda_aoti
