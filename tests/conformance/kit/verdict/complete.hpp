// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/status.hpp"

/// Whether a report has the tests that its run must have had.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// One test of the kit, for readers of reports, who have no suites.
struct KitTest {
  std::string_view id;     ///< "arguments/leaves-inputs-unchanged".
  int level;               ///< The lowest that runs it.
  Scope scope;             ///< Once, for each backend or case.
  std::string_view rules;  ///< "TN-EXE-2 TN-EXE-3".
};

/// All tests of the kit, in the order of their suites, from which the build reads them
/// (rulebook.py).
[[nodiscard]] std::span<const KitTest> kit_tests() noexcept;

inline constexpr int highest_level = 10;

/// Whether `subject` has each of `tests` up to `level` exactly once for its plugin, for each of its
/// backends, or for each case of a backend, whichever the test is of, with the rules of the kit,
/// and no other test. The cases are those that the report has tests of. Further repetitions
/// (`--repeat`) may be there. `backends` come from the plugin's own record.
///
/// errors: InvalidArgument, with the path of the first test that is missing, there twice, or not
///         the kit's, or with the backend that the report leaves out.
[[nodiscard]] Status check_complete(const SubjectReport& subject, int level,
                                    std::span<const std::string> backends,
                                    std::span<const KitTest> tests = kit_tests());

}}}  // namespace tenon::TENON_RELEASE::conformance
