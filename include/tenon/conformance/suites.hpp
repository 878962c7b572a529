// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "tenon/conformance/catch.hpp"
#include "tenon/conformance/subject.hpp"  // IWYU pragma: export
#include "tenon/conformance/test.hpp"

/// All suites of the kit as tests of Catch2, for an author's own test program: include this in one
/// source. `set_subject` sets the subject, or the environment's variable TENON_CONFORMANCE_SUBJECT
/// names a subject file that names its plugin.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance::detail {

[[maybe_unused]] static const bool suites_are_linked = (link_suites(), true);

// Here and not in the library, so that the program chooses its version of Catch2.

/// The body of all tests of Catch2. Each violated rule fails the test.
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

}}}  // namespace tenon::TENON_RELEASE::conformance::detail
