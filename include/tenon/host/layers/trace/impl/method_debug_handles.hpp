// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/trace/debug_handles.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The debug handles that a program has of one method (host/layers/trace/debug_handles.hpp).
class DebugHandles {
 public:
  using Handles = std::vector<std::uint32_t>;

  /// Of a program without them.
  DebugHandles() = default;

  /// errors: InvalidExternalData, with the line.
  [[nodiscard]] static Result<DebugHandles> read(std::string_view text) {
    DebugHandles out;
    std::size_t line = 1;
    if (next_line(text) != debug_handles_format) return damaged(line);
    while (!text.empty()) {
      ++line;
      if (!out.add(next_line(text))) return damaged(line);
    }
    return out;
  }

  /// Of the kernel that the instruction calls.
  [[nodiscard]] Handles of_kernel(std::size_t instruction) const {
    const auto found = kernels_.find(instruction);
    return found == kernels_.end() ? Handles() : Handles{found->second};
  }
  /// Of a step of a delegate: by its number, or else by its name.
  [[nodiscard]] Handles of_event(std::size_t delegate, std::int64_t id,
                                 const std::string& name) const {
    if (const auto found = events_.find({delegate, id}); found != events_.end()) {
      return found->second;
    }
    const auto found = named_.find({delegate, name});
    return found == named_.end() ? Handles() : found->second;
  }
  /// The name of a node; empty when the program does not say it.
  [[nodiscard]] std::string name_of(std::uint32_t handle) const {
    const auto found = nodes_.find(handle);
    return found == nodes_.end() ? std::string() : found->second;
  }

 private:
  static Status damaged(std::size_t line) {
    return error(Error::InvalidExternalData, "the program's debug handles are damaged: line ", line,
                 " is none of ", debug_handles_format);
  }

  static std::string_view next_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line;
  }

  /// The number that `line` begins with, which is taken from it with the blank behind it.
  template <class Number>
  static std::optional<Number> number(std::string_view& line) {
    Number out = 0;
    const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), out);
    if (code != std::errc()) return std::nullopt;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (line.empty()) return out;
    if (line.front() != ' ') return std::nullopt;
    line.remove_prefix(1);
    return out;
  }

  /// `count` handles, or all that there are.
  static std::optional<Handles> handles(std::string_view& line, std::optional<std::size_t> count) {
    Handles out;
    while (count ? out.size() < *count : !line.empty()) {
      const auto one = number<std::uint32_t>(line);
      if (!one) return std::nullopt;
      out.push_back(*one);
    }
    return out;
  }

  [[nodiscard]] bool add(std::string_view line) {
    const std::string_view kind = line.substr(0, line.find(' '));
    line.remove_prefix(kind.size() == line.size() ? kind.size() : kind.size() + 1);
    if (kind == "node") {
      const auto handle = number<std::uint32_t>(line);
      if (handle) nodes_.emplace(*handle, line);
      return handle.has_value();
    }
    const auto place = number<std::size_t>(line);
    if (!place) return false;
    if (kind == "kernel") {
      const auto handle = number<std::uint32_t>(line);
      if (handle) kernels_.emplace(*place, *handle);
      return handle.has_value();
    }
    if (kind == "event") {
      const auto id = number<std::int64_t>(line);
      auto found = id ? handles(line, std::nullopt) : std::nullopt;
      if (found) events_.emplace(std::pair(*place, *id), *std::move(found));
      return found.has_value();
    }
    if (kind != "named") return false;
    const auto count = number<std::size_t>(line);
    auto found = count ? handles(line, count) : std::nullopt;
    if (found) named_.emplace(std::pair(*place, std::string(line)), *std::move(found));
    return found.has_value();
  }

  std::map<std::uint32_t, std::string> nodes_;
  std::map<std::size_t, std::uint32_t> kernels_;
  std::map<std::pair<std::size_t, std::int64_t>, Handles> events_;
  std::map<std::pair<std::size_t, std::string>, Handles> named_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
