// SPDX-License-Identifier: MIT
//
// The table of docs/hosts/proof.md: which wrong plugins the proof of a load catches, which a later
// one, and which none.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "prove_support.hpp"

using namespace prove_test;

namespace {

enum class Caught { by_load, later, never };

struct Row {
  std::string_view plugin;
  Caught caught;
  /// Of the difference, or empty.
  std::string_view difference;
};

/// `count` runs on zeros.
void run(host::Method& method, int count) {
  static const std::vector<float> zeros(8);
  static const std::vector<std::int64_t> sizes{8};
  REQUIRE(method
              .set_input(0, host::InputTensor{tenon::ScalarType::Float, sizes,
                                              std::as_bytes(std::span(zeros))})
              .ok());
  for (int i = 0; i < count; ++i) REQUIRE(method.execute().ok());
}

}  // namespace

TEST_CASE("of twelve wrong plugins a proof of three cases catches nine at load", "[prove]") {
  constexpr std::array rows = {
      Row{"nothing", Caught::never, ""},
      Row{"one_element", Caught::by_load, "case 0: output 0: 1 of 8 elements differs, worst 0.5"},
      Row{"nan_element", Caught::by_load, "case 0: output 0: 1 of 8 elements differs, worst inf"},
      Row{"zeros", Caught::by_load, "case 0: output 0: 8 of 8 elements differ"},
      Row{"unwritten", Caught::by_load, "case 0: output 0: "},
      Row{"swapped", Caught::by_load, "case 0: output 0: 2 of 8 elements differ"},
      Row{"negative", Caught::by_load, "case 0: output 0: "},
      Row{"low_precision", Caught::by_load, "case 0: output 0: "},
      Row{"second_call", Caught::by_load, "case 1: output 0: 7 of 7 elements differ"},
      Row{"odd_sizes", Caught::by_load, "case 1: output 0: 7 of 7 elements differ"},
      Row{"every_tenth_call", Caught::later, "output 0: "},
      Row{"after_1000_calls", Caught::later, "case 0: output 0: 8 of 8 elements differ"},
      Row{"large_values", Caught::never, ""},
  };
  const Fixture fixture;
  const auto program = fixture.program();
  for (const Row& row : rows) {
    INFO(std::string(row.plugin));
    const auto registry = registry_with(row.plugin);
    const auto method = load(program, *registry, {host::Prove(fixture.cache)});
    INFO(method.text());
    CHECK(method.ok() == (row.caught != Caught::by_load));
    if (!method.ok()) {
      CHECK(method.text().find(row.difference) != std::string_view::npos);
      continue;
    }
    // The proof is repeated, as an application does between its runs.
    std::string difference;
    for (int i = 0; i < 4 && difference.empty(); ++i) {
      run(**method, i == 3 ? 1000 : 0);
      const auto proof = host::prove(**method);
      REQUIRE(proof.ok());
      difference = proof->difference;
    }
    INFO(difference);
    CHECK(difference.empty() == (row.caught == Caught::never));
    CHECK(difference.find(row.difference) != std::string::npos);
  }
}

TEST_CASE("golden cases of values that matter catch a plugin that is wrong for these alone",
          "[prove]") {
  const std::vector<float> x{1000, 1};
  const std::vector<float> y{2001, 3};
  const std::vector<std::int64_t> shape{2};
  host::GoldenTensor in{0, tenon::ScalarType::Float, shape, std::as_bytes(std::span(x)), {}};
  host::GoldenTensor out{0, tenon::ScalarType::Float, shape, std::as_bytes(std::span(y)), {}};
  Cases cases(std::vector<std::size_t>{});
  auto written = host::write_golden({{}, {{"forward", {in}, {out}}}});
  REQUIRE(written.ok());
  cases.bytes = *std::move(written);
  const Fixture fixture;
  const auto program = fixture.program(cases);
  const auto registry = registry_with("large_values");
  const auto method = load(program, *registry, {host::Prove(fixture.cache)});
  INFO(method.text());
  CHECK(
      method.text().find("1 of 2 elements differs, worst 1800 at [0]: found 201, expected 2001") !=
      std::string_view::npos);
}
