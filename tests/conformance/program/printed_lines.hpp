// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Keeps what each function of the plugin wrote to the standard streams as one finding, of the
/// first test that has it: a runtime that prints a line whenever it loads a model does not make
/// every test fail. Tests whose failure is declared keep theirs.
void judge_printed_lines(const Subject& subject, std::vector<TestResult>& results);

/// InvalidArgument, with its place, for a declaration of lines that none of `results` printed, all
/// of one run with every test of its level: it is misspelt, or the plugin was repaired.
[[nodiscard]] Status check_printed_lines(const Subject& subject,
                                         const std::vector<TestResult>& results);

}}}  // namespace tenon::TENON_RELEASE::conformance
