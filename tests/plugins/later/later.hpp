// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tenon::test {

/// The record of the delegates of later.cpp in this process, for a test that links it: they may be
/// held before they begin their next run.
class LaterRecord {
 public:
  void hold() { set_held(true); }
  void release() { set_held(false); }

  /// Waits while runs are held, then records `what`.
  void begin(const std::string& what) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !held_; });
    events_.push_back(what);
  }
  void record(const std::string& what) {
    const std::lock_guard lock(mutex_);
    events_.push_back(what);
  }
  /// The record since the last call: "start a", "run a", "host waits", "wait_on", "import".
  [[nodiscard]] std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }
  /// Keeps the functions that a plugin at fault never calls, and gives them.
  void keep(std::function<void()> function) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(function));
  }
  [[nodiscard]] std::vector<std::function<void()>> take_kept() {
    const std::lock_guard lock(mutex_);
    return std::exchange(kept_, {});
  }

  /// How often, or when, the backends call a host's function for an event.
  enum class Calls { once, twice, early, never, refused };
  std::atomic<Calls> calls = Calls::once;
  /// Calls of the backends inside of such a function (TN-EVT-18).
  std::atomic<int> calls_inside = 0;
  /// Events that were recorded or destroyed before such a function was called (TN-EVT-19).
  std::atomic<int> disturbed_events = 0;
  /// Events that exist.
  std::atomic<int> live_events = 0;
  /// Events that existed when a backend was closed.
  std::atomic<int> left_at_close = 0;

 private:
  void set_held(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  std::vector<std::string> events_;
  std::vector<std::function<void()>> kept_;
};

inline LaterRecord& later_record() {
  static LaterRecord record;
  return record;
}

}  // namespace tenon::test
