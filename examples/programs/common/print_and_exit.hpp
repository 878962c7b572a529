// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace tenon::inline TENON_RELEASE {

/// The result of `--help` and `--version`: a text to print, and nothing else to do.
struct PrintAndExit {
  std::string text;
};

}  // namespace tenon::inline TENON_RELEASE
