// SPDX-License-Identifier: MIT
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/abi/extensions/scheduling.h"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/application/scheduling.hpp"
#include "tenon/host/layers/scheduling/scheduling_hints.hpp"

/// Suite "scheduling": hints of the application (abi/extensions/scheduling.h).
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(scheduling)

namespace {

/// Each value of each hint alone, values that no backend knows, and all together.
std::vector<Scheduling> schedulings() {
  constexpr std::uint32_t unknown = 77;
  std::vector<Scheduling> out;
  for (const std::uint32_t value : {1U, 2U, 3U, unknown}) {
    out.push_back({.priority = static_cast<Priority>(value)});
    out.push_back({.goal = static_cast<Goal>(value)});
    out.push_back({.power = static_cast<Power>(value)});
  }
  out.push_back({Priority::High, Goal::Throughput, Power::Low});
  return out;
}

std::string text_of(const Scheduling& scheduling) {
  const auto number = [](auto value) { return std::to_string(static_cast<std::uint32_t>(value)); };
  return "priority " + number(scheduling.priority) + ", goal " + number(scheduling.goal) +
         ", power " + number(scheduling.power);
}

/// The case of a backend that follows hints.
class ScheduledCase {
 public:
  explicit ScheduledCase(Context& kit) : kit_(kit), live_(kit) {
    table_ = live_.backend().backend().extension<tenon_scheduling_v1>(TENON_EXTENSION_SCHEDULING);
    if (!table_) kit.not_applicable("the backend does not offer " TENON_EXTENSION_SCHEDULING);
    const auto method = live_.load();
    if (const std::string text = live_.first_difference(*method); !text.empty()) {
      kit.blocked("without a scheduling the case fails: " + text);
    }
  }

  [[nodiscard]] const tenon_scheduling_v1& table() const noexcept { return *table_; }
  [[nodiscard]] LiveCase& live() noexcept { return live_; }

  /// Judges the first run of `method`, which has `scheduling`.
  void judge(CaseMethod& method, const Scheduling& scheduling) {
    const std::string text = live_.first_difference(method);
    kit_.expect("TN-SCH-2", text.empty(), "with ", text_of(scheduling), ": ", text);
  }

 private:
  Context& kit_;
  LiveCase live_;
  std::optional<tenon_scheduling_v1> table_;
};

}  // namespace

TENON_CONFORMANCE_TEST("scheduling/load", "methods are loaded with each hint, and run",
                       "[scheduling][level-5][case][TN-SCH-1][TN-SCH-2]") {
  ScheduledCase scheduled(kit);
  LiveCase& live = scheduled.live();
  for (const Scheduling& scheduling : schedulings()) {
    auto method = CaseMethod::load(live.program(), live.backend(), kit.backend(),
                                   {.layers = {host::SchedulingHints(scheduling)}});
    if (!method.ok()) {
      kit.violated("TN-SCH-1", "init fails with ", text_of(scheduling), ": ", method.text());
      continue;
    }
    scheduled.judge(**method, scheduling);
  }
}

TENON_CONFORMANCE_TEST("scheduling/change", "the hints of a loaded method change between its runs",
                       "[scheduling][level-5][case][TN-SCH-2][TN-SCH-3]") {
  ScheduledCase scheduled(kit);
  if (!scheduled.table().set_scheduling) {
    kit.not_applicable("the backend fixes the scheduling of a delegate when it is loaded");
  }
  LiveCase& live = scheduled.live();
  for (const Scheduling& scheduling : schedulings()) {
    const auto method = live.load();  // A case may have state.
    const Status set = method->method().set_scheduling(scheduling);
    if (set.ok()) {
      scheduled.judge(*method, scheduling);
      continue;
    }
    if (set.error() != Error::NotSupported) {
      kit.violated("TN-SCH-3", "set_scheduling fails with ", text_of(scheduling), ": ",
                   describe(set));
    }
    const std::string text = live.first_difference(*method);
    kit.expect("TN-SCH-3", text.empty(), "after set_scheduling failed with ", text_of(scheduling),
               ": ", text);
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance
