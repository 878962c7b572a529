// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/metal_device.hpp"

namespace tenon::metal_aoti {

/// Work of one instance that was submitted and not waited for: runs that were started, and runs on
/// queues of the application.
///
/// Threads: any.
class UnfinishedWork {
 public:
  /// Where a failure of the work is reported: by an event that marks it, or by the next call that
  /// waits.
  enum class Report { by_event, by_next_wait };

  /// Forgets what is complete. Throws std::bad_alloc.
  void add(std::shared_ptr<MetalWork> work, Report report) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const Entry& each) {
      return each.work->is_complete() &&
             (each.report == Report::by_event || !each.work->has_failed());
    });
    entries_.push_back({std::move(work), report});
  }

  /// Waits for all of it, and returns the first failure that no event reports, once.
  [[nodiscard]] Status wait() {
    std::vector<Entry> entries;
    {
      const std::lock_guard lock(mutex_);
      entries = entries_;
    }
    for (const Entry& each : entries) static_cast<void>(each.work->wait());
    return take_failure();
  }

  /// Returns the first failure of complete work that no event reports, once. Does not wait.
  [[nodiscard]] Status take_failure() {
    const std::lock_guard lock(mutex_);
    Status first = ok();
    std::erase_if(entries_, [&](const Entry& each) {
      if (!each.work->is_complete()) return false;
      if (first.ok() && each.report == Report::by_next_wait) first = each.work->wait();
      return true;
    });
    return first;
  }

 private:
  struct Entry {
    std::shared_ptr<MetalWork> work;
    Report report;
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace tenon::metal_aoti
