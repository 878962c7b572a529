// SPDX-License-Identifier: MIT
#include <algorithm>
#include <ctime>

#include "variants_support.hpp"

using namespace tenon;
using namespace tenon::test;
using Catch::Matchers::StartsWith;

namespace {

constexpr std::string_view head = "tenon.variants/1\n";
constexpr std::string_view whole =
    "variant\tforward\tforward\t0\tfirst\nneeds\tFirst\t0\t\t\n"
    "variant\tforward\tforward@1\t1\tsecond\nneeds\tSecond\t0\t\t\n";

std::vector<TestVariant> two() { return {{"First", "a"}, {"Second", "b"}}; }

/// The text of the error of reading `table` of a program of two plans; empty when it is read.
std::string fault(const std::string& table) {
  auto bytes = std::make_shared<AlignedBytes>(program_of(two(), &table).build());
  const auto program = host::Program::from_bytes(std::as_const(*bytes).bytes(), bytes, "test.pte");
  REQUIRE(program.ok());
  const auto variants = host::Variants::of(**program);
  if (variants.ok()) return "";
  CHECK(variants.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(variants.text()), StartsWith("test.pte: the table of variants"));
  return std::string(variants.text());
}

std::string fault_of(std::string_view lines) { return fault(concat(head, lines)); }

}  // namespace

TEST_CASE("a table of variants that is whole is read, with what a later version adds",
          "[variants]") {
  CHECK(fault_of(whole) == "");
  CHECK(fault_of(concat(whole, "data\tsome key\nlater\twords\n\n")) == "");
  CHECK(fault_of("variant\tforward\tforward\t0\tfirst\tlater\nneeds\tFirst\t0\t\t\tlater\n") == "");
  CHECK(fault(std::string(head.substr(0, head.size() - 1))) == "");
  CHECK(fault_of("variant\tforward@1\tforward@1\t0\talone\nneeds\tSecond\t0\t\t\n") == "");
}

TEST_CASE("a table of variants that a writer cannot have written is refused with its line",
          "[variants]") {
  const auto [lines, text] = GENERATE(table<std::string, std::string>({
      {"variant\tforward\tforward\t0\n", "line 2: variant has 3 fields, expected 4"},
      {"needs\tFirst\t0\t\t\n", "line 2: needs before the first variant"},
      {"variant\tforward\tforward\t0\tfirst\nneeds\tFirst\t0\t\n", "line 3: needs has 3 fields"},
      {"variant\tforward\tforward@2\t0\tfirst\n", "the program has no method 'forward@2'"},
      {"variant\tbackward\tforward\t0\tfirst\n", "the program has no method 'backward'"},
      {"variant\tforward\tforward\tten\tfirst\n", "the priority is 'ten', expected a number"},
      {"variant\tforward\tforward\t99999999999\tfirst\n", "the priority is '99999999999'"},
      {"variant\tforward\tforward\t0\t\n", "the name of the variant is empty"},
      {"variant\tforward\tforward\t0\tfirst\nneeds\tSecond\t0\t\t\n",
       "no delegate of the variant names backend 'Second'"},
      {"variant\tforward\tforward\t0\tfirst\nneeds\tFirst\t0\t\t\nneeds\tFirst\t0\t\t\n",
       "line 4: backend 'First' twice"},
      {"variant\tforward\tforward\t0\tfirst\nneeds\tFirst\t-1\t\t\n",
       "the payload version is '-1'"},
      {"variant\tforward\tforward\t0\tfirst\n",
       "'first' has a delegate of backend 'First' and no needs of it"},
      {"variant\tforward\tforward\t0\tfirst\nvariant\tforward\tforward@1\t0\tsecond\n",
       "line 3: variant 'first' has a delegate of backend 'First' and no needs"},
      // One plan twice, and a method that is a variant of another one.
      {concat(whole, "variant\tforward\tforward@1\t1\tthird\n"),
       "line 6: method 'forward@1' is a variant already"},
      {"variant\tforward\tforward@1\t0\tfirst\nneeds\tSecond\t0\t\t\n",
       "method 'forward' is no variant of itself"},
      {"variant\tforward\tforward@1\t0\ta\nneeds\tSecond\t0\t\t\n"
       "variant\tforward@1\tforward\t0\tb\nneeds\tFirst\t0\t\t\n",
       "is no variant of itself"},
      {"variant\tforward\tforward\t0\tsame\nneeds\tFirst\t0\t\t\n"
       "variant\tforward\tforward@1\t1\tsame\nneeds\tSecond\t0\t\t\n",
       "'same' is also"},
  }));
  INFO(lines);
  CHECK_THAT(fault_of(lines), ContainsSubstring(text));
}

TEST_CASE("a table of variants of another format is refused", "[variants]") {
  CHECK_THAT(fault(""), ContainsSubstring("the table of variants is empty"));
  CHECK_THAT(fault("tenon.variants/2\n"), ContainsSubstring("expected tenon.variants/1"));
  CHECK_THAT(fault("\x7f"
                   "ELF"),
             ContainsSubstring("line 1"));
}

TEST_CASE("a variant with other inputs or outputs than its method is refused", "[variants]") {
  const auto refused = [](const auto& change) {
    auto builder = program_of(two());
    change(*builder.program.execution_plan[1]);
    auto bytes = std::make_shared<AlignedBytes>(builder.build());
    const auto program =
        host::Program::from_bytes(std::as_const(*bytes).bytes(), bytes, "test.pte");
    REQUIRE(program.ok());
    const auto variants = host::Variants::of(**program);
    CHECK(variants.error() == Error::InvalidProgram);
    return std::string(variants.text());
  };
  CHECK_THAT(refused([](auto& plan) { plan.inputs.push_back(plan.inputs[0]); }),
             ContainsSubstring("method 'forward@1': it has 2 inputs, its method has 1"));
  CHECK_THAT(refused([](auto& plan) { plan.outputs.clear(); }),
             ContainsSubstring("it has 0 outputs, its method has 1"));
  CHECK_THAT(refused([](auto& plan) {
               plan.values[0]->val.AsTensor()->sizes = {2, 2};
               plan.values[0]->val.AsTensor()->dim_order = {0, 1};
             }),
             ContainsSubstring("input 0 is not of the kind, type, sizes"));
  CHECK_THAT(refused([](auto& plan) {
               plan.values[1]->val.AsTensor()->scalar_type = schema::ScalarType::INT;
             }),
             ContainsSubstring("output 0 is not of the kind, type, sizes"));
}

TEST_CASE("the time to read a table of variants grows with its length", "[variants]") {
  const auto milliseconds = [](std::size_t count) {
    std::vector<TestVariant> variants(count, {"First", "a"});
    auto bytes = std::make_shared<AlignedBytes>(program_of(variants).build());
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
      const std::clock_t start = std::clock();  // Of this process: others do not count.
      const auto program =
          host::Program::from_bytes(std::as_const(*bytes).bytes(), bytes, "test.pte");
      REQUIRE(program.ok());
      const auto read = host::Variants::of(**program);
      const double took = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      REQUIRE(read.ok());
      CHECK(read->of_method("forward").size() == count);
      CHECK(read->visible_methods().size() == 1);
      best = std::min(best, took);
    }
    return best;
  };
  const double few = milliseconds(500);
  const double many = milliseconds(8000);
  INFO(few << " ms for 500, " << many << " ms for 8000");
  // Sixteen times as many, and half of what a square would make of that.
  CHECK(many < (few + 0.5) * 16 * 8);
}
