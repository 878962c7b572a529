// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tenon::bench {

/// Ends a benchmark: a call that must succeed failed. The text is for a person.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Does one thing `repeats` times. Throws `Failure` when it does not work.
using Work = std::function<void(std::uint64_t repeats)>;

/// Nanoseconds (or a count) for one repeat. The minimum is what the machine can do; the median
/// shows how noisy it was meanwhile.
struct Value {
  double minimum = 0;
  double median = 0;
  /// The minimums of the even and of the odd rounds: how far they are apart is noise. Zeroes for a
  /// count.
  std::array<double, 2> halves{};
};

/// Summarizes the rounds, of which there must be at least one.
[[nodiscard]] Value summarize(std::vector<double> rounds);

/// (large - small) / steps: the cost of one of the `steps` by which two pieces of work differ.
[[nodiscard]] Value slope(const Value& small, const Value& large, double steps);

/// How long to measure.
struct Plan {
  std::uint64_t rounds = 400;
  double batch_ns = 200'000;  ///< Shorter than a time slice, so that most batches run undisturbed.
};

/// Pins this process to one core and returns its number. `cpu` below 0 means the last one allowed.
int pin_to_core(int cpu);

/// Times every work of the list, in turns: one batch of each, then the next round, so that a change
/// of the machine's speed meets all of them. The first round only warms up.
[[nodiscard]] std::vector<Value> measure(const Plan& plan, const std::vector<Work>& works);

/// Keeps the compiler from dropping the computation of `value`.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

/// True when this build sees the heap allocations of every module in the process (glibc).
[[nodiscard]] bool can_count_allocations();

/// Heap allocations of one run of `work(repeats)`, of C and C++ alike, whichever module makes them.
[[nodiscard]] std::uint64_t count_allocations(const Work& work, std::uint64_t repeats);

}  // namespace tenon::bench
