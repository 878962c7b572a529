// SPDX-License-Identifier: MIT
#include "kit/verdict/rule.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "kit/verdict/complete.hpp"
#include "support/catch.hpp"
#include "tenon/conformance/test.hpp"

namespace rule_test {

using namespace tenon::conformance;

TEST_CASE("the kit finds each rule of the boundary by its id", "[conformance]") {
  std::set<std::string_view> seen;
  for (const Rule& rule : rules()) {
    CHECK(find_rule(rule.id) == &rule);
    seen.insert(rule.id);
  }
  CHECK(seen.size() == rules().size());
  REQUIRE(find_rule("TN-EXE-2") != nullptr);
  CHECK(find_rule("TN-EXE-2")->sentence == "`execute` MUST NOT write to an input.");
  CHECK(find_rule("TN-EXE") == nullptr);
  CHECK(find_rule("") == nullptr);
}

TEST_CASE("readers of reports know each test of the suites", "[conformance]") {
  const auto tests = kit_tests();
  const auto found =
      std::ranges::find(tests, std::string_view("arguments/leaves-inputs-unchanged"), &KitTest::id);
  REQUIRE(found != tests.end());
  CHECK(found->level == 4);
  CHECK(found->scope == Scope::of_case);
  CHECK(found->rules == "TN-EXE-2 TN-TEN-1");
}

TEST_CASE("the id of a test is its suite and up to four words with hyphens", "[conformance]") {
  for (const char* id :
       {"cost/open", "arguments/leaves-inputs-unchanged", "numerics/one-two-three-four",
        "of-acme/x", "a-b-c-d-e/f", "process/stack-256"}) {
    INFO(id);
    CHECK(is_test_id(id));
  }
  for (const char* id : {"", "/", "open", "cost/", "/open", "cost/open/", "cost//open",
                         "cost/open/add", "cost/-open", "cost/open-", "cost/open--close",
                         "-cost/open", "cost-/open", "Cost/open", "cost/Open", "cost/a run",
                         "cost/a_run", "cost/\xc3\xa4", "numerics/one-two-three-four-five"}) {
    INFO(id);
    CHECK_FALSE(is_test_id(id));
  }
}

}  // namespace rule_test
