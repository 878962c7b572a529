// SPDX-License-Identifier: MIT
//
// What a method takes: estimated before it is loaded, counted after, and held to a budget.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/host/layers/budget/budget.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "unit/host/loader/method/method_support.hpp"

using namespace tenon;
using namespace tenon::test;
using host::DeviceBytes;
using host::Method;

namespace memory_test {

constexpr tenon_dl_device the_cpu{TENON_DL_CPU, 0};
constexpr tenon_dl_device the_cuda{TENON_DL_CUDA, 0};

/// A program with one delegate of "Hungry" (test_backend.cpp) for each blob.
ProgramBuilder hungry(const std::vector<std::string>& blobs) { return chain_of(blobs, "Hungry"); }

host::MethodOptions with_budget(std::vector<DeviceBytes> budget) {
  auto options = with_registry();
  options.layers.add(host::Budget(std::move(budget)));
  return options;
}

/// The estimate of a whole method, as an application makes it.
host::MethodEstimate estimate_of(const ProgramBuilder& builder) {
  const auto program = open_program(builder);
  const schema::ExecutionPlan& plan = **program->plan("forward");
  host::MethodEstimate out = host::estimate_host(plan);
  for (const auto* delegate : *plan.delegates()) {
    const auto backend = test_registry().lookup_backend(delegate->id()->string_view());
    REQUIRE(backend.ok());
    auto estimate = host::estimate_delegate(**backend, *program, "forward", *delegate, nullptr);
    INFO(estimate.text());
    REQUIRE(estimate.ok());
    out.delegates.push_back(*std::move(estimate));
  }
  return out;
}

std::uint64_t on(const std::vector<DeviceBytes>& totals, tenon_dl_device device) {
  for (const DeviceBytes& entry : totals) {
    if (entry.device.device_type == device.device_type) return entry.nbytes;
  }
  return 0;
}

std::size_t num_inits() {
  return static_cast<std::size_t>(std::ranges::count(calls(), "init of Hungry"));
}

}  // namespace memory_test
using namespace memory_test;

TEST_CASE("an estimate has the host's own memory and what the backends state", "[method][memory]") {
  const auto estimate = estimate_of(hungry({"0 0 1000 2000 30", "0 0 50 0 0", "0 0 -1 0 0"}));
  REQUIRE(estimate.planned.size() == 1);
  CHECK(estimate.planned[0].nbytes == 32);
  CHECK(estimate.tables > 0);
  REQUIRE(estimate.delegates.size() == 3);
  REQUIRE(estimate.delegates[0].needs.size() == 2);
  CHECK(estimate.delegates[0].needs[0].workspace == 1000);
  CHECK(estimate.delegates[0].needs[0].session == 30);
  CHECK(estimate.delegates[0].needs[1].weights == 2000);
  CHECK(estimate.delegates[1].is_stated);
  CHECK_FALSE(estimate.delegates[2].is_stated);
  CHECK(on(estimate.totals(), the_cpu) == 32 + estimate.tables + 1050);
  CHECK(on(estimate.totals(), the_cuda) == 2000);
}

TEST_CASE("memory that only a run can show counts as none and makes an estimate incomplete",
          "[method][memory]") {
  const auto estimate = estimate_of(hungry({"0 0 -2 9 0", "0 0 5 0 0"}));
  CHECK(estimate.delegates[0].is_stated);
  CHECK_FALSE(estimate.delegates[0].is_complete);
  CHECK(estimate.delegates[1].is_complete);
  CHECK(on(estimate.totals(), the_cpu) == 32 + estimate.tables + 5);
  CHECK(on(estimate.totals(), the_cuda) == 9);
}

TEST_CASE("a backend without the extension states nothing", "[method][memory]") {
  const auto estimate = estimate_of(chain_of({"a"}));
  REQUIRE(estimate.delegates.size() == 1);
  CHECK_FALSE(estimate.delegates[0].is_stated);
  CHECK(estimate.delegates[0].backend_id == "Test");
}

TEST_CASE("a method reports its memory: the host's exactly, the backends' as they say",
          "[method][memory]") {
  const auto builder = hungry({"100000 5000 100000 0 0", "0 0 0 0 0"});
  const auto estimate = estimate_of(builder);
  const auto method = load_ok(builder, with_budget({{the_cpu, on(estimate.totals(), the_cpu)}}));
  const auto before = method->memory_info();
  REQUIRE(before.ok());
  REQUIRE(before->planned.size() == 1);
  CHECK(before->planned[0].nbytes == 32);
  CHECK(before->tables <= estimate.tables);
  CHECK(before->temp == 0);
  REQUIRE(before->delegates.size() == 2);
  CHECK(before->delegates[0].is_reported);
  CHECK(before->delegates[0].lent >= 100000);
  CHECK(before->delegates[0].lent < 100000 + 64);
  REQUIRE(before->delegates[0].held.size() == 2);
  CHECK(before->delegates[0].held[0].workspace == 100000);
  CHECK(before->delegates[0].held[1].device.device_type == TENON_DL_CUDA);
  CHECK(before->delegates[0].held[1].weights == 7);
  REQUIRE(before->backends.size() == 1);
  CHECK(before->backends[0].held.at(0).workspace == 11);
  CHECK(before->delegates[0].host_bytes() == before->delegates[0].lent);
  CHECK(before->delegates[1].lent == 0);
  CHECK(before->host_bytes() <= on(estimate.totals(), the_cpu) + 64);
}

TEST_CASE("temporary memory of runs is reported and counts", "[method][memory]") {
  const auto method = load_ok(hungry({"0 5000 0 0 0"}));
  REQUIRE(set_floats(*method, 0, std::vector<float>{1, 2, 3, 4}, {4}).ok());
  REQUIRE(method->execute().ok());
  const auto after = method->memory_info();
  REQUIRE(after.ok());
  CHECK(after->temp >= 5000);
}

TEST_CASE("what fits exactly is loaded, one byte less is refused by name before init",
          "[method][memory]") {
  const auto builder = hungry({"100000 0 100000 3000 0", "0 0 500 0 0"});
  const auto estimate = estimate_of(builder);
  const std::uint64_t needed = on(estimate.totals(), the_cpu);
  CHECK(load(builder, with_budget({{the_cpu, needed}, {the_cuda, 3000}})).ok());

  calls().clear();
  const auto refused = load(builder, with_budget({{the_cpu, needed - 1}}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error() == Error::OutOfResources);
  CHECK(refused.text() ==
        concat("test.pte: method forward: budget of CPU: needs ", needed,
               " bytes (planned memory 32, tables ", estimate.tables,
               ", delegate 0 (Hungry) 100000, delegate 1 (Hungry) 500), the budget is ",
               needed - 1));
  const auto on_device = load(builder, with_budget({{the_cuda, 2999}}));
  REQUIRE_FALSE(on_device.ok());
  CHECK(on_device.text() ==
        "test.pte: method forward: budget of CUDA device 0: needs 3000 bytes (delegate 0 (Hungry) "
        "3000), the budget is 2999");
  CHECK(num_inits() == 0);
}

TEST_CASE("the host's own memory is refused before a plugin is asked", "[method][memory]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  plan.buffer(1 << 20);
  const auto refused = load(builder, with_budget({{the_cpu, 1 << 20}}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error() == Error::OutOfResources);
  CHECK(refused.text().find("planned memory 1048576, tables ") != std::string::npos);
}

TEST_CASE("a backend that takes more from the host than it stated is held to the budget",
          "[method][memory]") {
  const auto builder = hungry({"200000 0 100 0 0"});
  const std::uint64_t stated = on(estimate_of(builder).totals(), the_cpu);
  CHECK(load(builder, with_budget({{the_cpu, stated + 200000}})).ok());
  const auto refused = load(builder, with_budget({{the_cpu, stated + 1000}}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error() == Error::OutOfResources);
  CHECK(refused.text().find("budget of CPU: needs ") != std::string::npos);
  CHECK(refused.text().find("delegate 0 (Hungry): init: ") != std::string::npos);
}

TEST_CASE("a run whose temporary memory is above the budget fails, and the method stays usable",
          "[method][memory]") {
  const auto builder = hungry({"0 100000 0 0 0"});
  const std::uint64_t stated = on(estimate_of(builder).totals(), the_cpu);
  const auto method = load_ok(builder, with_budget({{the_cpu, stated + 50000}}));
  REQUIRE(set_floats(*method, 0, std::vector<float>{1, 2, 3, 4}, {4}).ok());
  for (int i = 0; i < 3; ++i) {
    const Status refused = method->execute();
    CHECK(refused.error() == Error::OutOfResources);
    CHECK(refused.text().find("budget of CPU: needs ") != std::string::npos);
  }
  const auto roomy = load_ok(builder, with_budget({{the_cpu, stated + 101000}}));
  REQUIRE(set_floats(*roomy, 0, std::vector<float>{1, 2, 3, 4}, {4}).ok());
  for (int i = 0; i < 3; ++i) CHECK(roomy->execute().ok());
}

TEST_CASE("sessions count by what the backends state, until they are destroyed",
          "[method][memory]") {
  const auto builder = hungry({"0 0 0 0 1000"});
  const std::uint64_t stated = on(estimate_of(builder).totals(), the_cpu);
  const auto method = load_ok(builder, with_budget({{the_cpu, stated + 1500}}));
  auto first = method->create_session();
  CHECK(first.ok());
  const auto second = method->create_session();
  REQUIRE_FALSE(second.ok());
  CHECK(second.error() == Error::OutOfResources);
  CHECK(second.text() == concat("budget of CPU: needs ", stated + 2000,
                                " bytes (a session of 1000), the budget is ", stated + 1500));
  *first = nullptr;
  CHECK(method->create_session().ok());
}

TEST_CASE("a session that takes more from the host than was stated is held to the budget",
          "[method][memory]") {
  const auto builder = hungry({"20000 0 20000 0 5000"});
  const std::uint64_t stated = on(estimate_of(builder).totals(), the_cpu);
  const auto method = load_ok(builder, with_budget({{the_cpu, stated + 22000}}));
  auto first = method->create_session();
  INFO(first.text());
  REQUIRE(first.ok());
  CHECK(method->create_session().error() == Error::OutOfResources);
  *first = nullptr;
  CHECK(method->create_session().ok());

  const auto small = load_ok(builder, with_budget({{the_cpu, stated + 10000}}));
  const auto refused = small->create_session();
  CHECK(refused.error() == Error::OutOfResources);
  CHECK(refused.text().find("budget of CPU: needs ") != std::string_view::npos);
  CHECK(refused.text().find("delegate 0: create_session: ") != std::string_view::npos);
}

TEST_CASE("a device that is listed twice in a budget is refused", "[method][memory]") {
  const auto refused = load(hungry({"0 0 0 0 0"}), with_budget({{the_cpu, 1 << 20}, {the_cpu, 5}}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK(refused.text() == "test.pte: method forward: budget: CPU is listed twice");
}

TEST_CASE("a method with two budgets is refused, and a budget without devices does nothing",
          "[method][memory]") {
  auto options = with_budget({{the_cpu, 1 << 20}});
  options.layers.add(host::Budget({}));
  CHECK(load(hungry({"0 0 0 0 0"}), options).ok());
  options.layers.add(host::Budget({{the_cuda, 5}}));
  const auto refused = load(hungry({"0 0 0 0 0"}), std::move(options));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.text() == "test.pte: method forward: budget: expected one for a method, found two");
}

#if defined(__linux__)
TEST_CASE("the system says how much memory is free", "[method][memory]") {
  const auto free = host::free_host_memory();
  REQUIRE(free.ok());
  CHECK(*free > 1 << 20);
}
#endif
