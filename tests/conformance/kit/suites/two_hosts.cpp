// SPDX-License-Identifier: MIT
#include <memory>
#include <string>
#include <string_view>

#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"

/// Part of suite "lifecycle": programs of two hosts of one process, of which one closes the
/// backend. What a runtime has once in a process, such as a logger or an environment, must not
/// belong to the host that made it.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(two_hosts)

namespace {

/// A host with the case loaded in it.
class HostOfCase {
 public:
  explicit HostOfCase(Context& kit) : kit_(kit), live_(kit) {}

  void load() { method_ = live_.load(); }

  /// Runs the case in the method that is loaded. Returns the first failure or wrong output.
  [[nodiscard]] std::string first_difference() { return live_.first_difference(*method_); }

  /// Runs the case in a method that is loaded now, and returns the first failure or wrong output.
  [[nodiscard]] std::string first_difference_of_new() {
    auto method = CaseMethod::load(live_.program(), live_.backend(), kit_.backend());
    return method.ok() ? live_.first_difference(**method) : std::string(method.text());
  }

  void unload() { method_.reset(); }
  /// After `unload`.
  void close() { live_.backend().close(); }

 private:
  Context& kit_;
  LiveCase live_;
  std::unique_ptr<CaseMethod> method_;  // Destroyed first.
};

/// Opens the backend in two hosts, runs the case in both, and closes the first or the second one.
/// The other one must then run its program, and load and run another.
void close_one_of_two_hosts(Context& kit, bool first_closes) {
  HostOfCase first(kit);
  first.load();
  if (const std::string alone = first.first_difference(); !alone.empty()) {
    kit.blocked("the case is wrong in one host: ", alone);
  }
  HostOfCase second(kit);
  second.load();
  const std::string together = second.first_difference();
  if (!kit.expect("TN-BCK-9", together.empty(),
                  "the program of a second host is wrong: ", together)) {
    return;
  }
  HostOfCase& closes = first_closes ? first : second;
  HostOfCase& stays = first_closes ? second : first;
  // A state of the case begins anew with each load: each run must give the outputs of the first
  // run.
  const auto load_anew = [&] {
    stays.unload();
    stays.load();
  };
  load_anew();
  closes.unload();
  if (const std::string disturbed = stays.first_difference(); !disturbed.empty()) {
    kit.blocked("a program is wrong once another is destroyed: ", disturbed);
  }
  load_anew();
  closes.close();
  const std::string_view which =
      first_closes ? "the first of two hosts" : "the second of two hosts";
  const std::string before = stays.first_difference();
  kit.expect("TN-BCK-9", before.empty(), "once ", which,
             " has closed the backend, the program of the other is wrong: ", before);
  const std::string after = stays.first_difference_of_new();
  kit.expect("TN-BCK-9", after.empty(), "once ", which,
             " has closed the backend, a program that the other loads is wrong: ", after);
}

}  // namespace

TENON_CONFORMANCE_TEST("lifecycle/outlives-first-host",
                       "a host runs programs after the one that opened the backend first closed it",
                       "[lifecycle][level-3][case][TN-BCK-9]") {
  close_one_of_two_hosts(kit, true);
}

TENON_CONFORMANCE_TEST("lifecycle/outlives-second-host",
                       "a host runs programs after the one that opened the backend last closed it",
                       "[lifecycle][level-3][case][TN-BCK-9]") {
  close_one_of_two_hosts(kit, false);
}

}}}  // namespace tenon::TENON_RELEASE::conformance
