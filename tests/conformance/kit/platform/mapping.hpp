// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Pages of a process that belong together, with the same rights.
struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool readable = false;
  bool executable = false;
  std::uint64_t offset = 0;  ///< In the file; on Windows from the begin of the library in memory.
  std::string name;          ///< A path, "[heap]" and the like, or empty.

  friend bool operator==(const Mapping&, const Mapping&) = default;
};

/// One line of /proc/PID/maps; nothing for any other text.
[[nodiscard]] inline std::optional<Mapping> mapping_of(std::string_view line) {
  Mapping one;
  const char* const last = line.data() + line.size();
  const auto number = [&](const char* from, auto& to) {
    const auto [end, failed] = std::from_chars(from, last, to, 16);
    return failed == std::errc() ? end : nullptr;
  };
  const char* at = number(line.data(), one.begin);
  if (!at || at == last || *at != '-') return std::nullopt;
  at = number(at + 1, one.end);
  // " r-xp " and the offset.
  if (!at || last - at < 7 || at[0] != ' ' || at[5] != ' ') return std::nullopt;
  one.readable = at[1] == 'r';
  one.executable = at[3] == 'x';
  at = number(at + 6, one.offset);
  if (!at) return std::nullopt;
  // The device and the inode come before the name.
  std::size_t begin = static_cast<std::size_t>(at - line.data());
  for (int field = 0; field < 2 && begin != std::string_view::npos; ++field) {
    begin = line.find(' ', line.find_first_not_of(' ', begin));
  }
  begin = begin == std::string_view::npos ? begin : line.find_first_not_of(' ', begin);
  if (begin != std::string_view::npos) one.name = line.substr(begin);
  return one;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
