// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tenon/conformance/guarded_case.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/conformance/wrong_calls.hpp"

/// Suite "arguments", continued: what `execute` does with arguments that are not those that the
/// program was lowered for.
namespace tenon::conformance {

TENON_CONFORMANCE_TEST("wrong arguments are refused",
                       "[arguments][level-4][case][TN-EXE-5][TN-ERR-1][TN-ERR-2]") {
  GuardedCase guarded(kit);
  WrongCalls wrong(kit, guarded, *guarded.runs().front());
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const WrongAnswer answer = wrong.execute(i);
    kit.keep("TN-EXE-5", !answer.accepted, "execute succeeded though ", wrong[i].text);
  }
}

TENON_CONFORMANCE_TEST("a run that was refused leaves the next one as it was",
                       "[arguments][level-4][case][TN-EXE-3]") {
  GuardedCase guarded(kit);
  const CaseRun& run = *guarded.runs().front();
  const auto outputs = [&] { return kit.need(guarded.method().output_bytes(), "the outputs"); };
  guarded.need_execute(run);
  const std::vector<std::byte> expected = outputs();
  WrongCalls wrong(kit, guarded, run);
  // A program with state gives other outputs each time.
  const bool repeats = kit.backend().deterministic && outputs() == expected;
  const std::size_t step = kit.options().level >= 7 ? 1 : wrong.size() / 12 + 1;
  for (std::size_t i = 0; i < wrong.size(); i += step) {
    if (wrong.execute(i).accepted) kit.blocked("execute succeeded though ", wrong[i].text);
    const Status status = guarded.execute(run);
    if (!kit.keep("TN-EXE-3", status.ok(), "after a call was refused because ", wrong[i].text,
                  ", the next one with good arguments failed: ", status.text())) {
      return;
    }
    if (repeats && outputs() != expected) {
      kit.broke("TN-EXE-3", "after a call was refused because ", wrong[i].text,
                ", the next one gave other outputs than before");
      return;
    }
  }
}

}  // namespace tenon::conformance
