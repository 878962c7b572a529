// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/conformance/case_method.hpp"
#include "tenon/conformance/live_case.hpp"
#include "tenon/conformance/loaded_plugin.hpp"
#include "tenon/conformance/test.hpp"

/// Suite "numerics": the outputs are those that a case expects. This suite alone says when a
/// program cannot be loaded or does not run; the others are blocked then.
namespace tenon::conformance {

TENON_CONFORMANCE_TEST("a program that was made for the backend is loaded",
                       "[numerics][level-2][case][TN-INI-7]") {
  const CaseProgram program = kit.need(CaseProgram::open(kit.of_case()), "the case");
  OpenedBackend backend(kit);
  const Status available = backend.backend().is_available();
  if (!available.ok()) kit.not_applicable(available.text());
  bool failed = false;
  std::string refused_by;
  backend.boundary().on_init = [&](InitCall& call) {
    const tenon_status status = call.forward();
    failed = failed || status != TENON_STATUS_OK;
    return status;
  };
  const auto method = CaseMethod::load(program, backend, kit.backend());
  if (method.ok()) return;
  if (!failed) kit.blocked("not the backend, but the host refuses the case: ", method.text());
  kit.broke("TN-INI-7", method.text());
}

TENON_CONFORMANCE_TEST("outputs are those that are expected",
                       "[numerics][level-2][case][TN-EXE-7]") {
  LiveCase live(kit);
  const Tolerances tolerances = kit.backend().tolerances_for(kit.of_case());
  bool executed = false;
  live.boundary().on_execute = [&](ExecuteCall& call) {
    executed = true;
    return call.forward();
  };
  auto method = live.load();
  std::size_t number = 0;
  for (const CaseRun& run : method->runs()) {
    if (run.fresh && number != 0) {
      method.reset();
      method = live.load();
    }
    const Status outcome = method->execute(run);
    ++number;
    if (!kit.keep("TN-EXE-7", outcome.ok(), "run ", number, " failed: ", outcome.text())) return;
    for (const std::string& text :
         kit.need(method->differences(run, tolerances), "the outputs of the case")) {
      kit.broke("TN-EXE-7", "run ", number, ": ", text);
    }
  }
  if (!executed) kit.blocked("the program runs without the backend: it has no delegate of it");
}

TENON_CONFORMANCE_TEST("the same inputs give the same outputs",
                       "[numerics][level-4][case][TN-EXE-8]") {
  LiveCase live(kit);
  if (!kit.backend().deterministic) kit.not_applicable("the backend is declared not deterministic");
  const auto expected = live.run(*live.load());
  const int times = kit.options().level >= 10 ? 50 : 5;
  for (int i = 2; i <= times; ++i) {
    const auto found = live.run(*live.load());
    for (std::size_t run = 0; run < std::min(found.size(), expected.size()); ++run) {
      const auto [a, b] = std::ranges::mismatch(found[run], expected[run]);
      if (a == found[run].end() && b == expected[run].end()) continue;
      kit.broke("TN-EXE-8", "run ", run + 1, " of load ", i, " differs from the first in byte ",
                a - found[run].begin(), " of the outputs");
    }
  }
}

}  // namespace tenon::conformance
