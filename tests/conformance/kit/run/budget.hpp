// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "kit/run/plan.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/conformance/test.hpp"

/// How often tests repeat what a slow `init` makes long. A subject that declares `init_ms` gets
/// fewer rounds, so that each test fits its budget (`seconds_per_test`).
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The calls of `init` of one test: `once`, and `per_round` in each round.
struct RepeatedLoads {
  std::string_view test;  ///< Its id.
  int once;
  int per_round;
  int rounds;        ///< Below level 7, without a budget.
  int rounds_at_7;   ///< From level 7 on.
  int rounds_at_10;  ///< At level 10.
};

inline constexpr std::array<RepeatedLoads, 11> repeated_loads = {{
    {"lifecycle/loads-repeatedly", 1, 1, 4, 4, 99},
    {"lifecycle/other-programs-between", 1, 2, 4, 12, 50},
    {"lifecycle/delegates-are-independent", 1, 1, 6, 6, 64},
    {"blobs/refuses-damaged-blob", 2, 1, 66, 590, 7200},
    {"leaks/load-and-destroy", 2, 3, 20, 20, 333},
    {"leaks/destroy-after-run", 2, 3, 10, 10, 166},
    {"leaks/failed-init", 6, 12, 10, 10, 166},
    {"leaks/destroy-after-failure", 4, 9, 10, 10, 166},
    {"threads/delegates-run-concurrently", 6, 4, 20, 20, 200},
    {"threads/load-run-destroy", 6, 4, 20, 20, 200},
    {"threads/load-while-running", 6, 4, 20, 20, 200},
}};

/// The entry of the test with that id; does not compile when there is none.
[[nodiscard]] consteval RepeatedLoads loads_of(std::string_view test) {
  for (const RepeatedLoads& one : repeated_loads) {
    if (one.test == test) return one;
  }
  throw "not a test of repeated_loads";
}

/// The rounds of a test for a backend, at `level`: what the backend's budget has room for, but at
/// least 4, and at most those without a budget.
[[nodiscard]] constexpr int rounds_of(const RepeatedLoads& loads, const SubjectBackend& backend,
                                      int level) noexcept {
  const int all = level >= 10 ? loads.rounds_at_10 : level >= 7 ? loads.rounds_at_7 : loads.rounds;
  if (!backend.init_ms || *backend.init_ms == 0) return all;
  const double init = static_cast<double>(*backend.init_ms) / 1000;
  const double left = static_cast<double>(backend.seconds_per_test) - init * loads.once;
  const double fit = left / (init * loads.per_round);
  return std::clamp(fit >= all ? all : static_cast<int>(std::max(fit, 0.0)), std::min(4, all), all);
}

[[nodiscard]] inline int rounds_of(const RepeatedLoads& loads, const Context& kit) {
  return rounds_of(loads, kit.backend(), kit.options().level);
}

/// The seconds that the calls of `init` of one test take, from the declared `init_ms`; 0 without
/// it. A test of a case that is not in the table makes a few, and counts as four.
[[nodiscard]] inline double expected_seconds(const PlannedTest& test, int level) noexcept {
  if (!test.of_case || !test.backend || !test.backend->init_ms) return 0;
  double count = 4;
  for (const RepeatedLoads& one : repeated_loads) {
    if (one.test != test.info->id) continue;
    count = one.once + one.per_round * rounds_of(one, *test.backend, level);
  }
  return count * static_cast<double>(*test.backend->init_ms) / 1000;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
