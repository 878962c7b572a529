// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/conformance/run/subject.hpp"
#include "tenon/core/status.hpp"

/// The suites inside an author's own test program.
namespace tenon::conformance {

/// Sets the plugin that the suites judge, in place of the one that the environment's variable
/// TENON_CONFORMANCE_SUBJECT names by its subject file. Call it before tests run.
///
/// errors: those of `complete_subject`.
Status set_subject(Subject subject);

namespace detail {

/// The results of a test for one backend or case.
struct EmbeddedResult {
  std::string path;                   ///< Of the test; empty when there is no subject.
  std::vector<std::string> failures;  ///< Violated rules with their sentences, and other failures:
                                      ///< a test that was blocked, or that passed although the
                                      ///< subject file expects a failure.
  std::vector<std::string> expected;  ///< Violations that the subject file expects.
};

/// Runs the test with that name for each backend and case of the subject, one after the other in
/// this process.
[[nodiscard]] std::vector<EmbeddedResult> run_embedded(std::string_view name);

}  // namespace detail
}  // namespace tenon::conformance
