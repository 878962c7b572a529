// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/conformance/case_method.hpp"
#include "tenon/conformance/context.hpp"
#include "tenon/conformance/loaded_plugin.hpp"

namespace tenon::conformance {

/// A case with the subject's backend, loaded and run by the tests of it. Ends the test where the
/// case cannot be judged here; that it can be loaded and runs right is judged by "numerics".
class LiveCase {
 public:
  explicit LiveCase(Context& kit, const HostShape& shape = {})
      : kit_(kit),
        program_(kit.need(CaseProgram::open(kit.of_case()), "the case")),
        backend_(kit, shape) {
    const Status available = backend_.backend().is_available();
    if (!available.ok()) kit.not_applicable(available.text());
  }

  [[nodiscard]] std::unique_ptr<CaseMethod> load() {
    return kit_.need(CaseMethod::load(program_, backend_, kit_.backend()),
                     "the case is not loaded");
  }
  /// Executes the runs of the case up to the first one that needs a fresh method.
  std::vector<std::vector<std::byte>> run(CaseMethod& method) {
    std::vector<std::vector<std::byte>> out;
    for (const CaseRun& run : method.runs()) {
      if (run.fresh && !out.empty()) break;
      kit_.need(method.execute(run), "the case does not run");
      out.push_back(kit_.need(method.output_bytes(), "the outputs of the case"));
    }
    return out;
  }
  /// Whether the first run of the case gives what it expects, within the tolerance: a sentence when
  /// not, empty when it does or nothing is expected. A failure is a sentence, too.
  [[nodiscard]] std::string first_difference(CaseMethod& method) {
    const Status outcome = method.execute(method.runs().front());
    if (!outcome.ok()) return std::string(outcome.text());
    const auto differences = kit_.need(
        method.differences(method.runs().front(), kit_.backend().tolerances_for(kit_.of_case())),
        "the outputs of the case");
    return differences.empty() ? std::string() : differences.front();
  }

  [[nodiscard]] OpenedBackend& backend() noexcept { return backend_; }
  [[nodiscard]] Boundary& boundary() noexcept { return backend_.boundary(); }
  [[nodiscard]] const CaseProgram& program() const noexcept { return program_; }

 private:
  Context& kit_;
  CaseProgram program_;
  OpenedBackend backend_;
};

}  // namespace tenon::conformance
