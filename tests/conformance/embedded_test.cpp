// SPDX-License-Identifier: MIT
//
// A plugin's author has the suites, and tests of their own, in a Catch2 program.
// [include]
#include <tenon/conformance/suites.hpp>
// [include]
#include <algorithm>
#include <cstddef>
#include <string>
#include <tenon/conformance/case_runner.hpp>
#include <tenon/conformance/opened_backend.hpp>
#include <utility>
#include <vector>

#include "kit/verdict/complete.hpp"
#include "tenon/core/lists.hpp"

namespace {

using namespace tenon;
using namespace tenon::conformance;

/// Sets the subject of the tests, with these declarations of expected failures.
bool set_hello(std::vector<Declaration> expected) {
  auto subject = read_subject(TENON_TEST_SUBJECT);
  if (!subject.ok()) return false;
  subject->plugin = TENON_TEST_HELLO;
  subject->expected_failure_tests = std::move(expected);
  return set_subject(*std::move(subject)).ok();
}

const bool subject_is_set = set_hello({});

int runs_of_own_test = 0;

}  // namespace

TENON_CONFORMANCE_TEST("embedded/own-test", "an author's own test",
                       "[embedded][level-1][case][TN-BCK-6]") {
  ++runs_of_own_test;
  kit.expect("TN-BCK-6", kit.backend().id == "Add", "found backend ", kit.backend().id);
}

TENON_CONFORMANCE_TEST("embedded/own-test-fails", "an author's own test that fails",
                       "[.fails][level-10][backend][TN-BCK-6]") {
  kit.violated("TN-BCK-6", "it always fails");
}

// [own-suite]
TENON_CONFORMANCE_TEST("embedded/calls-once", "a run of a case is one call of the backend",
                       "[embedded][level-1][case][TN-BCK-6]") {
  OpenedBackend opened(kit);
  need_device(kit, opened);
  int calls = 0;
  opened.boundary().on_execute = [&](WatchedExecute& call) {
    ++calls;
    return call.forward();
  };
  host::MethodOptions options;
  options.backends.push_back(opened.ref());
  CaseRunner runner = kit.need(CaseRunner::load(kit.of_case(), options), "the case");
  const Tolerances limits = kit.backend().tolerances_for(kit.of_case());
  const auto outputs = kit.need(runner.run(0, limits), "its first run");
  kit.expect("TN-BCK-6", calls == 1, "found ", calls, " calls of execute");
  for (const OutputComparison& output : outputs) {
    kit.expect("TN-BCK-6", output.equal, output.text);
  }
}
// [own-suite]

TEST_CASE("an author's test opens the backend and watches its calls", "[embedded]") {
  REQUIRE(subject_is_set);
  const auto results =
      tenon::conformance::detail::run_embedded("a run of a case is one call of the backend");
  REQUIRE(results.size() == 4);
  for (const auto& result : results) {
    CAPTURE(result.path);
    CHECK(result.failures.empty());
  }
}

TEST_CASE("an author's own test is run for each case", "[embedded]") {
  REQUIRE(subject_is_set);
  runs_of_own_test = 0;
  const auto results = tenon::conformance::detail::run_embedded("an author's own test");
  REQUIRE(results.size() == 4);
  CHECK(runs_of_own_test == 4);
  CHECK(results[0].path == "embedded/own-test/Add/add");
  CHECK(results[0].failures.empty());
}

TEST_CASE("a violated rule fails the test of Catch2 with its sentence", "[embedded]") {
  const auto results = tenon::conformance::detail::run_embedded("an author's own test that fails");
  REQUIRE(results.size() == 1);
  REQUIRE(results[0].failures.size() == 1);
  CHECK(results[0].failures[0].rfind("TN-BCK-6 (", 0) == 0);
  CHECK(results[0].failures[0].find("): it always fails") != std::string::npos);
}

TEST_CASE("the declarations of the subject decide whether a test of Catch2 fails", "[embedded]") {
  REQUIRE(set_hello({{"embedded/own-test*", "ACME-231", "expected_failure[0]"}}));
  const auto fails = tenon::conformance::detail::run_embedded("an author's own test that fails");
  const auto passes = tenon::conformance::detail::run_embedded("an author's own test");
  REQUIRE(set_hello({}));
  REQUIRE(fails.size() == 1);
  CHECK(fails[0].failures.empty());
  CHECK(fails[0].expected == std::vector<std::string>{"TN-BCK-6: it always fails"});
  REQUIRE(passes.size() == 4);
  CHECK(passes[0].failures ==
        std::vector<std::string>{"passed, but expected_failure[0] says that it fails: ACME-231"});
}

TEST_CASE("readers of reports know the tests that the suites register", "[embedded]") {
  const auto known = kit_tests();
  CHECK(known.size() > 80);
  std::size_t registered = 0;
  for (const TestInfo& test : all_tests()) {
    if (test.id.starts_with("embedded/")) continue;
    ++registered;
    CAPTURE(test.id);
    const auto found = std::ranges::find(known, test.id, &KitTest::id);
    REQUIRE(found != known.end());
    CHECK(found->level == test.level);
    CHECK(found->scope == test.scope);
    CHECK(found->rules == join(test.rules, " "));
  }
  CHECK(registered == known.size());
}
