// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "tenon/abi/version.h"
#include "tenon/host/loader/files/limits.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Calls a function once a time has passed, on a thread of its own, unless it is stopped before.
class RunTimer {
 public:
  explicit RunTimer(std::function<void()> expired)
      : expired_(std::move(expired)), thread_([this] { wait(); }) {}
  RunTimer(const RunTimer&) = delete;
  RunTimer& operator=(const RunTimer&) = delete;
  ~RunTimer() {
    {
      const std::lock_guard lock(mutex_);
      is_done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void start(std::chrono::milliseconds timeout) {
    bool must_wake = false;
    {
      const std::lock_guard lock(mutex_);
      deadline_ = Clock::now() + timeout;
      // The thread that sleeps until an earlier time finds the new one then: one wake-up in each
      // `timeout` and not in each run.
      must_wake = deadline_ < wakes_at_;
    }
    if (must_wake) changed_.notify_one();
  }

  /// The function does not run on return, and is not called for what was started.
  void stop() {
    const std::lock_guard lock(mutex_);
    deadline_ = Clock::time_point::max();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void wait() {
    std::unique_lock lock(mutex_);
    while (!is_done_) {
      if (deadline_ == Clock::time_point::max()) {
        wakes_at_ = deadline_;
        changed_.wait(lock);
      } else if (Clock::now() < deadline_) {
        wakes_at_ = deadline_;
        changed_.wait_until(lock, wakes_at_);
      } else {
        deadline_ = Clock::time_point::max();
        expired_();
      }
    }
  }

  const std::function<void()> expired_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point wakes_at_ = Clock::time_point::max();
  bool is_done_ = false;
  std::thread thread_;  // The last member: it uses the others.
};

/// Ends the runs of one method from outside: `cancel`, from any thread, and the limit in time.
class RunControl {
 public:
  /// `notify` is called once in a run that is cancelled, while the run is going on, from the thread
  /// that cancels. Without a limit, `run_milliseconds` is HostLimits::none.
  RunControl(std::uint64_t run_milliseconds, std::function<void()> notify)
      : notify_(std::move(notify)), timeout_(shortest(run_milliseconds)) {
    if (run_milliseconds == HostLimits::none) return;
    timer_ = std::make_unique<RunTimer>([this] {
      is_late_.store(true, std::memory_order_relaxed);
      cancel();
    });
  }
  RunControl(const RunControl&) = delete;
  RunControl& operator=(const RunControl&) = delete;

  /// The flag for the calls of the method: 0, and not 0 in a run that was cancelled
  /// (tenon_cancel_flag_v1).
  [[nodiscard]] std::atomic<std::uint32_t>& flag() noexcept { return flag_; }
  [[nodiscard]] bool is_cancelled() const noexcept {
    return flag_.load(std::memory_order_relaxed) != 0;
  }

  /// Begins a run and returns true: the caller then calls `end` and `release`. Returns false, and
  /// changes nothing, while a run is going on.
  [[nodiscard]] bool begin() {
    State expected = State::idle;
    if (!state_.compare_exchange_strong(expected, State::beginning, std::memory_order_acquire)) {
      return false;
    }
    flag_.store(0, std::memory_order_relaxed);
    is_late_.store(false, std::memory_order_relaxed);
    state_.store(State::running, std::memory_order_release);
    if (timer_) timer_->start(timeout_);
    return true;
  }

  /// The run has ended: afterwards nothing of it is cancelled. Waits for a `cancel` that is
  /// notifying delegates. Returns whether the limit in time cancelled the run.
  [[nodiscard]] bool end() {
    if (timer_) timer_->stop();
    State state = State::running;
    if (!state_.compare_exchange_strong(state, State::ending, std::memory_order_acquire)) {
      await_notified();
    }
    return is_late_.load(std::memory_order_relaxed);
  }
  /// The next run may begin.
  void release() noexcept { state_.store(State::idle, std::memory_order_release); }

  /// Has no effect without a run, or in a run that was cancelled before.
  void cancel() {
    State expected = State::running;
    if (!state_.compare_exchange_strong(expected, State::cancelling, std::memory_order_acq_rel)) {
      return;
    }
    // In this order with what `notify_` reaches: see tenon_cancel_v1.
    flag_.store(1, std::memory_order_seq_cst);
    notify_();
    const std::lock_guard lock(mutex_);
    state_.store(State::cancelled, std::memory_order_release);
    notified_.notify_one();
  }

 private:
  /// A time that a clock can count to.
  static std::chrono::milliseconds shortest(std::uint64_t milliseconds) noexcept {
    constexpr std::chrono::milliseconds most = std::chrono::hours(24 * 365);
    const auto count = static_cast<std::uint64_t>(most.count());
    return milliseconds < count ? std::chrono::milliseconds(milliseconds) : most;
  }

  /// A mutex, as `state_.wait` may miss a call of `notify_one` or `notify_all`: before GCC 16,
  /// libstdc++ without futexes, as on Windows, looks whether the value has changed and only then
  /// takes the lock to sleep, and a thread that notifies takes no lock. GCC's commit "libstdc++:
  /// Move atomic wait/notify entry points into the library" describes the race.
  void await_notified() {
    std::unique_lock lock(mutex_);
    notified_.wait(lock,
                   [this] { return state_.load(std::memory_order_acquire) != State::cancelling; });
  }

  enum class State : std::uint32_t { idle, beginning, running, cancelling, cancelled, ending };

  const std::function<void()> notify_;
  const std::chrono::milliseconds timeout_;
  std::atomic<State> state_ = State::idle;
  std::atomic<std::uint32_t> flag_ = 0;
  static_assert(sizeof flag_ == sizeof(std::uint32_t) &&
                std::atomic<std::uint32_t>::is_always_lock_free);
  std::atomic<bool> is_late_ = false;
  std::mutex mutex_;  // Of the step from `cancelling` to `cancelled`.
  std::condition_variable notified_;
  std::unique_ptr<RunTimer> timer_;  // The last member: its thread uses the others.
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
