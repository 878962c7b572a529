// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "tenon/abi/backend.h"
#include "tenon/host/layers/async/executor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A run that no thread waits for. Plugins call a function for each of its events (`on_complete` of
/// "tenon.events/1"); the last call wakes the executor, which ends the run.
///
/// Plugins are given numbers and not addresses, one for each event. So a call that comes twice, or
/// when the run is over, finds nothing, and a call that never comes is waited for only as long as
/// `end` says. A run that is woken too early waits on the thread that was woken.
///
/// Threads: any for `hurry`, `stop` and the function; the others one at a time.
class ParkedRun {
 public:
  /// Events of one run.
  static constexpr std::size_t most = 32;

  /// How long `end` waits for calls after the events are complete.
  static constexpr std::chrono::seconds longest_wait{2};

  ParkedRun() = default;
  ParkedRun(const ParkedRun&) = delete;
  ParkedRun& operator=(const ParkedRun&) = delete;

  /// To be called when a run begins, before anything of it is parked.
  void reset() noexcept {
    const std::lock_guard lock(mutex);
    is_hurried_ = false;
  }

  [[nodiscard]] bool may_park() const noexcept {
    const std::lock_guard lock(mutex);
    return !is_hurried_ && !is_stopped_;
  }

  /// From now on `num_calls` calls of `function` are expected, at most `most`, until `end`: each
  /// with another number, from the returned one on.
  [[nodiscard]] std::uintptr_t expect_calls(std::size_t num_calls) noexcept {
    const std::lock_guard lock(mutex);
    first_number_ = next_number;
    next_number += num_calls;
    missing_ = first_bits(num_calls);
    next_ = std::exchange(first, this);
    is_parked_ = true;
    return first_number_;
  }

  /// A tenon_event_function, which is given a number.
  static void TENON_CALL function(void* data) noexcept {
    const auto number = reinterpret_cast<std::uintptr_t>(data);
    Executor::Wake wake;
    {
      const std::lock_guard lock(mutex);
      ParkedRun* run = first;
      while (run && !run->expects(number)) run = run->next_;
      if (!run) return;
      run->missing_ &= ~bit(number - run->first_number_);
      if (run->missing_ != 0) return;
      wake.swap(run->wake_);
      run->called_.notify_one();
    }
    // Not under the lock, and nothing afterwards: the run may be over, and its method destroyed.
    if (wake) wake();
  }

  /// Calls `wake` once: after the last call that is expected, in `hurry`, or here when either has
  /// been. The calls of `refused`, a bit for each number, will not come. The object may not exist
  /// any more on return.
  void wake_when_called(std::uint32_t refused, Executor::Wake wake) noexcept {
    {
      const std::lock_guard lock(mutex);
      missing_ &= ~refused;
      if (missing_ != 0 && !is_hurried_) {
        wake_ = std::move(wake);
        return;
      }
    }
    wake();
  }

  /// The bit of the number that is `index` behind the first one.
  static constexpr std::uint32_t bit(std::size_t index) noexcept {
    return std::uint32_t{1} << index;
  }

  /// Wakes the run that is going on, if it is parked or will be.
  void hurry() noexcept { wake_now(false); }

  /// As `hurry`, and lets no further run be parked.
  void stop() noexcept { wake_now(true); }

  /// To be called when the events of a run are complete: waits for the calls that are missing.
  /// After a plugin that does not make them in `longest_wait` no further run is parked.
  void end() noexcept {
    Executor::Wake unused;  // When the executor destroyed its task. Destroyed without the lock.
    std::unique_lock lock(mutex);
    if (!is_parked_) return;
    if (!called_.wait_for(lock, longest_wait, [this] { return missing_ == 0; })) is_stopped_ = true;
    ParkedRun** at = &first;
    while (*at != this) at = &(*at)->next_;
    *at = next_;
    is_parked_ = false;
    wake_.swap(unused);
  }

 private:
  static constexpr std::uint32_t first_bits(std::size_t count) noexcept {
    return count == most ? ~std::uint32_t{0} : bit(count) - 1;
  }

  [[nodiscard]] bool expects(std::uintptr_t number) const noexcept {
    const std::uintptr_t index = number - first_number_;
    return index < most && (missing_ & bit(index)) != 0;
  }

  void wake_now(bool is_last) noexcept {
    Executor::Wake wake;
    {
      const std::lock_guard lock(mutex);
      is_hurried_ = true;
      is_stopped_ = is_stopped_ || is_last;
      wake.swap(wake_);
    }
    if (wake) wake();
  }

  // For all parked runs: `function` finds its run by the number. A list of pointers has no
  // destructor, so a plugin may call while the process ends.
  static inline std::mutex mutex;
  static inline ParkedRun* first = nullptr;
  static inline std::uintptr_t next_number = 1;

  std::condition_variable called_;
  ParkedRun* next_ = nullptr;
  bool is_parked_ = false;
  std::uintptr_t first_number_ = 0;
  std::uint32_t missing_ = 0;  ///< The calls that are expected and have not come, a bit for each.
  bool is_hurried_ = false;
  bool is_stopped_ = false;
  Executor::Wake wake_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
