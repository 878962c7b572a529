// SPDX-License-Identifier: MIT
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tenon/core/concat.hpp"

/// The memory that the two sides of one lane share: whose turn it is, and the message. A lane
/// carries one call at a time: the application writes the call and gives the turn to the worker,
/// which answers, or asks something back first ("what is the data of this name?").
namespace tenon::isolated {

enum class Turn : std::uint32_t { application = 0, worker = 1 };

/// The report of the worker's signal handler. Numbers for a text; nothing is derived from them.
struct Crash {
  std::atomic<std::uint32_t> signal;  ///< Written last; 0: there was none.
  std::int32_t code;
  std::uint64_t address;
  std::int32_t system_call;  ///< Of a SIGSYS.
  std::int32_t thread;
  char thread_name[16];
};

struct LaneHeader {
  std::atomic<std::uint32_t> turn;  ///< A `Turn`; the word that both sides wait for.
  std::atomic<std::uint32_t> application_sleeps;
  std::atomic<std::uint32_t> worker_sleeps;
  std::atomic<std::uint32_t> cancel_flag;  ///< For "tenon.cancel_flag/1".
  std::uint32_t kind;                      ///< Of the message: a `Call`, `Question` or answer.
  std::uint32_t is_attached;      ///< The message's bytes are a file, the first descriptor.
  std::uint32_t num_descriptors;  ///< Descriptors that the lane's socket carries with the message.
  std::uint64_t size;             ///< Of the message.
  Crash crash;
};

inline constexpr std::size_t lane_message_offset = 4096;
inline constexpr std::size_t lane_message_size = std::size_t{64} * 1024;
inline constexpr std::size_t lane_size = lane_message_offset + lane_message_size;
static_assert(sizeof(LaneHeader) <= lane_message_offset);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

inline void pause_shortly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Whether the other side can run while this one spins.
[[nodiscard]] inline bool has_several_processors() noexcept {
  static const bool several = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) > 1;
  }();
  return several;
}

/// Waits without sleeping for a moment, where that has helped lately. When the other side has no
/// processor, or computes for long, it would only be in the way; it is tried again now and then.
class Spinner {
 public:
  /// Whether `condition` was true within the moment.
  template <class Condition>
  bool spin(const Condition& condition) noexcept {
    if (!has_several_processors()) return false;
    const bool is_trial = ++count_ % trial_period == 0;
    const int limit = is_trial ? trial : limit_;
    for (int i = 0; i < limit; ++i) {
      if (condition()) {
        limit_ = std::clamp(2 * i, most, trial);
        return true;
      }
      pause_shortly();
    }
    limit_ /= 2;
    return false;
  }

 private:
  static constexpr int most = 600;
  static constexpr int trial = 4000;  // Longer than it takes to wake the other side.
  static constexpr std::uint32_t trial_period = 16;
  int limit_ = most;
  std::uint32_t count_ = 0;
};

/// Gives the turn to the other side, which `sleeps` says of itself.
inline void give_turn(std::atomic<std::uint32_t>& turn, Turn to,
                      std::atomic<std::uint32_t>& sleeps) noexcept {
  turn.store(static_cast<std::uint32_t>(to), std::memory_order_seq_cst);
  if (sleeps.load(std::memory_order_seq_cst) != 0) {
    ::syscall(SYS_futex, &turn, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

/// Waits until the turn is `mine`, at most `slice_ns` of sleep, a negative one being no limit; with
/// a `spinner` it spins first. False when it is not.
inline bool wait_for_turn(std::atomic<std::uint32_t>& turn, Turn mine,
                          std::atomic<std::uint32_t>& sleeps, std::int64_t slice_ns,
                          Spinner* spinner) noexcept {
  const auto is_mine = [&](std::memory_order order) {
    return turn.load(order) == static_cast<std::uint32_t>(mine);
  };
  if (spinner && spinner->spin([&] { return is_mine(std::memory_order_acquire); })) return true;
  sleeps.store(1, std::memory_order_seq_cst);
  if (!is_mine(std::memory_order_seq_cst)) {
    timespec limit{static_cast<time_t>(slice_ns / 1'000'000'000),
                   static_cast<long>(slice_ns % 1'000'000'000)};
    const auto other =
        static_cast<std::uint32_t>(mine == Turn::application ? Turn::worker : Turn::application);
    ::syscall(SYS_futex, &turn, FUTEX_WAIT, other, slice_ns < 0 ? nullptr : &limit, nullptr, 0);
  }
  sleeps.store(0, std::memory_order_relaxed);
  return is_mine(std::memory_order_acquire);
}

}  // namespace tenon::isolated
