// SPDX-License-Identifier: MIT
//
// Tables of variants that someone wrote to harm the host or its user.
#include <algorithm>

#include "tenon/host/layers/variants/variant.hpp"
#include "variants_support.hpp"

namespace hostile_tables_test {

using namespace tenon;
using namespace tenon::test;
using Catch::Matchers::StartsWith;

namespace {

constexpr std::string_view head = "tenon.variants/1\n";
constexpr std::string_view needs_first = "needs\tFirst\t0\t\t\n";
constexpr std::string_view first = "variant\tforward\tforward\t0\tfirst\nneeds\tFirst\t0\t\t\n";

Result<std::shared_ptr<const host::Program>> open(const std::string& table) {
  auto bytes = std::make_shared<AlignedBytes>(
      program_of(std::vector<TestVariant>{{"First", "a"}, {"Second", "b"}}, &table).build());
  return host::Program::from_bytes(std::as_const(*bytes).bytes(), bytes, "test.pte");
}

std::string variant_with(std::string_view priority, std::string_view name) {
  return concat("variant\tforward\tforward\t", priority, "\t", name, "\n", needs_first);
}

std::string needs_with(std::string_view version, std::string_view target,
                       std::string_view features) {
  return concat("variant\tforward\tforward\t0\tfirst\nneeds\tFirst\t", version, "\t", target, "\t",
                features, "\n");
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

}  // namespace

TEST_CASE("a hostile table of variants is refused with its line and what was expected",
          "[variants]") {
  using namespace std::string_view_literals;
  const std::string long_text(5000, 'x');
  struct Case {
    std::string table;
    const char* expected;
    Error error = Error::InvalidProgram;
  };
  const Case cases[] = {
      {"tenon.variants/1\r\n", "line 1: found 'tenon.variants/1\\r', expected tenon.variants/1"},
      {"\xef\xbb\xbftenon.variants/1\n", "line 1: found"},
      {std::string("\0", 1), "line 1: found"},
      {concat(head, "variant\tforward\tfor"), "line 2: variant has 2 fields, expected 4"},
      {concat(head, "variant"), "line 2: variant has 0 fields, expected 4"},
      {concat(head, "variant", repeated("\t", 1'000'000)), "line 2: the program has no method ''"},
      {concat(head, first, "needs", repeated("\t", 1'000'000)),
       "no delegate of the variant names backend ''"},
      {concat(head, variant_with("0", "fi\0rst"sv)), "line 2: 'fi\\x00rst' holds a NUL byte"},
      {concat(head, needs_with("0", "chip\0"sv, "")), "line 3: 'chip\\x00' holds a NUL byte"},
      {concat(head, needs_with("0", "", "avx2,,sse4_2")),
       "line 3: the CPU features 'avx2,,sse4_2' hold an empty name"},
      {concat(head, needs_with("0", "", ",")), "line 3: the CPU features ',' hold an empty name"},
      {concat(head, variant_with("0", long_text)),
       "line 2: bytes of a field: found 5000, the limit name_bytes is 4096", Error::OutOfResources},
      {concat(head, needs_with("0", long_text, "")), "line 3: bytes of a field: found 5000",
       Error::OutOfResources},
      {concat(head, needs_with("0", "", repeated("a,", 1'000'000))),
       "line 3: bytes of a field: found 2000000", Error::OutOfResources},
      {concat(head, variant_with("2147483648", "x")), "the priority is '2147483648'"},
      {concat(head, variant_with("-2147483649", "x")), "the priority is '-2147483649'"},
      {concat(head, variant_with("+1", "x")), "the priority is '+1'"},
      {concat(head, variant_with("1.5", "x")), "the priority is '1.5'"},
      {concat(head, variant_with("NaN", "x")), "the priority is 'NaN'"},
      {concat(head, variant_with("", "x")), "the priority is ''"},
      {concat(head, needs_with("4294967296", "", "")), "the payload version is '4294967296'"},
      {concat(head, needs_with("0x1", "", "")), "the payload version is '0x1'"},
      {concat(head, "variant\tforward\t0\t0\tx\n"), "the program has no method '0'"},
      {concat(head, "variant\t\x1b[2J\tforward\t0\tx\n"), "the program has no method '\\x1b[2J'"},
      {concat(head, first, repeated(needs_first, 1'000'000)), "line 4: backend 'First' twice"},
      {concat(head, repeated("variant\tforward\tforward\t0\tx\n", 1'000'000)),
       "line 3: variant 'x' has a delegate of backend 'First' and no needs of it"},
      {concat(head, "needs\tFirst\t0\t\t\n", first), "line 2: needs before the first variant"},
  };
  for (const Case& one : cases) {
    INFO(one.expected);
    const auto program = open(one.table);
    REQUIRE(program.ok());
    const auto variants = host::Variants::of(**program);
    CHECK(variants.error() == one.error);
    const std::string text(variants.text());
    CHECK_THAT(text, ContainsSubstring(one.expected));
    CHECK_THAT(text, StartsWith("test.pte: the table of variants: "));
    CHECK(text.size() < 1000);
    CHECK(host::Method::load(*program, "forward", {.layers = {host::Variant()}}).text() == text);
  }
}

TEST_CASE("a strange table of variants that breaks no rule is read, chosen from and loaded",
          "[variants]") {
  const JudgingRegistry judging;
  struct Case {
    std::string table;
    std::size_t count;
  };
  const std::string both =
      concat(head, first, "variant\tforward\tforward@1\t0\tsecond\n", "needs\tSecond\t0\t\t\n");
  const Case cases[] = {
      {both, 2},  // Two that are equally wanted.
      {concat(both, repeated("data\tno such key\n", 1'000'000)), 2},
      {concat(head, "data\tbefore any variant\n", both.substr(head.size())), 2},
      {concat(both, repeated("\n", 1'000'000), "later", repeated("\t", 1'000'000)), 2},
      {concat(head, variant_with("-2147483648", "low"),
              "variant\tforward\tforward@1\t2147483647\thigh\nneeds\tSecond\t0\t\t\n"),
       2},
      {concat(head, variant_with("0", "\x1b[31mred\xff")), 1},
      {concat(head, needs_with("0", "", "no_such_feature")), 1},
      {concat(head, needs_with("4294967295", "", "")), 1},
  };
  for (const Case& one : cases) {
    INFO(one.table.substr(0, 200));
    const auto program = open(one.table);
    INFO(program.text());
    REQUIRE(program.ok());
    const auto all = host::Variants::of(**program);
    INFO(all.text());
    REQUIRE(all.ok());
    const auto variants = all->of_method("forward");
    REQUIRE(variants.size() == one.count);
    CHECK(all->of_method("forward@1").empty());
    CHECK(all->of_method("no such method").empty());
    CHECK(variants.front().priority >= variants.back().priority);
    const auto choice =
        host::choose_variant(*program, "forward", judging.options(), host::AskVariants::all);
    REQUIRE(choice.ok());
    CHECK(choice->answers.size() == one.count);
    CHECK(choice->status().text().find('\x1b') == std::string_view::npos);
    for (const host::ProgramVariant& variant : variants) {
      auto options = judging.options();
      options.layers = {host::Variant(std::string(variant.name))};
      const auto method = host::Method::load(*program, "forward", options);
      CHECK((method.ok() || !method.text().empty()));
      CHECK(method.text().find('\x1b') == std::string_view::npos);
    }
  }
}

TEST_CASE("the variants of each of many methods are found", "[variants]") {
  constexpr std::uint32_t count = 500;
  ProgramBuilder builder;
  std::string table(head);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string name = concat("method", i);
    for (const std::string& plan : {name, concat(name, "@other")}) {
      static_cast<void>(builder.plan(plan));
      table += concat("variant\t", name, "\t", plan, "\t", i, "\t", plan, "\n");
    }
  }
  builder.named_data("tenon.variants/1", builder.segment(bytes_of(table)));
  auto bytes = std::make_shared<AlignedBytes>(builder.build());
  const auto program = host::Program::from_bytes(std::as_const(*bytes).bytes(), bytes, "test.pte");
  INFO(program.text());
  REQUIRE(program.ok());
  const auto variants = host::Variants::of(**program);
  INFO(variants.text());
  REQUIRE(variants.ok());
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto found = variants->of_method(concat("method", i));
    REQUIRE(found.size() == 2);
    CHECK(found[0].plan == 2 * i);
    CHECK(found[1].plan == 2 * i + 1);
    CHECK(variants->of_method(concat("method", i, "@other")).empty());
  }
}

}  // namespace hostile_tables_test
