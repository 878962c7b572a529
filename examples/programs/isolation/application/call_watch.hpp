// SPDX-License-Identifier: MIT
#pragma once

#include <time.h>

#include <cstdint>

namespace tenon::isolated {

/// The time of one call to a worker. Each wait of the call looks at it.
class CallWatch {
 public:
  enum class Verdict : std::uint8_t {
    go_on,
    report,  ///< The worker has been silent for `seconds()`; said once for each step.
    give_up  ///< The deadline is over.
  };

  /// 0 means no deadline.
  explicit CallWatch(std::uint64_t deadline_ms) noexcept
      : deadline_ns_(static_cast<std::int64_t>(deadline_ms < longest_ms ? deadline_ms * 1'000'000
                                                                        : INT64_MAX)),
        has_deadline_(deadline_ms != 0) {}

  [[nodiscard]] static std::int64_t now_ns() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  }

  /// Looks at the clock. The first look starts it, `waited_ns` ago: a call that needs no second
  /// look pays for no clock.
  [[nodiscard]] Verdict look(std::int64_t now, std::int64_t waited_ns) noexcept {
    if (begin_ == 0) begin_ = now - waited_ns;
    const std::int64_t elapsed = now - begin_;
    if (has_deadline_) return elapsed < deadline_ns_ ? Verdict::go_on : Verdict::give_up;
    if (elapsed < next_report_ns_) return Verdict::go_on;
    seconds_ = elapsed / second_ns;
    while (next_report_ns_ <= elapsed && next_report_ns_ < INT64_MAX / 10) next_report_ns_ *= 10;
    return Verdict::report;
  }

  /// At the last report.
  [[nodiscard]] std::int64_t seconds() const noexcept { return seconds_; }

 private:
  static constexpr std::int64_t second_ns = 1'000'000'000;
  static constexpr std::uint64_t longest_ms = INT64_MAX / 1'000'000;

  std::int64_t deadline_ns_;
  std::int64_t begin_ = 0;
  std::int64_t next_report_ns_ = second_ns;  // Then after 10 s, 100 s and so on.
  std::int64_t seconds_ = 0;
  bool has_deadline_;
};

}  // namespace tenon::isolated
