// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/core/result.hpp"

/// The reports of a test's process to the runner: one JSON object a line, each written as soon as
/// it is known, so that a crash loses nothing. Lines that a signal handler writes begin with '!'
/// (crash_reporter.hpp).
///
/// The plugin under test is in the process that writes, and may write too. So each line begins with
/// a secret of the run, and the last one has the number of lines: a line that the plugin adds,
/// changes or removes is noticed. That a plugin searches the memory of its process for the secret
/// is not prevented.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Length of a channel's secret, in characters.
inline constexpr std::size_t channel_secret_size = 32;

/// A secret of random hexadecimal digits.
/// errors: AccessFailed when the system has no random numbers.
[[nodiscard]] Result<std::string> make_channel_secret();

/// The writing end. Any thread.
class Channel {
 public:
  /// Writes to `descriptor`, which the caller owns; a negative number discards everything. Each
  /// line begins with `secret`.
  explicit Channel(int descriptor, std::string secret = {})
      : descriptor_(descriptor), secret_(std::move(secret)) {}

  /// Reads the secret that the runner left at the beginning of `descriptor`, and erases it there.
  /// errors: AccessFailed.
  [[nodiscard]] static Result<std::string> take_secret(int descriptor);

  void finding(const Finding& finding);
  void measurement(const Measurement& one);
  /// How the test ended; findings take precedence over it.
  /// `executed` is `TestResult::executed`.
  void outcome(Outcome outcome, std::string_view reason, bool executed);
  /// The test came to its end. Without this line it crashed or was ended.
  void done();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const std::string& secret() const noexcept { return secret_; }

 private:
  void write(const std::string& line);

  int descriptor_;
  std::string secret_;
  std::mutex mutex_;
  std::uint64_t num_lines_ = 0;
};

struct ChannelContent {
  std::vector<Finding> findings;
  std::vector<Measurement> measurements;
  Outcome outcome = Outcome::passed;
  std::string reason;
  bool executed = false;
  bool done = false;
  bool changed = false;  ///< Lines are there that the kit did not write, or some are missing.
  bool crashed = false;
  Finding crash_finding;  ///< Rule and text of the crash, when `crashed`.
  std::vector<std::string> backtrace;
  std::vector<std::string> maps;  ///< As of /proc/PID/maps, that a crash left, for the backtrace.
};

/// Reads what a test wrote, as far as it came. Lines that were cut, that do not begin with `secret`
/// or whose members have other types than the kit writes are left out.
[[nodiscard]] ChannelContent read_channel(std::string_view text, std::string_view secret);

}}}  // namespace tenon::TENON_RELEASE::conformance
