// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/core/result.hpp"

/// The coverage of a backend: the operators that it takes, by dtype, and whether its results equal
/// PyTorch's. docs/tools/coverage.md says what a cell means.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

struct Arguments;

/// One cell: an operator in one dtype.
enum class Coverage : std::uint8_t {
  right,      ///< Taken, compiled and run, with PyTorch's result within the kit's limits.
  in_cases,   ///< Not asked; cases that have it gave their expected results.
  wrong,      ///< Taken and run, with another result; or a case that has it failed.
  refused,    ///< Taken, and then `preprocess`, `init` or `execute` failed.
  crashed,    ///< Taken or asked, and the process ended or hung.
  not_taken,  ///< `partition` left it to others.
};

inline constexpr std::size_t num_coverages = 6;

/// "right", "in cases", ...: as in the reports.
[[nodiscard]] constexpr std::string_view coverage_name(Coverage coverage) noexcept {
  constexpr std::array<std::string_view, num_coverages> names = {
      "right", "in cases", "wrong", "refused", "crashed", "not taken"};
  return names[static_cast<std::size_t>(coverage)];
}

/// What is known of one backend.
struct CoverageMatrix {
  std::string plugin;               ///< Path of the plugin.
  std::string sha256;               ///< Of its file.
  std::string backend;              ///< Id.
  bool asked = false;               ///< It has a compiler, and was asked about each operator.
  std::vector<std::string> dtypes;  ///< Columns.
  std::set<std::string> core;       ///< Operators of the core ATen set.
  std::map<std::string, std::map<std::string, Coverage>> cells;  ///< By operator, then dtype.
  std::map<std::string, std::string> reasons;  ///< The first failure of an operator, if any.
};

/// The names of the dtypes that the kit's recorded programs have, in order.
[[nodiscard]] const std::vector<std::string>& coverage_dtypes();

/// Asks each backend of the subject, in processes of its own, about each recorded operator, and
/// adds what the cases recorded of theirs, with the results of `judged`.
///
/// errors: AccessFailed when no process can be started; Internal for damaged records.
[[nodiscard]] Result<std::vector<CoverageMatrix>> cover(const Arguments& arguments,
                                                        const Subject& subject,
                                                        const SubjectReport& judged);

/// Asks one backend about the recorded operators from number `arguments.coverage_from` on, in this
/// process, and writes the cells to `--channel`.
[[nodiscard]] Status run_coverage(Arguments arguments);

/// The matrices as one page, without anything that differs from run to run.
[[nodiscard]] std::string coverage_markdown(const std::vector<CoverageMatrix>& matrices);
[[nodiscard]] std::string coverage_html(const std::vector<CoverageMatrix>& matrices);

}}}  // namespace tenon::TENON_RELEASE::conformance
