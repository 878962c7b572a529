// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "tenon/host/files/quoted.hpp"

namespace tenon {

/// `text` as one line that cannot drive a terminal: a blank for each line feed, and '?' for each
/// other control character and each byte that is not UTF-8.
[[nodiscard]] inline std::string printable(std::string_view text) {
  return host::printable(text, text.size(), ' ');
}

}  // namespace tenon
