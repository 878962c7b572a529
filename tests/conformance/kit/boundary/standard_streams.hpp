// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tenon/conformance/subject.hpp"
#include "tenon/host/platform/file.hpp"
#include "tenon/host/platform/read_at.hpp"

/// Text on the standard streams of a process, where they are files.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Bytes in the files behind the two streams; 0 for streams that are not files.
[[nodiscard]] inline std::int64_t bytes_in_standard_streams() noexcept {
  using host::platform::FileKind;
  host::platform::FileStatus out;
  host::platform::FileStatus err;
  const bool has_out = host::platform::get_status(1, out) && out.kind == FileKind::regular;
  const bool has_err = host::platform::get_status(2, err) && err.kind == FileKind::regular;
  const bool is_one = has_out && has_err && out.identity.device == err.identity.device &&
                      out.identity.inode == err.identity.inode;
  return static_cast<std::int64_t>((has_out ? out.identity.size : 0) +
                                   (has_err && !is_one ? err.identity.size : 0));
}

/// The text behind the first `offset` bytes, up to 64 KiB, where both streams are one file that can
/// be read, as in a test's process; else nothing.
[[nodiscard]] inline std::string text_in_standard_streams(std::int64_t offset) {
  host::platform::FileStatus err;
  std::string out;
  if (!host::platform::get_status(2, err) ||
      static_cast<std::int64_t>(err.identity.size) != bytes_in_standard_streams() ||
      static_cast<std::int64_t>(err.identity.size) <= offset) {
    return out;
  }
  const auto rest = static_cast<std::size_t>(static_cast<std::int64_t>(err.identity.size) - offset);
  out.resize(std::min(rest, std::size_t{64} << 10));
  const std::ptrdiff_t size =
      host::read_at(2, std::as_writable_bytes(std::span(out)), static_cast<std::uint64_t>(offset));
  out.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return out;
}

/// Of a text on the standard streams: what its author does not declare.
struct UndeclaredText {
  std::int64_t declared_bytes = 0;  ///< Of the lines that are declared, with their line ends.
  std::string first_line;           ///< The first line that is not; without its line end.
};

[[nodiscard]] inline UndeclaredText undeclared_text(std::string_view text,
                                                    std::span<const PrintedLines> declared) {
  UndeclaredText out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view whole = text.substr(0, end + 1);
    const std::string line(whole.substr(0, whole.find('\n')));
    // Empty lines are parts of longer texts: no pattern can be about one alone.
    const bool is_declared = std::ranges::any_of(
        declared, [&](const PrintedLines& lines) { return line.empty() || lines.matches(line); });
    if (is_declared) {
      out.declared_bytes += static_cast<std::int64_t>(whole.size());
    } else if (out.first_line.empty()) {
      out.first_line = line;
    }
    text.remove_prefix(end + 1);
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
