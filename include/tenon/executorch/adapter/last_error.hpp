// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/platform/log.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/abi/host.h"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge {

namespace detail {

inline Status& last_failure() noexcept {
  thread_local Status failure;
  return failure;
}

/// How much of `text` fits into one line of ExecuTorch's log: up to a line break, to the last space
/// when it is long, and never inside a character.
inline std::size_t log_piece(std::string_view text, std::size_t limit) noexcept {
  const std::size_t line = std::min(text.find('\n'), text.size());
  if (line <= limit) return line;
  if (const std::size_t space = text.rfind(' ', limit); space != std::string_view::npos && space) {
    return space;
  }
  std::size_t end = limit;
  while (end > 1 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;
  return end;
}

}  // namespace detail

/// The last failure of an adapted backend on this thread. ExecuTorch's functions return its number
/// alone; the text is kept here until the next failure, or until it is cleared. Ok when there was
/// no failure. Valid until the next call into ExecuTorch on this thread.
[[nodiscard]] inline const Status& last_error() noexcept { return detail::last_failure(); }

/// Clears the last failure of this thread, so that `last_error` reports later ones alone.
inline void clear_last_error() noexcept { detail::last_failure() = Status(); }

/// Writes `text` to ExecuTorch's log; `level` is a TENON_LOG_.... A line there is cut at 255 bytes,
/// so a long text becomes several.
inline void log_text(std::int32_t level, std::string_view text) noexcept {
  constexpr std::size_t limit = 240;
  while (!text.empty()) {
    const std::size_t size = detail::log_piece(text, limit);
    const auto length = static_cast<int>(size);
    if (level >= TENON_LOG_ERROR) {
      ET_LOG(Error, "tenon: %.*s", length, text.data());
    } else if (level == TENON_LOG_INFO) {
      ET_LOG(Info, "tenon: %.*s", length, text.data());
    } else {
      ET_LOG(Debug, "tenon: %.*s", length, text.data());
    }
    text.remove_prefix(size);
    if (!text.empty() && (text.front() == '\n' || text.front() == ' ')) text.remove_prefix(1);
  }
}
inline void log_error(std::string_view text) noexcept { log_text(TENON_LOG_ERROR, text); }

}}}  // namespace tenon::TENON_RELEASE::bridge
