// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/host/layers/cancel/impl/run_control.hpp"
#include "tenon/host/loader/files/limits.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Where a run is: the instruction that it runs next.
struct RunPosition {
  std::size_t chain = 0;
  std::size_t index = 0;
  std::uint64_t left = 0;  ///< Instructions before the budget is asked for the next slice.
};

/// How many instructions one run may still execute, in slices: a run that has no limit in time and
/// cannot be cancelled gets all of them in its first slice, so that counting them is all that an
/// instruction pays for. Another one asks for each instruction.
class RunBudget {
 public:
  /// Of a run that has no limit in time and cannot be cancelled. `limits` is borrowed.
  explicit RunBudget(const HostLimits& limits) noexcept
      : condition_bytes(limits.condition_bytes),
        limits_(limits),
        instructions_(limits.instructions) {}

  /// Of another run: starts the clock when there is a limit in time. `control` is borrowed, and
  /// null for a run that cannot be cancelled.
  RunBudget(const HostLimits& limits, const RunControl* control) noexcept : RunBudget(limits) {
    control_ = control;
    is_observed_ = is_timed() || control;
    if (is_timed()) start_ = Clock::now();
  }

  [[nodiscard]] const HostLimits& limits() const noexcept { return limits_; }
  /// Why there was no further slice, if not for the number of instructions.
  [[nodiscard]] bool is_late() const noexcept { return is_late_; }
  [[nodiscard]] bool is_cancelled() const noexcept { return is_cancelled_; }
  /// Of the run so far. Only with a limit in time.
  [[nodiscard]] std::uint64_t milliseconds() const noexcept {
    const auto passed = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - start_);
    return static_cast<std::uint64_t>(passed.count());
  }

  /// Number of instructions that may be run before the next call; 0 when a limit was reached.
  [[nodiscard]] std::uint64_t next_slice() noexcept {
    if (is_observed_) [[unlikely]]
      return next_instruction();
    return std::exchange(instructions_, 0);
  }

  std::uint64_t condition_bytes;  ///< Of conditions that may still be looked at.

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool is_timed() const noexcept {
    return limits_.run_milliseconds != HostLimits::none;
  }

  /// A slice of one, unless a limit was reached or the run was cancelled.
  [[gnu::cold]] std::uint64_t next_instruction() noexcept {
    if (instructions_ == 0) return 0;
    --instructions_;
    is_late_ = is_timed() && milliseconds() > limits_.run_milliseconds;
    is_cancelled_ = control_ && control_->is_cancelled();
    return is_late_ || is_cancelled_ ? 0 : 1;
  }

  const HostLimits& limits_;
  const RunControl* control_ = nullptr;
  bool is_observed_ = false;
  std::uint64_t instructions_;
  Clock::time_point start_{};
  bool is_late_ = false;
  bool is_cancelled_ = false;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
