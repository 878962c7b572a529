// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "tenon/host/files/quoted.hpp"

namespace tenon::inline TENON_RELEASE {

/// `text` as one line that cannot drive a terminal: see host::printable. Texts of failures are
/// printable already; the names that programs print for themselves, and lines of a message that
/// were taken apart, are not.
[[nodiscard]] inline std::string printable(std::string_view text) {
  return host::printable(text, text.size());
}

}  // namespace tenon::inline TENON_RELEASE
