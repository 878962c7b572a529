// SPDX-License-Identifier: MIT
#include "kit/run/budget.hpp"

#include <cmath>

#include "support/catch.hpp"

using namespace tenon;
using namespace tenon::conformance;

namespace budget_test {

constexpr RepeatedLoads threads = loads_of("threads/delegates-run-concurrently");

SubjectBackend backend_with(std::uint64_t init_ms, std::uint64_t seconds) {
  SubjectBackend out;
  out.init_ms = init_ms;
  out.seconds_per_test = seconds;
  return out;
}

TEST_CASE("without a declared init all rounds are run", "[budget]") {
  CHECK(rounds_of(threads, {}, 9) == 20);
  CHECK(rounds_of(threads, {}, 10) == 200);
  CHECK(rounds_of(threads, backend_with(0, 20), 10) == 200);
  CHECK(rounds_of(threads, backend_with(1, 20), 10) == 200);
}

TEST_CASE("a slow init leaves as many rounds as the budget has room for, and at least 4",
          "[budget]") {
  // 6 loads before the rounds, 4 in each: 0.9 s and 0.6 s.
  CHECK(rounds_of(threads, backend_with(150, 20), 10) == 31);
  CHECK(rounds_of(threads, backend_with(150, 20), 9) == 20);
  CHECK(rounds_of(threads, backend_with(150, 2), 10) == 4);
  CHECK(rounds_of(threads, backend_with(150, 0), 10) == 4);
  CHECK(rounds_of(threads, backend_with(60000, 20), 10) == 4);
  CHECK(rounds_of(threads, backend_with(UINT64_MAX, 20), 10) == 4);
}

TEST_CASE("the plan says what the loads of a test take", "[budget]") {
  const TestInfo info{threads.test, {}, {}, "threads", 9, Scope::of_case, {}, nullptr};
  const TestInfo other{"threads/another", {}, {}, "threads", 9, Scope::of_case, {}, nullptr};
  const SubjectBackend slow = backend_with(150, 20), fast;
  const Case of_case;
  CHECK(std::abs(expected_seconds({&info, &slow, &of_case}, 10) - 0.15 * (6 + 4 * 31)) < 1e-9);
  CHECK(std::abs(expected_seconds({&other, &slow, &of_case}, 10) - 0.6) < 1e-9);
  CHECK(expected_seconds({&info, &fast, &of_case}, 10) == 0);
  CHECK(expected_seconds({&info, &slow, nullptr}, 10) == 0);
}

}  // namespace budget_test
