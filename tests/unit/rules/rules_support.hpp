// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "support/catch.hpp"

/// `text` with "TN-" for each "@": ids of rules that do not exist, which must not be
/// written in a source.
[[nodiscard]] inline std::string ids(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '@' ? std::string("TN-") : std::string(1, c);
  return out;
}
