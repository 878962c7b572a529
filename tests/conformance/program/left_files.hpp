// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Judges the files that tests left in their directories for temporary files, once for all: those
/// that the subject does not declare are one finding, of the first test that left some. So a
/// runtime with one side effect does not make every test fail.
void judge_left_files(const Subject& subject, std::vector<TestResult>& results);

/// InvalidArgument, with its place, for a declaration of left files that none of `results` left,
/// all of one run with every test of its level: it is misspelt, or the plugin was repaired.
[[nodiscard]] Status check_left_files(const Subject& subject,
                                      const std::vector<TestResult>& results);

}}}  // namespace tenon::TENON_RELEASE::conformance
