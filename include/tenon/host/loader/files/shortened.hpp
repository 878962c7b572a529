// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Bytes of the longest error text that a host returns. Texts are made of names in files and of
/// texts of plugins, neither of which the host chooses.
inline constexpr std::size_t max_error_text = 16384;

/// `text`, or when it has more than `longest` bytes its beginning and its end with the number of
/// the bytes between: "abc ... (900 bytes) ... xyz". Characters of UTF-8 stay whole. `longest` is
/// at least 64, and what is returned is not longer.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t longest = max_error_text);

/// Cuts the text of a failure to at most `max_error_text` bytes. Leaves success as it is.
[[nodiscard]] inline Status shortened(Status&& status) {
  if (status.text().size() <= max_error_text) [[likely]]
    return std::move(status);
  return Status(status.error(), shortened(status.text()));
}

}}}  // namespace tenon::TENON_RELEASE::host
