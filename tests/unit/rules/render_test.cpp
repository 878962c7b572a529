// SPDX-License-Identifier: MIT
//
// The table of the rules and the list of tests, as the functions and the program write them.
#include "conformance/rules/render.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "kit/verdict/rule.hpp"
#include "rules_support.hpp"
#include "unit/tools/run/process.hpp"

using namespace tenon::rulebook;

namespace render_test {
namespace {

Survey survey_of(std::string sentence) {
  Survey survey;
  survey.rules = {{ids("@TST-1"), std::move(sentence), "tenon/abi/a.h", 3, "tenon_a.run"}};
  return survey;
}

/// A repository of one header with one rule for hosts, and its test.
class Repository {
 public:
  Repository() {
    write("include/tenon/abi/a.h", "///   @TST-1  A host MUST run.\nint n;\n");
    write("tests/a_test.cpp", "TEST_CASE(\"it runs\", \"[@TST-1]\") {}\n");
    std::filesystem::create_directories(directory_ / "tests/conformance/kit/suites");
  }

  void write(std::string_view name, std::string_view text) const {
    std::filesystem::create_directories((directory_ / name).parent_path());
    directory_.write(name, ids(text));
  }

  [[nodiscard]] std::string read(std::string_view name) const {
    return test::read_file(directory_.file(name));
  }

  [[nodiscard]] test::Outcome run(const std::string& action) const {
    const char* program = std::getenv("TENON_TEST_RULES");
    REQUIRE(program != nullptr);
    return test::run_program(program, {directory_.path().string(), action});
  }

 private:
  test::TemporaryDirectory directory_;
};

}  // namespace

TEST_CASE("a rule that fits is one line of the table", "[rules]") {
  CHECK_THAT(render_table(survey_of("A plugin MUST run.")),
             ContainsSubstring(ids(
                 "    {\"@TST-1\", \"A plugin MUST run.\", \"tenon/abi/a.h: tenon_a.run\"},\n")));
}

TEST_CASE("no line of the table is longer than 100 columns, however long the rule", "[rules]") {
  for (std::size_t length = 20; length < 400; ++length) {
    std::string sentence;
    while (sentence.size() < length) sentence += sentence.size() % 3 == 0 ? "\"a\" " : "word ";
    sentence += "MUST.";
    const std::string table = render_table(survey_of(sentence));
    for (const std::string_view line : detail::split_lines(table)) {
      CHECK(line.size() <= 100);
    }
    // As the compiler reads them, the literals are the sentence.
    const auto tokens = detail::Tokenizer(table).read();
    const auto id = std::ranges::find(tokens, ids("@TST-1"), &detail::Token::value);
    REQUIRE(id != tokens.end());
    auto at = static_cast<std::size_t>(id - tokens.begin()) + 2;
    CHECK(detail::read_texts(tokens, at) == sentence);
  }
}

TEST_CASE("the list has the id and the name of each test", "[rules]") {
  Survey survey = survey_of("A plugin MUST run.");
  survey.tests = {{"a/runs", "it runs", {"a"}, "a.hpp", 3},
                  {"b/jumps", "it jumps", {"b"}, "b.hpp", 4}};
  CHECK_THAT(render_ids(survey), ContainsSubstring("\na/runs: it runs\nb/jumps: it jumps\n"));
}

TEST_CASE("the check accepts what was written", "[rules]") {
  const Repository repository;
  const test::Outcome missing = repository.run("check");
  CHECK(missing.exit_code == 1);
  CHECK_THAT(missing.out, ContainsSubstring("rule_table.hpp:1: differs from") &&
                              ContainsSubstring("run ./dev rules"));
  CHECK(repository.run("write").exit_code == 0);
  CHECK_THAT(repository.read("tests/conformance/kit/verdict/rule_table.hpp"),
             ContainsSubstring("A host MUST run."));
  const test::Outcome good = repository.run("check");
  INFO(good.out);
  CHECK(good.exit_code == 0);

  repository.write("include/tenon/abi/a.h", "///   @TST-1  A host MUST walk.\nint n;\n");
  const test::Outcome changed = repository.run("check");
  CHECK(changed.exit_code == 1);
  CHECK_THAT(changed.out,
             ContainsSubstring("not ok: tests/conformance/kit/verdict/rule_table.hpp:22: differs"));

  repository.write("tests/conformance/kit/suites/s.cpp",
                   "TENON_CONFORMANCE_TEST(\"x/a\", \"a\", \"[x]\") {}\n");
  CHECK_THAT(repository.run("check").out,
             ContainsSubstring("not ok: tests/conformance/test_ids.txt:4: differs"));
}

TEST_CASE("the program finds problems in all files of the repository", "[rules]") {
  const Repository repository;
  REQUIRE(repository.run("write").exit_code == 0);
  repository.write("include/tenon/abi/b.h", "/// It MUST run.\nint n;\n");
  repository.write("include/tenon/abi/c.h", "///   @TST-2  A plugin MUST run.\nint n;\n");
  repository.write("tests/conformance/kit/suites/s.cpp",
                   "TENON_CONFORMANCE_TEST(\"x/a\", \"a\", \"[x]\") {}\n"
                   "TENON_CONFORMANCE_TEST(b) {}\n");
  repository.write("tests/conformance/rules/not_observable.txt", "@TST-9  It is internal.\n");
  repository.write("tests/a_test.cpp", "");
  const test::Outcome out = repository.run("check");
  CHECK(out.exit_code == 1);
  for (const std::string text :
       {"not ok: include/tenon/abi/b.h:1: MUST without a rule id: It MUST run.\n",
        "not ok: tests/conformance/kit/suites/s.cpp:1: \"a\" names no rule in its tags\n",
        "not ok: tests/conformance/kit/suites/s.cpp:2: expected TENON_CONFORMANCE_TEST(",
        "not ok: tests/conformance/test_ids.txt:4: differs from the headers and tests; run ./dev "
        "rules\n",
        "not ok: tests/conformance/rules/not_observable.txt:1: @TST-9 is not a rule of the "
        "boundary\n",
        "not ok: include/tenon/abi/a.h:1: @TST-1 is in no test's tags\n",
        "not ok: include/tenon/abi/c.h:1: @TST-2 has no conformance test\n"}) {
    CHECK_THAT(out.out, ContainsSubstring(ids(text)));
  }
}

TEST_CASE("a directory without headers, or a missing action, is refused", "[rules]") {
  const test::TemporaryDirectory empty;
  const std::string program = std::getenv("TENON_TEST_RULES");
  const test::Outcome nothing = test::run_program(program, {empty.path().string(), "check"});
  CHECK(nothing.exit_code == 1);
  CHECK_THAT(nothing.out, ContainsSubstring("include/tenon/abi:0: found no rule"));
  CHECK(test::run_program(program, {empty.path().string()}).exit_code == 2);
  CHECK(test::run_program(program, {empty.path().string(), "print"}).exit_code == 2);
}

TEST_CASE("the kit finds each rule of the boundary by its id", "[rules]") {
  using tenon::conformance::find_rule;
  using tenon::conformance::rules;
  std::set<std::string_view> seen;
  for (const tenon::conformance::Rule& rule : rules()) {
    CHECK(find_rule(rule.id) == &rule);
    seen.insert(rule.id);
  }
  CHECK(seen.size() == rules().size());
  REQUIRE(find_rule("TN-EXE-2") != nullptr);
  CHECK(find_rule("TN-EXE-2")->sentence == "`execute` MUST NOT write to an input.");
  CHECK(find_rule("TN-EXE") == nullptr);
  CHECK(find_rule("") == nullptr);
}

}  // namespace render_test
