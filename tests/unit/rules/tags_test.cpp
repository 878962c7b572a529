// SPDX-License-Identifier: MIT
#include "conformance/rules/tags.hpp"

#include <set>
#include <string>
#include <vector>

#include "rules_support.hpp"

using namespace tenon::rulebook;

namespace tags_test {
namespace {

ConformanceTests read(std::string_view text) { return read_suite("s.hpp", ids(text)); }

}  // namespace

TEST_CASE("a conformance test is its name, its tags and its line", "[rules]") {
  const ConformanceTests out = read(R"(
TENON_CONFORMANCE_TEST("arguments/inputs", "inputs are \"as they were\"", "[arguments][level-3][@TST-1][@TST-22]") {
}
)");
  CHECK(out.problems.empty());
  REQUIRE(out.tests.size() == 1);
  const ConformanceTest& test = out.tests[0];
  CHECK(test.id == "arguments/inputs");
  CHECK(test.name == "inputs are \"as they were\"");
  CHECK(test.tags == std::vector{std::string("arguments"), std::string("level-3"), ids("@TST-1"),
                                 ids("@TST-22")});
  CHECK(test.rules() == std::vector{ids("@TST-1"), ids("@TST-22")});
  CHECK(test.file == "s.hpp");
  CHECK(test.line == 2);
}

TEST_CASE("adjacent texts are joined", "[rules]") {
  const ConformanceTests out = read(
      "TENON_CONFORMANCE_TEST(\"a/\"\n\"id\", \"one \"\n  \"name\",  // Why.\n"
      "  \"[a]\" /* ] */ \"[@TST-1]\") {}\n");
  REQUIRE(out.tests.size() == 1);
  CHECK(out.tests[0].id == "a/id");
  CHECK(out.tests[0].name == "one name");
  CHECK(out.tests[0].tags == std::vector{std::string("a"), ids("@TST-1")});
}

TEST_CASE("tests in comments and texts do not count", "[rules]") {
  const ConformanceTests out = read(R"__(
// TENON_CONFORMANCE_TEST("a/a", "a", "[a]")
/* TENON_CONFORMANCE_TEST("b/b", "b", "[b]")
   TENON_CONFORMANCE_TEST("c/c", "c", "[c]") */
const char* text = "TENON_CONFORMANCE_TEST(\"d/d\", \"d\", \"[d]\")" u8R"x(TENON_CONFORMANCE_TEST("e/e", "e", "[e]"))x";
const int quote = '"', many = 1'000'000, word = L'\'';
const char* same = "TENON_CONFORMANCE_TEST";
TENON_CONFORMANCE_TEST("f/real", "real", "[f]") {}
)__");
  CHECK(out.problems.empty());
  REQUIRE(out.tests.size() == 1);
  CHECK(out.tests[0].name == "real");
  CHECK(out.tests[0].line == 8);
}

TEST_CASE("a conformance test that cannot be read is refused", "[rules]") {
  for (const std::string text :
       {"TENON_CONFORMANCE_TEST(id, \"n\", \"[a]\")",
        "TENON_CONFORMANCE_TEST(\"a/i\", name, \"[a]\")", "TENON_CONFORMANCE_TEST(\"a/i\")",
        "TENON_CONFORMANCE_TEST(\"a/i\", \"n\")", "TENON_CONFORMANCE_TEST(\"a/i\", \"n\", \"a\")",
        "TENON_CONFORMANCE_TEST(\"a/i\", \"n\", \"[a] [b]\")",
        "TENON_CONFORMANCE_TEST(\"a/i\", \"n\", \"[a\")",
        "TENON_CONFORMANCE_TEST(\"a/i\", \"\", \"[a]\")",
        "TENON_CONFORMANCE_TEST(\"\", \"n\", \"[a]\")", "TENON_CONFORMANCE_TEST(\"n\", \"[a]\")",
        "TENON_CONFORMANCE_TEST(\"a/i\", \"n\", \"[a]\" TAGS)", "TENON_CONFORMANCE_TEST",
        "TENON_CONFORMANCE_TEST(\"a/i", "TENON_CONFORMANCE_TEST(R\"(n"}) {
    CAPTURE(text);
    const ConformanceTests out = read("\n" + text);
    CHECK(out.tests.empty());
    REQUIRE(out.problems.size() == 1);
    CHECK(out.problems[0].file == "s.hpp");
    CHECK(out.problems[0].line == 2);
  }
}

TEST_CASE("tags of rules are found anywhere in a file", "[rules]") {
  CHECK(rule_tags(ids("TEST_CASE(\"a\", \"[x][@TST-1][@TST-2]\") # [@TST-1]")) ==
        std::set{ids("@TST-1"), ids("@TST-2")});
  CHECK(rule_tags(ids("@TST-1 [@TST-2 ] [@TST-3\n] [@TST-4")).empty());
}

}  // namespace tags_test
