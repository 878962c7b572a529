// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tenon::test {

/// Counts the calls of a host's function for events (`on_complete` of "tenon.events/1").
class EventCalls {
 public:
  /// The function; `data` is the object.
  static void add(void* data) noexcept {
    auto& self = *static_cast<EventCalls*>(data);
    const std::lock_guard lock(self.mutex_);
    ++self.count_;
    self.changed_.notify_all();
  }
  [[nodiscard]] int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  /// Waits for the first call, 10 s at most. Whether there has been one, and no other.
  [[nodiscard]] bool wait_for_one() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return count_ != 0; });
    return count_ == 1;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

}  // namespace tenon::test
