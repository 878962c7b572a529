// SPDX-License-Identifier: MIT
#include "conformance/rules/rulebook.hpp"

#include <map>
#include <string>
#include <vector>

#include "rules_support.hpp"

using namespace tenon::rulebook;

namespace rulebook_test {
namespace {

Rules read(std::string_view text) { return read_header("tenon/abi/x.h", ids(text)); }

/// The only rule of a text without problems.
Rule read_one(std::string_view text) {
  const Rules out = read(text);
  REQUIRE(out.problems.empty());
  REQUIRE(out.rules.size() == 1);
  return out.rules[0];
}

/// The only problem of a text, as "line: text".
std::string problem(std::string_view text) {
  const Rules out = read(text);
  REQUIRE(out.problems.size() == 1);
  CHECK(out.problems[0].file == "tenon/abi/x.h");
  return std::to_string(out.problems[0].line) + ": " + out.problems[0].text;
}

std::string declaration_of(std::string_view code) {
  return read_one("///   @TST-1  A plugin MUST.\n" + std::string(code)).declaration;
}

}  // namespace

TEST_CASE("a rule is its id, its sentences, its line and its declaration", "[rules]") {
  const Rule rule = read_one(R"(
/// Counts.
///
///   @TST-12  A plugin MUST count. What it counts is
///            of no concern.
///
/// threads:   any
typedef struct tenon_count {
  int n;
} tenon_count;
)");
  CHECK(rule.id == ids("@TST-12"));
  CHECK(rule.sentence == "A plugin MUST count. What it counts is of no concern.");
  CHECK(rule.header == "tenon/abi/x.h");
  CHECK(rule.line == 4);
  CHECK(rule.declaration == "tenon_count");
}

TEST_CASE("a rule that begins with MUST gets the name of its declaration", "[rules]") {
  const Rules out = read(R"(
typedef struct tenon_api {
  ///   @TST-1  MUST NOT fail.
  ///   @TST-2  MUST
  ///           return.
  ///   @TST-3  On failure it MUST return too.
  void (*run)(tenon_api* api,
              int count);
} tenon_api;
///   @TST-4  MUST be even.
typedef uint32_t tenon_number;
)");
  CHECK(out.problems.empty());
  REQUIRE(out.rules.size() == 4);
  CHECK(out.rules[0].sentence == "`run` MUST NOT fail.");
  CHECK(out.rules[1].sentence == "`run` MUST return.");
  CHECK(out.rules[2].sentence == "On failure it MUST return too.");
  CHECK(out.rules[2].declaration == "tenon_api.run");
  CHECK(out.rules[3].sentence == "`tenon_number` MUST be even.");
  CHECK(out.rules[3].declaration == "tenon_number");
}

TEST_CASE("a rule belongs to the declaration below its comment", "[rules]") {
  CHECK(declaration_of("typedef struct tenon_a tenon_a;") == "tenon_a");
  CHECK(declaration_of("typedef struct tenon_a {  // Text; more {") == "tenon_a");
  CHECK(declaration_of("typedef void (*tenon_sink)(void* context);") == "tenon_sink");
  CHECK(declaration_of("const struct tenon_very_long_name*\n    (*find)(int);") == "find");
  CHECK(declaration_of("uint8_t magic[8];") == "magic");
  CHECK(declaration_of("#define TENON_ABI_MAJOR 1") == "TENON_ABI_MAJOR");
  CHECK(declaration_of("const int x = 3;") == "x");
}

TEST_CASE("a struct ends at its closing name", "[rules]") {
  const Rules out = read(R"(
typedef struct tenon_a {
  union {
    int i;
  } as;
  ///   @TST-1  A host MUST set it.
  int n;
} tenon_a;
///   @TST-2  The host MUST be there.
int alone;
)");
  CHECK(out.problems.empty());
  REQUIRE(out.rules.size() == 2);
  CHECK(out.rules[0].declaration == "tenon_a.n");
  CHECK(out.rules[1].declaration == "alone");
}

TEST_CASE("the beginning of a rule says whether hosts or plugins keep it", "[rules]") {
  const auto keeper = [](std::string sentence) { return Rule{.sentence = sentence}.keeper(); };
  CHECK(keeper("A host MUST free it.") == Keeper::host);
  CHECK(keeper("The host MUST free it.") == Keeper::host);
  CHECK(keeper("A host of another major MUST refuse it.") == Keeper::host);
  CHECK(keeper("A plugin MUST free it, and a host MUST not.") == Keeper::plugin);
  CHECK(keeper("The hosts' memory MUST stay.") == Keeper::plugin);
}

TEST_CASE("a rule ends with its indentation", "[rules]") {
  const Rules out = read(R"(
///   @TST-1  A plugin MUST stop.
/// Prose.
///   @TST-2  A plugin MUST
///           go on.
///   Less than that is prose.
int n;
)");
  CHECK(out.problems.empty());
  REQUIRE(out.rules.size() == 2);
  CHECK(out.rules[0].sentence == "A plugin MUST stop.");
  CHECK(out.rules[1].sentence == "A plugin MUST go on.");
}

TEST_CASE("an id in the middle of prose does not begin a rule", "[rules]") {
  const Rules out = read("/// Gives back the stream, and with it\n/// @TST-1. Well.\nint n;\n");
  CHECK(out.rules.empty());
  CHECK(out.problems.empty());
}

TEST_CASE("MUST needs an id in every comment", "[rules]") {
  CHECK(problem("/// It MUST run.\nint n;\n") == "1: MUST without a rule id: It MUST run.");
  CHECK(problem("int n;\n// It MUST run.\n") == "2: MUST without a rule id: // It MUST run.");
  CHECK(problem("int n;  ///< MUST be 0.\n") == "1: MUST without a rule id: ///< MUST be 0.");
  CHECK(problem("///   @TST-1  A plugin MUST run.\n///\n/// It MUST stop.\nint n;\n") ==
        "3: MUST without a rule id: It MUST stop.");
  CHECK(problem("//   @TST-1  A plugin MUST run.\nint n;\n") ==
        ids("1: MUST without a rule id: //   @TST-1  A plugin MUST run."));
}

TEST_CASE("MUST in backticks or in another word makes no rule", "[rules]") {
  const Rules out = read("// Sentences with `MUST` have ids.\n/// MUSTARD, NO_MUST.\nint n;\n");
  CHECK(out.problems.empty());
}

TEST_CASE("an id has three letters and a number that does not begin with 0", "[rules]") {
  for (const std::string id :
       {"@ABCD-1", "@AB-1", "@abc-1", "@ABC-", "@ABC-01", "@ABC-1a", "@ABC1", "@", "@A"}) {
    CAPTURE(id);
    CHECK(problem("///   " + id + "  A plugin MUST run.\nint n;\n") ==
          ids("1: " + id + " is not of the form @AREA-N"));
  }
}

TEST_CASE("a rule without MUST, full stop or declaration is refused", "[rules]") {
  CHECK(problem("///   @TST-1  A plugin may run.\nint n;\n") ==
        ids("1: @TST-1 has no MUST: A plugin may run."));
  CHECK(problem("///   @TST-1  A plugin MUST run\nint n;\n") ==
        ids("1: @TST-1 does not end with a full stop"));
  CHECK(problem("///   @TST-1  A plugin MUST run.\n\nint n;\n") ==
        ids("1: @TST-1 has no declaration below it"));
  CHECK(problem("///   @TST-1  A plugin MUST run.\nenum { A };\n") ==
        ids("1: @TST-1 has no declaration below it"));
  CHECK(problem("///   @TST-1  A plugin MUST run.") ==
        ids("1: @TST-1 has no declaration below it"));
  CHECK(read("///   @TST-1\nint n;\n").problems.size() == 2);
}

TEST_CASE("rules are sorted by header and line", "[rules]") {
  const std::map<std::string, std::string> texts = {
      {"tenon/abi/b.h", ids("///   @TST-1  A plugin MUST run.\nint n;\n")},
      {"tenon/abi/a.h", ids("///   @TST-3  A plugin MUST run.\nint n;\n"
                            "///   @TST-2  A plugin MUST run.\nint m;\n")}};
  const Rules out = read_headers(texts);
  CHECK(out.problems.empty());
  REQUIRE(out.rules.size() == 3);
  CHECK(out.rules[0].id == ids("@TST-3"));
  CHECK(out.rules[1].id == ids("@TST-2"));
  CHECK(out.rules[2].id == ids("@TST-1"));
}

TEST_CASE("an id that is used again is refused", "[rules]") {
  const std::string text = ids("///   @TST-1  A plugin MUST run.\nint n;\n");
  const Problem expected{"tenon/abi/b.h", 1, ids("@TST-1 is defined in tenon/abi/a.h:1 already")};
  CHECK(read_headers({{"tenon/abi/a.h", text}, {"tenon/abi/b.h", text}}).problems ==
        std::vector{expected});
  CHECK(read_headers({{"tenon/abi/a.h", text + text}}).problems.size() == 1);
}

TEST_CASE("one header may have no rules, but not all headers", "[rules]") {
  CHECK(read("/// A number.\nint n;\n").problems.empty());
  CHECK(read("").problems.empty());
  const Rules out = read_headers({{"tenon/abi/a.h", "int n;\n"}});
  CHECK(out.problems == std::vector{Problem{"include/tenon/abi", 0, "found no rule"}});
}

}  // namespace rulebook_test
