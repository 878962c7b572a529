// SPDX-License-Identifier: MIT
//
// For backends with WithEvents whose driver has no wait with a limit, or calls no function when an
// event is complete: both are made of a question.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "tenon/abi/extensions/events.h"
#include "tenon/backend/event_function.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Waits for an event for at most `timeout_ns`: asks `is_complete()`, a `bool` or `Result<bool>`,
/// in pauses of at most half a millisecond. `wait()` waits without a limit and gives the outcome;
/// it is called for an event that is complete, and where there is no limit.
///
///     Status wait_event(Event& event, std::uint64_t timeout_ns) {
///       return wait_by_query(
///           timeout_ns, [&] { return event.query(); }, [&] { return event.wait(); });
///     }
///
/// errors: TimedOut, and whatever the functions fail with.
template <class IsComplete, class Wait>
[[nodiscard]] Status wait_by_query(std::uint64_t timeout_ns, const IsComplete& is_complete,
                                   const Wait& wait) {
  using Clock = std::chrono::steady_clock;
  using std::chrono::nanoseconds;
  if (timeout_ns == TENON_NO_TIMEOUT) return wait();
  constexpr std::uint64_t longest = 500'000;
  const Clock::time_point begin = Clock::now();
  for (std::uint64_t pause = 1000;; pause = std::min(2 * pause, longest)) {
    TENON_TRY(const bool complete, Result<bool>(is_complete()));
    if (complete) return wait();
    const auto passed = static_cast<std::uint64_t>(nanoseconds(Clock::now() - begin).count());
    if (passed >= timeout_ns) {
      return error(Error::TimedOut, "event: expected it to be complete in ", timeout_ns,
                   " ns, found it pending after ", passed, " ns");
    }
    std::this_thread::sleep_for(
        nanoseconds(static_cast<std::int64_t>(std::min(pause, timeout_ns - passed))));
  }
}

/// Calls functions when events are complete: one thread for a backend, begun by the first `add`,
/// asks for all of them in turn, in pauses of at most a millisecond. A member of the backend, whose
/// destruction ends the thread.
///
/// Threads: any for `add`.
class EventWatcher {
 public:
  EventWatcher() = default;
  EventWatcher(const EventWatcher&) = delete;
  EventWatcher& operator=(const EventWatcher&) = delete;
  ~EventWatcher() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  /// Calls `done` once after `is_complete()` has been true, or has failed. `is_complete` is asked
  /// on the watcher's thread, and not any more when `done` is called: it may refer to the event.
  ///
  /// errors: OutOfResources (the system gives no thread). Throws std::bad_alloc.
  [[nodiscard]] Status add(std::function<Result<bool>()> is_complete, EventFunction done) {
    std::list<Entry> one;
    one.push_back({std::move(is_complete), done});
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { watch(); });
      } catch (const std::system_error& failure) {
        return error(Error::OutOfResources,
                     "no thread to watch events: ", std::string_view(failure.what()));
      }
    }
    added_.splice(added_.end(), one);
    changed_.notify_one();
    return ok();
  }

 private:
  struct Entry {
    std::function<Result<bool>()> is_complete;
    EventFunction done;
  };

  static bool ask(const Entry& entry) noexcept {
    try {
      const Result<bool> complete = entry.is_complete();
      return !complete.ok() || *complete;  // Of a failure `wait` gives the reason.
    } catch (...) {
      return true;
    }
  }

  void watch() {
    constexpr std::chrono::microseconds shortest(20), longest(1000);
    std::list<Entry> watched;
    std::chrono::microseconds pause = shortest;
    std::unique_lock lock(mutex_);
    while (true) {
      const auto has_news = [this] { return ends_ || !added_.empty(); };
      if (watched.empty()) {
        changed_.wait(lock, has_news);
      } else {
        changed_.wait_for(lock, pause, has_news);
      }
      if (ends_) return;
      pause = added_.empty() ? std::min(2 * pause, longest) : shortest;
      watched.splice(watched.end(), added_);
      lock.unlock();
      for (auto at = watched.begin(); at != watched.end();) {
        if (!ask(*at)) {
          ++at;
          continue;
        }
        const EventFunction done = at->done;
        at = watched.erase(at);
        done();
        pause = shortest;
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Entry> added_;  ///< Not yet seen by the thread.
  bool ends_ = false;
  std::thread thread_;
};

}}  // namespace tenon::TENON_RELEASE
