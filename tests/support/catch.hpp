// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

// Catch2 2.13 and 3 name their headers differently; the tests use what both have.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
inline auto ContainsSubstring(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif

namespace tenon::test {

/// Checks that `function` makes the second text of each pair of the first.
template <class Function>
void check_texts(const Function& function,
                 std::initializer_list<std::pair<const char*, const char*>> cases) {
  for (const auto& [given, expected] : cases) {
    INFO(given);
    CHECK(function(given) == expected);
  }
}

}  // namespace tenon::test
