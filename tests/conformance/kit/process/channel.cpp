// SPDX-License-Identifier: MIT
#include "kit/process/channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <span>

#include "kit/platform/system.hpp"
#include "tenon/core/hex.hpp"
#include "tenon/core/json.hpp"
#include "tenon/core/json_limits.hpp"
#include "tenon/host/platform/read_at.hpp"
#include "tenon/host/platform/write_at.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// One line of the channel. Text of a plugin may be anything; what is not UTF-8 is replaced.
std::string channel_line(const nlohmann::json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// "!crash RULE text" begins a crash, whose backtrace follows.
void read_crash_line(std::string_view line, ChannelContent& content) {
  constexpr std::string_view crash = "!crash ";
  if (!line.starts_with(crash) || content.crashed)
    return;  // Or a crash while the first one was reported.
  content.crashed = true;
  line.remove_prefix(crash.size());
  const std::size_t space = std::min(line.find(' '), line.size());
  content.crash_finding = {std::string(line.substr(0, space)),
                           std::string(line.substr(std::min(space + 1, line.size())))};
}

/// The text under `key`, or nothing.
std::string text_member(const JsonAt& object, std::string_view key) {
  const auto found = object.find(key);
  return found && found->json().is_string() ? found->json().get<std::string>() : std::string();
}

void read_json_line(const JsonAt& line, ChannelContent& content) {
  if (const auto one = line.find("finding")) {
    if (!one->json().is_object()) return;
    content.findings.push_back({text_member(*one, "rule"), text_member(*one, "text")});
  } else if (const auto figure = line.find("measurement")) {
    const auto value = figure->find("value");
    if (!value || !value->json().is_number()) return;
    content.measurements.push_back(
        {text_member(*figure, "name"), value->json().get<double>(), text_member(*figure, "unit")});
  } else if (const auto outcome = line.find("outcome")) {
    for (std::size_t i = 0; i < num_outcomes; ++i) {
      if (outcome->json() == outcome_name(static_cast<Outcome>(i))) {
        content.outcome = static_cast<Outcome>(i);
      }
    }
    content.reason = text_member(line, "reason");
    const auto executed = line.find("executed");
    content.executed = executed && executed->json() == true;
  }
}

}  // namespace

void Channel::finding(const Finding& finding) {
  write(channel_line({{"finding", {{"rule", finding.rule}, {"text", finding.text}}}}));
}

void Channel::measurement(const Measurement& one) {
  write(channel_line(
      {{"measurement", {{"name", one.name}, {"value", one.value}, {"unit", one.unit}}}}));
}

void Channel::outcome(Outcome outcome, std::string_view reason, bool executed) {
  write(channel_line(
      {{"outcome", outcome_name(outcome)}, {"reason", reason}, {"executed", executed}}));
}

void Channel::done() {
  std::uint64_t before = 0;
  {
    const std::lock_guard lock(mutex_);
    before = num_lines_;
  }
  write(channel_line({{"done", before}}));
}

void Channel::write(const std::string& text) {
  if (descriptor_ < 0) return;
  const std::string line = secret_ + text;
  const std::lock_guard lock(mutex_);
  ++num_lines_;
  for (std::size_t at = 0; at < line.size();) {
    const std::ptrdiff_t written = platform::write(descriptor_, line.data() + at, line.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    at += static_cast<std::size_t>(written);
  }
}

Result<std::string> make_channel_secret() {
  std::array<unsigned char, channel_secret_size / 2> random{};
  if (!platform::fill_random(random.data(), random.size())) {
    return error(Error::AccessFailed, "the system has no random numbers");
  }
  return to_hex(std::as_bytes(std::span(random)));
}

Result<std::string> Channel::take_secret(int descriptor) {
  std::string secret(channel_secret_size, '\n');
  const std::string blank = secret;
  const auto size = static_cast<std::ptrdiff_t>(secret.size());
  if (host::read_at(descriptor, std::as_writable_bytes(std::span(secret)), 0) != size ||
      !host::write_at(descriptor, std::as_bytes(std::span(blank)), 0) ||
      !platform::write_at_end(descriptor)) {
    return error(Error::AccessFailed, "the channel to the runner cannot be read");
  }
  return secret;
}

ChannelContent read_channel(std::string_view text, std::string_view secret) {
  ChannelContent content;
  std::uint64_t num_lines = 0;
  const JsonLimits limits{.bytes = text.size()};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const bool is_whole = end != text.size();
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (!line.starts_with(secret)) {
      // Frames of a backtrace and mappings follow a crash, without the secret: a signal handler
      // writes them.
      if (content.crashed && line.starts_with("!map ")) {
        content.maps.emplace_back(line.substr(5));
      } else if (content.crashed && line.front() == '!') {
        content.backtrace.emplace_back(line.substr(1));
      } else {
        content.changed = content.changed || is_whole;
      }
      continue;
    }
    line.remove_prefix(secret.size());
    if (line.starts_with('!')) {
      read_crash_line(line, content);
      continue;
    }
    const auto json = parse_json(line, limits);
    if (!json.ok() || !json->is_object()) continue;
    const JsonAt object(*json, "", Error::InvalidArgument);
    if (const auto done = object.find("done")) {
      content.done = true;
      content.changed = content.changed || done->json() != num_lines;
    }
    ++num_lines;
    read_json_line(object, content);
  }
  return content;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
