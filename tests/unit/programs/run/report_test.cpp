// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "support/catch.hpp"

namespace {

using namespace tenon;
using namespace tenon::host;
using namespace tenon::run;

Report example() {
  Report report;
  report.program = "m.pte";
  report.method = "forward";
  report.inputs.push_back({"x.npy", "Float [2]", tenon::ScalarType::Float, {2}});
  OutputReport output;
  output.kind = "Tensor";
  output.type = "Float [2]";
  output.dtype = tenon::ScalarType::Float;
  output.shape = {2};
  output.text = "1, 2";
  report.outputs.push_back(output);
  report.timings = {1'500, 2'000'000, 3'000'000'000, std::nullopt, {40, 10, 30, 20}};
  return report;
}

}  // namespace

TEST_CASE("the text shows inputs, outputs and times", "[report]") {
  CHECK(tenon::run::to_text(example()) ==
        "m.pte: method forward\n"
        "input 0: Float [2] from x.npy\n"
        "output 0: Float [2]: 1, 2\n"
        "time: open 1.50 us, backends 2.00 ms, load 3.00 s, execute 10 ns (min of 4, median 20 "
        "ns)\n");
}

TEST_CASE("the time of init is shown when it is known", "[report]") {
  Report report = example();
  CHECK(nlohmann::json::parse(tenon::run::to_json(report)).at("timings").at("init_ns").is_null());
  report.timings.init_ns = 500;
  CHECK_THAT(tenon::run::to_text(report), ContainsSubstring("load 3.00 s (init 500 ns), execute"));
  CHECK(nlohmann::json::parse(tenon::run::to_json(report)).at("timings").at("init_ns") == 500);
}

TEST_CASE("comparisons and files are printed below their output", "[report]") {
  Report report = example();
  report.outputs[0].file = "out/output0.npy";
  report.outputs[0].expected_file = "y.npy";
  report.outputs[0].comparison = Comparison{};
  report.outputs[0].comparison->difference = "shape is [2], expected [3]";
  CHECK_THAT(tenon::run::to_text(report),
             ContainsSubstring("output 0: Float [2]: 1, 2\n"
                               "  y.npy: differs: shape is [2], expected [3]\n"
                               "  written to out/output0.npy\n"));
}

TEST_CASE("the JSON object is valid whatever the names hold", "[report]") {
  Report report = example();
  report.program = "\xff\n\"m.pte\\";
  report.code = ExitCode::execute_failed;
  report.failure = tenon::error(Error::Internal, "\xfe");
  const std::string text = tenon::run::to_json(report);
  CHECK(text.find('\n') == text.size() - 1);
  const auto json = nlohmann::json::parse(text);
  CHECK(json.at("status") == "error");
  CHECK(json.at("error").at("name") == "Internal");
}

TEST_CASE("numbers that JSON does not have become null", "[report]") {
  Report report = example();
  Comparison comparison;
  comparison.largest_relative = Mismatch{{0}, "1", "0", 1, std::numeric_limits<double>::infinity()};
  report.outputs[0].comparison = comparison;
  const auto json = nlohmann::json::parse(tenon::run::to_json(report));
  const auto& compare = json.at("outputs").at(0).at("compare");
  CHECK(compare.at("largest_relative").at("absolute") == 1.0);
  CHECK(compare.at("largest_relative").at("relative").is_null());
  CHECK(compare.at("largest_absolute").is_null());
}

TEST_CASE("an output that is not an array has neither dtype nor shape", "[report]") {
  Report report = example();
  report.outputs[0] = {};
  report.outputs[0].kind = "String";
  report.outputs[0].text = "'a'";
  const auto json = nlohmann::json::parse(tenon::run::to_json(report));
  CHECK(json.at("outputs").at(0).at("dtype").is_null());
  CHECK(json.at("outputs").at(0).at("shape").is_null());
  CHECK(json.at("outputs").at(0).at("text") == "'a'");
}

TEST_CASE("an error is one line", "[report]") {
  CHECK(tenon::tool::error_line("tenon-run",
                                tenon::error(Error::InvalidProgram, "a\nb\x1b[31m\tc")) ==
        "tenon-run: InvalidProgram (0x23): a\\nb\\x1b[31m\\tc\n");
}

TEST_CASE("the median of an even number is the lower one in the middle", "[report]") {
  CHECK(tenon::run::spread_of({}).median == 0);
  CHECK(tenon::run::spread_of({5}).median == 5);
  CHECK(tenon::run::spread_of({9, 1, 5}).median == 5);
  CHECK(tenon::run::spread_of({9, 1, 5, 3}).median == 3);
  CHECK(tenon::run::spread_of({9, 1, 5, 3}).min == 1);
}
