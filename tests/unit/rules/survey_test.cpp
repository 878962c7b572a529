// SPDX-License-Identifier: MIT
#include "conformance/rules/survey.hpp"

#include <string>
#include <vector>

#include "rules_support.hpp"

using namespace tenon::rulebook;

namespace survey_test {
namespace {

/// TST-1 for plugins, with a test of the kit; TST-2 for hosts, with a unit test.
Survey good() {
  Survey survey;
  survey.rules = {{ids("@TST-1"), "A plugin MUST run.", "tenon/abi/a.h", 3, "a"},
                  {ids("@TST-2"), "A host MUST run.", "tenon/abi/a.h", 4, "a"}};
  survey.tests = {{"a/runs", "it runs", {"a", ids("@TST-1")}, "s.hpp", 7}};
  survey.files = {{ids("@TST-2"), {"tests/unit/a_test.cpp"}}};
  return survey;
}

/// TST-1 cannot be observed, and has a unit test instead.
Survey with_exception() {
  Survey survey = good();
  survey.tests.clear();
  survey.files[ids("@TST-1")] = {"tests/unit/a_test.cpp"};
  survey.not_observable = {{ids("@TST-1"), "It is internal.", 5}};
  return survey;
}

std::string only(const std::vector<Problem>& problems) {
  REQUIRE(problems.size() == 1);
  return problems[0].file + ":" + std::to_string(problems[0].line) + ": " + problems[0].text;
}

}  // namespace

TEST_CASE("there is no problem if each rule has a test and each test a rule", "[rules]") {
  for (const Survey& survey : {good(), with_exception()}) {
    CHECK(wrong_tests(survey).empty());
    CHECK(wrong_exceptions(survey).empty());
    CHECK(untested_by_hosts(survey).empty());
    CHECK(untested_by_plugins(survey).empty());
  }
}

TEST_CASE("a rule for plugins without a conformance test is found", "[rules]") {
  Survey survey = good();
  survey.tests.clear();
  survey.files[ids("@TST-1")] = {"tests/unit/a_test.cpp"};  // Not a conformance test.
  CHECK(only(untested_by_plugins(survey)) ==
        ids("include/tenon/abi/a.h:3: @TST-1 has no conformance test"));
}

TEST_CASE("a rule for hosts without a test is found", "[rules]") {
  Survey survey = good();
  survey.files.clear();
  CHECK(only(untested_by_hosts(survey)) ==
        ids("include/tenon/abi/a.h:4: @TST-2 is in no test's tags"));
}

TEST_CASE("a conformance test without a rule, or with a wrong one, is found", "[rules]") {
  Survey survey = good();
  survey.tests.push_back({"a/jumps", "it jumps", {"a", "level-1"}, "t.hpp", 8});
  CHECK(only(wrong_tests(survey)) == "t.hpp:8: \"it jumps\" names no rule in its tags");
  survey.tests[1].tags = {"a", ids("@TST-3")};
  CHECK(only(wrong_tests(survey)) == ids("t.hpp:8: @TST-3 is not a rule of the boundary"));
  survey.tests[1].tags = {"a", ids("@TST-2")};
  CHECK(only(wrong_tests(survey)) ==
        ids("t.hpp:8: @TST-2 is a rule for hosts; no plugin can break it"));
}

TEST_CASE("two conformance tests with one id or one name are found", "[rules]") {
  Survey survey = good();
  survey.tests.push_back({"a/runs-too", "it runs", {"a", ids("@TST-1")}, "t.hpp", 8});
  CHECK(only(wrong_tests(survey)) ==
        "t.hpp:8: \"it runs\" is the name of a test in s.hpp:7 already");
  survey.tests[1].id = "a/runs";
  survey.tests[1].name = "it runs too";
  CHECK(only(wrong_tests(survey)) == "t.hpp:8: \"a/runs\" is the id of a test in s.hpp:7 already");
}

TEST_CASE("a conformance test with the id of another suite is found", "[rules]") {
  Survey survey = good();
  survey.tests[0].id = "arguments/runs";
  CHECK(only(wrong_tests(survey)) ==
        "s.hpp:7: \"arguments/runs\" does not begin with its suite [a]");
}

TEST_CASE("an exception that is wrong, or has no unit test, is found", "[rules]") {
  const std::string place = std::string(not_observable_file) + ":5: ";
  Survey survey = with_exception();
  survey.not_observable[0].rule = ids("@TST-3");
  CHECK(only(wrong_exceptions(survey)) == place + ids("@TST-3 is not a rule of the boundary"));
  survey.not_observable[0].rule = ids("@TST-2");
  CHECK(only(wrong_exceptions(survey)) ==
        place + ids("@TST-2 is a rule for hosts, which the kit never judges"));

  survey = with_exception();
  survey.not_observable[0].reason.clear();
  CHECK(only(wrong_exceptions(survey)) ==
        place + ids("@TST-1 has no reason that ends with a full stop"));

  survey = with_exception();
  survey.files.erase(ids("@TST-1"));
  CHECK(only(wrong_exceptions(survey)) == place + ids("@TST-1 is in no unit test's tags either"));

  survey = with_exception();
  survey.tests = good().tests;
  CHECK(only(wrong_exceptions(survey)) == place + ids("@TST-1 has a conformance test"));
}

TEST_CASE("an exception is an id and its reason on a line", "[rules]") {
  const auto out = read_not_observable(ids("# Why.\n\n@TST-1  It is internal.\n@TST-2\n"));
  REQUIRE(out.size() == 2);
  CHECK(out[0].rule == ids("@TST-1"));
  CHECK(out[0].reason == "It is internal.");
  CHECK(out[0].line == 3);
  CHECK(out[1].rule == ids("@TST-2"));
  CHECK(out[1].reason.empty());
}

}  // namespace survey_test
