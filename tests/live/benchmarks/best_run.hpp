// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <ctime>
#include <string_view>

/// Times runs for bench-tenon and bench-libtorch. Standard C++ alone: the latter has no headers of
/// Tenon.
namespace best_run {

/// The time that this process was on a processor.
struct ProcessorClock {
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<ProcessorClock, duration>;
  static time_point now() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + duration(time.tv_nsec));
  }
};

template <class Clock, class Run>
double of_clock(double seconds, const Run& run) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  // Several runs between two looks at the clock, so that the clock itself does not count.
  double best = 0;
  for (int runs = 1; best == 0 || Clock::now() < end;) {
    const auto before = Clock::now();
    for (int i = 0; i < runs; ++i) {
      if (!run()) return -1;
    }
    const std::chrono::duration<double, std::nano> passed = Clock::now() - before;
    if (passed.count() < 20'000) {
      runs *= 2;
      continue;
    }
    const double now = passed.count() / runs;
    if (best == 0 || now < best) best = now;
  }
  return best;
}

/// The fewest nanoseconds of one `run`, repeated for `seconds`; below 0 when one returned false.
/// `clock` is "processor" for the time on a processor.
template <class Run>
double nanoseconds(std::string_view clock, double seconds, const Run& run) {
  return clock == "processor" ? of_clock<ProcessorClock>(seconds, run)
                              : of_clock<std::chrono::steady_clock>(seconds, run);
}

}  // namespace best_run
