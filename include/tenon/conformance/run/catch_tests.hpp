// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "tenon/conformance/catch.hpp"
#include "tenon/conformance/run/embed.hpp"
#include "tenon/conformance/run/test.hpp"

/// Every test of the kit as a test of Catch2. Compiled with the program also in the compiled mode,
/// so that the program chooses its version of Catch2.
namespace tenon::conformance::detail {

/// The body of all of them. Each violated rule fails the test.
inline void run_in_catch() {
  const auto name = Catch::getResultCapture().getCurrentTestName();
  for (const EmbeddedResult& result : run_embedded(static_cast<std::string>(name))) {
    INFO(result.path);
    for (const std::string& text : result.failures) FAIL_CHECK(text);
    for (const std::string& text : result.expected) WARN(text);
    if (result.failures.empty()) SUCCEED(result.path);
  }
}

inline void add_to_catch(const TestInfo& test) {
  // Names and tags are string literals, and so end with a zero.
  REGISTER_TEST_CASE(run_in_catch, test.name.data(), test.tags.data());
}

inline const bool is_added_to_catch = (for_each_test(&add_to_catch), true);

}  // namespace tenon::conformance::detail
