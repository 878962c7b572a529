// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/case/input_sizes.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/compare.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/tensor.hpp"

/// Suite "numerics": the outputs are those that a case expects. Only this suite reports programs
/// that cannot be loaded or do not run; tests of other suites are blocked then.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(numerics)

TENON_CONFORMANCE_TEST("numerics/loads-own-program",
                       "a program that was made for the backend is loaded",
                       "[numerics][level-2][case][TN-INI-7]") {
  const CaseProgram program = kit.need(CaseProgram::open(kit.of_case()), "the case");
  OpenedBackend backend(kit);
  need_device(kit, backend);
  bool failed = false;
  std::string refused_by;
  backend.boundary().on_init = [&](WatchedInit& call) {
    const tenon_status status = call.forward();
    failed = failed || status != TENON_STATUS_OK;
    return status;
  };
  const auto method = CaseMethod::load(program, backend, kit.backend());
  if (method.ok()) return;
  if (!kit.findings().empty()) kit.blocked("another rule is broken: ", method.text());
  if (!failed) kit.blocked("not the backend, but the host refuses the case: ", method.text());
  kit.violated("TN-INI-7", method.text());
}

namespace {

/// Whether an output keeps the fill of its memory, for two different fills: then it was not
/// written, which the suite "arguments" judges.
[[nodiscard]] bool leaves_outputs(Context& kit, CaseMethod& method, const CaseRun& run) {
  std::vector<std::vector<std::byte>> seen;
  for (const std::byte fill : {std::byte{0x55}, std::byte{0xAA}}) {
    method.fill_outputs(fill);
    kit.need(method.execute(run), "a second run");
    seen.push_back(kit.need(method.output_bytes(), "the outputs"));
  }
  if (seen[0].size() != seen[1].size()) return false;
  for (std::size_t i = 0; i < seen[0].size(); ++i) {
    if (seen[0][i] == std::byte{0x55} && seen[1][i] == std::byte{0xAA}) return true;
  }
  return false;
}

/// Whether outputs change by themselves from what they were `before`: `execute` returned too early.
[[nodiscard]] bool completes_later(Context& kit, CaseMethod& method,
                                   const std::vector<std::byte>& before) {
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return kit.need(method.output_bytes(), "the outputs") != before;
}

/// The rule that a failed run violates: one about sizes, about runs after the first, or about
/// numbers.
[[nodiscard]] std::string_view rule_of_failed_run(LiveCase& live, const CaseMethod& method,
                                                  const CaseRun& run, std::size_t number) {
  if (number > 1) {
    const auto fresh = live.load();
    if (fresh->execute(run).ok()) return "TN-EXE-1";
  }
  return method.has_smaller_inputs() ? "TN-EXE-10" : "TN-EXE-7";
}

}  // namespace

TENON_CONFORMANCE_TEST("numerics/expected-outputs", "outputs are those that are expected",
                       "[numerics][level-2][case][TN-EXE-7][TN-EXE-1][TN-EXE-4][TN-EXE-10]"
                       "[TN-EXE-12]") {
  LiveCase live(kit);
  const Tolerances tolerances = kit.backend().tolerances_for(kit.of_case());
  bool executed = false;
  live.boundary().on_execute = [&](WatchedExecute& call) {
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
    if (!outcome.ok()) {
      if (!kit.findings().empty()) kit.blocked("another rule is broken: ", outcome.text());
      kit.violated(rule_of_failed_run(live, *method, run, number), "run ", number,
                   " failed: ", outcome.text());
      return;
    }
    // Taken first: what is written while they are compared is late too.
    const auto outputs = kit.need(method->output_bytes(), "the outputs");
    const auto wrong = kit.need(method->differences(run, tolerances), "the outputs of the case");
    if (!wrong.empty() && completes_later(kit, *method, outputs)) {
      kit.violated("TN-EXE-4", "the outputs of run ", number,
                   " changed after execute had returned");
      return;
    }
    if (!wrong.empty() && leaves_outputs(kit, *method, run)) {
      kit.blocked("the outputs of run ", number, " are not all written");
    }
    for (const OutputComparison& output : wrong) {
      kit.violated(output.is_void ? "TN-EXE-12" : "TN-EXE-7", "run ", number, ": ", output.text);
    }
  }
  if (!executed && live.boundary().watched().kernel_runs == 0) {
    kit.blocked("the program runs without the backend: it calls no delegate and no kernel of it");
  }
}

TENON_CONFORMANCE_TEST("numerics/repeatable-outputs", "the same inputs give the same outputs",
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
      kit.violated("TN-EXE-8", "run ", run + 1, " of load ", i, " differs from the first in byte ",
                   a - found[run].begin(), " of the outputs");
    }
  }
}

namespace {

/// Inputs of a case in sizes that no other entry has: a run's sizes, or the largest.
struct SizedInputs {
  const CaseRun* run;  ///< The run whose numbers they are.
  bool at_bounds;      ///< Its numbers, repeated up to the bounds.
};

[[nodiscard]] std::vector<std::int64_t> sizes_of_inputs(const host::Method& method) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < method.num_inputs(); ++i) {
    if (method.input(i).kind != TENON_VALUE_TENSOR) continue;
    const tenon_tensor& tensor = *method.input(i).as.tensor;
    out.insert(out.end(), tensor.dl.shape, tensor.dl.shape + tensor.dl.ndim);
  }
  return out;
}

/// Runs a case with inputs of one size after inputs of another.
class Sizes {
 public:
  Sizes(Context& kit, LiveCase& live)
      : kit_(kit), live_(live), most_(std::size_t{kit.options().level >= 10 ? 256U : 16U} << 20) {}

  /// The largest sizes, then the sizes of the runs of the case, at most `most_runs` of them.
  [[nodiscard]] std::vector<SizedInputs> all() {
    constexpr std::size_t most_runs = 4;
    const auto method = live_.load();
    std::vector<std::vector<std::int64_t>> seen;
    std::vector<SizedInputs> out;
    const auto add = [&](const SizedInputs& one) {
      std::vector<std::int64_t> sizes = sizes_of_inputs(method->method());
      if (std::ranges::find(seen, sizes) != seen.end()) return;
      seen.push_back(std::move(sizes));
      out.push_back(one);
    };
    const std::vector<const CaseRun*> runs = live_.runs();
    kit_.need(method->set_inputs(*runs.front()), "the inputs of the case");
    LargestInputs largest(method->method(), most_);
    kit_.need(largest.set(), "inputs at their bounds");
    if (largest.size() != 0) add({runs.front(), true});
    for (const CaseRun* run : runs) {
      if (out.size() > most_runs) break;
      kit_.need(method->set_inputs(*run), "the inputs of the case");
      add({run, false});
    }
    return out;
  }

  /// The outputs of `method` with `inputs`.
  [[nodiscard]] std::vector<std::byte> run(CaseMethod& method, const SizedInputs& inputs) {
    // Elements that a run leaves as they were are not what this test is about (TN-EXE-6).
    method.fill_outputs(std::byte{0});
    kit_.need(method.set_inputs(*inputs.run), "the inputs of the case");
    LargestInputs largest(method.method(), inputs.at_bounds ? most_ : 0);
    kit_.need(largest.set(), "inputs at their bounds");
    kit_.need(method.execute(), "a run of the case failed");
    return kit_.need(method.output_bytes(), "the outputs of the case");
  }

 private:
  Context& kit_;
  LiveCase& live_;
  std::size_t most_;
};

}  // namespace

TENON_CONFORMANCE_TEST("numerics/same-after-other-sizes",
                       "runs with other sizes do not change what inputs give",
                       "[numerics][level-5][case][TN-EXE-11]") {
  LiveCase live(kit);
  if (!kit.backend().deterministic) kit.not_applicable("the backend is declared not deterministic");
  if (std::ranges::any_of(kit.of_case().runs, &CaseRun::fresh)) {
    kit.not_applicable("the program has state: runs of the case need it fresh");
  }
  Sizes sizes(kit, live);
  const std::vector<SizedInputs> all = sizes.all();
  if (all.size() < 2) kit.not_applicable("the case and its bounds have one size alone");
  std::vector<std::vector<std::byte>> expected;
  for (const SizedInputs& inputs : all) {
    const auto method = live.load();
    expected.push_back(sizes.run(*method, inputs));
    if (sizes.run(*method, inputs) != expected.back()) {
      kit.not_applicable("the program has state: the same inputs give other outputs");
    }
  }
  // From the largest sizes to the smaller ones and back, twice, so that each pair of neighbours is
  // run in both orders.
  const auto method = live.load();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < all.size(); ++i) order.push_back(i);
  for (std::size_t i = all.size() - 1; i-- > 0;) order.push_back(i);
  order.insert(order.end(), order.begin() + 1, order.end());
  for (std::size_t step = 0; step < order.size(); ++step) {
    const std::vector<std::byte> found = sizes.run(*method, all[order[step]]);
    const std::vector<std::byte>& wanted = expected[order[step]];
    const auto [a, b] = std::ranges::mismatch(found, wanted);
    if (a == found.end() && b == wanted.end()) continue;
    kit.violated("TN-EXE-11", "run ", step + 1, ", with sizes ",
                 shape_text(sizes_of_inputs(method->method())),
                 " after other sizes, differs from a first run with them in byte ",
                 a - found.begin(), " of the outputs");
    return;
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance
