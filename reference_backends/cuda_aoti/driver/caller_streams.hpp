// SPDX-License-Identifier: MIT
#pragma once

#include <shared_mutex>
#include <vector>

#include "driver/driver.hpp"

namespace tenon::cuda_aoti {

/// Streams of the application that delegates enqueue on, and whose work they may leave undone when
/// a run returns. Each is kept as often as it was added.
///
/// Threads: any. A stream is not waited for after it was removed.
class CallerStreams {
 public:
  void add(CUstream stream);  ///< Throws std::bad_alloc.
  void remove(CUstream stream) noexcept;
  [[nodiscard]] bool empty() const noexcept;
  /// Waits for the work on all of them, except those that the application captures. The context
  /// must be current.
  [[nodiscard]] Status synchronize(const Driver& driver) const;

 private:
  mutable std::shared_mutex mutex_;
  std::vector<CUstream> streams_;
};

}  // namespace tenon::cuda_aoti
