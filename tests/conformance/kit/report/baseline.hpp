// SPDX-License-Identifier: MIT
//
// This directory: reports of a run in every format, and the comparison with an older run.
#pragma once

#include <string>
#include <vector>

#include "tenon/conformance/result.hpp"

/// Compares a run with an older one: a gate that accepts what was bad before, and nothing that
/// became worse.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The factor from which on a measurement counts as worse; `--baseline-factor` sets another.
inline constexpr double default_baseline_factor = 2;

/// One difference between two reports.
struct BaselineChange {
  std::string where;  ///< The test's path, or the id of a rule; after the plugin's name when the
                      ///< report has several.
  std::string text;   ///< "was passed, is failed: TN-EXE-2: input 1 ..."; one line.

  friend bool operator==(const BaselineChange&, const BaselineChange&) = default;
};

/// The differences between two reports. The first four are worse than before; the others are for
/// information.
struct BaselineComparison {
  std::vector<BaselineChange> newly_failing;  ///< Did not fail before, or were missing. A failure
                                              ///< that the subject file now expects is one too.
  std::vector<BaselineChange> vanished;       ///< Were judged before; are missing or not judged.
  std::vector<BaselineChange> newly_broken;   ///< Rules.
  std::vector<BaselineChange> worse_measurements;  ///< By at least the factor.

  std::vector<BaselineChange> newly_passing;
  std::vector<BaselineChange> notes;  ///< Differences of the runs themselves, such as the machine.

  /// Whether nothing is worse than before.
  [[nodiscard]] bool good() const {
    return newly_failing.empty() && vanished.empty() && newly_broken.empty() &&
           worse_measurements.empty();
  }
};

/// The differences of `now`. Tests are compared by `TestResult::path()`, or by their names in a
/// report without ids; measurements by name and unit. `factor` must be above 1.
[[nodiscard]] BaselineComparison compare(const Report& old, const Report& now,
                                         double factor = default_baseline_factor);

/// `comparison` for a terminal; its last line says whether anything is worse.
[[nodiscard]] std::string to_text(const BaselineComparison& comparison, bool color);

}}}  // namespace tenon::TENON_RELEASE::conformance
