// SPDX-License-Identifier: MIT
// What the three applications print.
#pragma once

#include <charconv>
#include <cstdio>
#include <string_view>
#include <tenon/host.hpp>

/// Prints a text and a number, in the fewest digits that give the number back.
inline void print(std::string_view text, float number) {
  char digits[64];
  const char* end = std::to_chars(digits, digits + 64, number, std::chars_format::fixed).ptr;
  std::printf("%.*s: %.*s\n", static_cast<int>(text.size()), text.data(),
              static_cast<int>(end - digits), digits);
}

/// Prints a failure; returns what `main` returns.
inline int finish(const char* application, const tenon::Status& status) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", application, tenon::describe(status).c_str());
  return 1;
}
