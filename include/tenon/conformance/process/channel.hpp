// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/core/api.hpp"

/// The reports of a test's process to the runner: one JSON object a line, each written as soon as
/// it is known, so that a crash loses nothing. Lines that a signal handler writes begin with '!'
/// (crash_reporter.hpp).
namespace tenon::conformance {

/// The writing end. Any thread.
class Channel {
 public:
  /// Writes to `descriptor`, which the caller owns; a negative number discards everything.
  explicit Channel(int descriptor) noexcept : descriptor_(descriptor) {}

  void finding(const Finding& finding);
  void measurement(const Measurement& one);
  /// How the test ended; findings take precedence over it.
  void outcome(Outcome outcome, std::string_view reason);
  /// The test came to its end. Without this line it crashed or was ended.
  void done();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  void write(const std::string& line);

  int descriptor_;
  std::mutex mutex_;
};

/// The content of a channel.
struct ChannelContent {
  std::vector<Finding> findings;
  std::vector<Measurement> measurements;
  Outcome outcome = Outcome::passed;
  std::string reason;
  bool done = false;
  bool crashed = false;
  Finding crash_finding;  ///< Rule and text of the crash, when `crashed`.
  std::vector<std::string> backtrace;
};

/// Reads what a test wrote, as far as it came. A line that was cut is left out.
[[nodiscard]] TENON_API ChannelContent read_channel(std::string_view text);

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

namespace tenon::conformance {

namespace detail {

/// One line of the channel. Text of a plugin may be anything; what is not UTF-8 is replaced.
inline std::string channel_line(const nlohmann::json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// "!crash RULE text" begins a crash, other lines with '!' are frames of its backtrace.
inline void read_crash_line(std::string_view line, ChannelContent& content) {
  constexpr std::string_view crash = "!crash ";
  if (!line.starts_with(crash)) {
    content.backtrace.emplace_back(line.substr(1));
    return;
  }
  if (content.crashed) return;  // A crash while the first one was reported.
  content.crashed = true;
  line.remove_prefix(crash.size());
  const std::size_t space = std::min(line.find(' '), line.size());
  content.crash_finding = {std::string(line.substr(0, space)),
                           std::string(line.substr(std::min(space + 1, line.size())))};
}

inline void read_json_line(const nlohmann::json& line, ChannelContent& content) {
  if (const auto one = line.find("finding"); one != line.end()) {
    content.findings.push_back({one->value("rule", ""), one->value("text", "")});
  } else if (const auto figure = line.find("measurement"); figure != line.end()) {
    content.measurements.push_back(
        {figure->value("name", ""), figure->value("value", 0.0), figure->value("unit", "")});
  } else if (const auto outcome = line.find("outcome"); outcome != line.end()) {
    for (std::size_t i = 0; i < num_outcomes; ++i) {
      if (*outcome == outcome_name(static_cast<Outcome>(i))) {
        content.outcome = static_cast<Outcome>(i);
      }
    }
    content.reason = line.value("reason", "");
  } else if (line.contains("done")) {
    content.done = true;
  }
}

}  // namespace detail

TENON_API void Channel::finding(const Finding& finding) {
  write(detail::channel_line({{"finding", {{"rule", finding.rule}, {"text", finding.text}}}}));
}

TENON_API void Channel::measurement(const Measurement& one) {
  write(detail::channel_line(
      {{"measurement", {{"name", one.name}, {"value", one.value}, {"unit", one.unit}}}}));
}

TENON_API void Channel::outcome(Outcome outcome, std::string_view reason) {
  write(detail::channel_line({{"outcome", outcome_name(outcome)}, {"reason", reason}}));
}

TENON_API void Channel::done() { write(detail::channel_line({{"done", true}})); }

TENON_API void Channel::write(const std::string& line) {
  if (descriptor_ < 0) return;
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t written = ::write(descriptor_, line.data() + at, line.size() - at);
    if (written <= 0) return;
    at += static_cast<std::size_t>(written);
  }
}

TENON_API ChannelContent read_channel(std::string_view text) {
  ChannelContent content;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (line.front() == '!') {
      detail::read_crash_line(line, content);
      continue;
    }
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object()) detail::read_json_line(json, content);
  }
  return content;
}

}  // namespace tenon::conformance

#endif  // TENON_CONFORMANCE_DEFINITIONS
