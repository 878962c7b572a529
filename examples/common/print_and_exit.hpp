// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace tenon {

/// What `--help` and `--version` ask for: a text to print, and nothing else to do.
struct PrintAndExit {
  std::string text;
};

}  // namespace tenon
