// SPDX-License-Identifier: MIT
//
// Hints of the application, of a load and between runs.
#include <memory>
#include <string>
#include <utility>

#include "control_support.hpp"
#include "plugins/pooled/pooled.hpp"
#include "tenon/abi/extensions/scheduling.h"
#include "tenon/abi/static_plugin.h"

TENON_DECLARE_STATIC_PLUGIN(PooledLeft);

using namespace tenon;
using namespace tenon::test;

namespace scheduling_test {

const host::BackendRegistry& registry() {
  static host::BackendRegistry out;
  static const bool added = out.register_backend(tenon_static_plugin_PooledLeft).ok() &&
                            out.register_backend(tenon_static_plugin_TestBackend).ok();
  REQUIRE(added);
  return out;
}

/// A method of one delegate.
std::unique_ptr<host::Method> method_of(const std::string& backend, const std::string& blob,
                                        const Scheduling& scheduling) {
  host::MethodOptions options;
  options.registry = &registry();
  options.layers.add(host::SchedulingHints(scheduling));
  return one_delegate(backend, blob, std::move(options));
}

}  // namespace scheduling_test
using namespace scheduling_test;

TEST_CASE("a backend gets the hints of a load, and none without", "[scheduling]") {
  const Scheduling hints{Priority::High, Goal::Latency, Power::Balanced};
  for (const char* backend : {"PooledLeft", "PooledRight"}) {
    static_cast<void>(method_of(backend, "rows 1", hints));
    CHECK(pooled_record().scheduling == hints);
    static_cast<void>(method_of(backend, "rows 1", {}));
    CHECK(pooled_record().scheduling == Scheduling());
  }
}

TEST_CASE("values that are not known leave a hint open", "[scheduling]") {
  tenon_scheduling raw{sizeof raw, 77, TENON_GOAL_THROUGHPUT, TENON_POWER_LOW};
  CHECK(tenon::detail::to_scheduling(&raw) ==
        Scheduling{.goal = Goal::Throughput, .power = Power::Low});
  raw.struct_size = 8;  // Of a host with priorities alone.
  raw.priority = TENON_PRIORITY_LOW;
  CHECK(tenon::detail::to_scheduling(&raw) == Scheduling{.priority = Priority::Low});
  CHECK(tenon::detail::to_scheduling(nullptr) == Scheduling());
}

TEST_CASE("hints change between runs where the backend can", "[scheduling]") {
  const auto method = method_of("PooledLeft", "rows 1", {.priority = Priority::Low});
  pooled_record().num_set = 0;
  REQUIRE(method->set_scheduling({.priority = Priority::High}).ok());
  CHECK(pooled_record().num_set == 1);
  CHECK(pooled_record().scheduling == Scheduling{.priority = Priority::High});
  REQUIRE(method->execute().ok());
  CHECK(floats(method->output(0)) == std::vector<float>{65, 66, 67, 68});

  const Status refused = method->set_scheduling({.power = Power::Low});
  CHECK(refused.error() == Error::InvalidState);
  CHECK(refused.text() == "delegate 0: set_scheduling: little power");
  REQUIRE(method->execute().ok());
}

TEST_CASE(
    "hints of a loaded delegate that are fixed are not supported, and hints of a backend "
    "without the extension are nothing",
    "[scheduling]") {
  const auto fixed = method_of("PooledRight", "rows 1", {});
  const Status refused = fixed->set_scheduling({.goal = Goal::Latency});
  CHECK(refused.error() == Error::NotSupported);
  CHECK(refused.text() ==
        "delegate 0: backend PooledRight fixes the scheduling of a delegate when it is loaded");
  const auto without = load_ok(chain_of({"a"}));
  CHECK(without->set_scheduling({.goal = Goal::Latency}).ok());
}
