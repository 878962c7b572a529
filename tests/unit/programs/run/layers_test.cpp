// SPDX-License-Identifier: MIT
//
// Which layers of two runs are compared, and how they are judged and shown.
#include "layers.hpp"

#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace tenon;
using namespace tenon::run;

namespace layers_test {
namespace {

host::IntermediateTensor tensor(std::size_t of, const std::vector<float>& values) {
  host::IntermediateTensor out;
  out.intermediate = of;
  out.shape = {static_cast<std::int64_t>(values.size())};
  out.data.resize(values.size() * sizeof(float));
  std::memcpy(out.data.data(), values.data(), out.data.size());
  return out;
}

host::Intermediate step(std::int64_t handle, std::vector<std::uint32_t> debug_handles = {},
                        std::vector<std::string> nodes = {}) {
  host::Intermediate out;
  out.delegate = 0;
  out.handle = handle;
  out.name = concat("Step", handle);
  out.debug_handles = std::move(debug_handles);
  out.nodes = std::move(nodes);
  return out;
}

/// Three steps; the second is of two nodes.
RecordedRun some_run() {
  return {{step(0, {1}, {"a"}), step(1, {2, 3}, {"b", "c"}), step(2, {4}, {"<d>"})},
          {tensor(0, {1, 2}), tensor(1, {3, 4}), tensor(2, {5})},
          {}};
}

}  // namespace

TEST_CASE("layers are matched by the node whose result they are", "[layers]") {
  const RecordedRun found = some_run();
  // The other backend has a step for each node, in another order, and one more.
  const RecordedRun expected = {
      {step(7, {9}), step(5, {4}), step(6, {3}), step(4, {1})},
      {tensor(0, {0}), tensor(1, {5}), tensor(2, {3, 5}), tensor(3, {1, 2})}};
  const auto report = compare_layers(found, expected, false, {});
  INFO(report.text());
  REQUIRE(report.ok());
  CHECK(report->matched_by == "debug_handle");
  REQUIRE(report->layers.size() == 3);
  CHECK(report->layers[0].equal);
  CHECK(report->layers[1].node == "c");
  CHECK(report->layers[1].debug_handle == 3U);
  CHECK_FALSE(report->layers[1].equal);
  CHECK(report->layers[1].comparison.peak == 0.2);
  CHECK(report->first == 1U);
  CHECK(report->only_here == 0);
  CHECK(report->only_in_reference == 1);
  const std::string text = layers_text(*report);
  CHECK_THAT(text, ContainsSubstring("> 3 "));
  CHECK_THAT(text, ContainsSubstring("first layer that differs: c (Step1), handle 3\n"));
  const std::string svg = layers_svg(*report);
  CHECK_THAT(svg, ContainsSubstring("&lt;d&gt;"));
  CHECK(svg.find("<d>") == std::string::npos);
  CHECK(svg.ends_with("</svg>\n"));
}

TEST_CASE("without debug handles the steps of one program are matched, and no others", "[layers]") {
  const RecordedRun run = {{step(0), step(1)}, {tensor(0, {1}), tensor(1, {2}), tensor(1, {3})}};
  RecordedRun other = run;
  other.tensors[2] = tensor(1, {4});
  const auto report = compare_layers(run, other, true, {});
  REQUIRE(report.ok());
  CHECK(report->matched_by == "step");
  // The second step ran twice, and differed the second time.
  REQUIRE(report->layers.size() == 3);
  CHECK(report->first == 2U);
  CHECK_THAT(layers_text(*report), ContainsSubstring("Step1, handle 0:1"));

  const auto refused = compare_layers(run, some_run(), false, {});
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("the program has none"));
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("--debug-handles"));
}

TEST_CASE("two runs without a common layer are refused", "[layers]") {
  const RecordedRun other = {{step(0, {77})}, {tensor(0, {1})}};
  const auto refused = compare_layers(some_run(), other, false, {});
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("no layer in common"));
}

TEST_CASE("outputs are the last layers, and the only ones of a run without others", "[layers]") {
  RecordedRun found = some_run();
  found.outputs = {tensor(0, {1, 2}), tensor(1, {3})};
  RecordedRun expected = some_run();
  expected.outputs = {tensor(0, {1, 4})};
  const auto both = compare_layers(found, expected, false, {});
  REQUIRE(both.ok());
  REQUIRE(both->layers.size() == 4);
  CHECK(both->first == 3U);
  CHECK_THAT(layers_text(*both),
             ContainsSubstring("first layer that differs: output 0, handle out 0\n"));

  expected.known.clear();
  expected.tensors.clear();
  const auto alone = compare_layers(found, expected, false, {});
  REQUIRE(alone.ok());
  CHECK(alone->matched_by == "output");
  CHECK(alone->layers.size() == 1);
  CHECK(alone->only_here == 3);
  CHECK(alone->first == 0U);
}

TEST_CASE("a tolerance of the caller is for each element, the default for the layer", "[layers]") {
  const RecordedRun found = {{step(0)}, {tensor(0, {1000, 0.1F})}};
  const RecordedRun expected = {{step(0)}, {tensor(0, {1000, 0.2F})}};
  const auto by_default = compare_layers(found, expected, true, {});
  REQUIRE(by_default.ok());
  CHECK_FALSE(by_default->first);
  CHECK_THAT(layers_text(*by_default), ContainsSubstring("all layers agree"));
  const auto strict = compare_layers(found, expected, true, {.rtol = 1e-3, .atol = {}});
  REQUIRE(strict.ok());
  CHECK(strict->first == 0U);
}

TEST_CASE("a layer of another shape, and one that is not finite, differ", "[layers]") {
  const RecordedRun expected = {{step(0), step(1)}, {tensor(0, {1}), tensor(1, {1})}};
  const RecordedRun found = {
      {step(0), step(1)},
      {tensor(0, {1, 1}), tensor(1, {std::numeric_limits<float>::quiet_NaN()})}};
  const auto report = compare_layers(found, expected, true, {});
  REQUIRE(report.ok());
  CHECK_FALSE(report->layers[0].equal);
  CHECK_FALSE(report->layers[0].comparison.difference.empty());
  CHECK_FALSE(report->layers[1].equal);
  CHECK_THAT(layers_svg(*report), ContainsSubstring("</svg>"));
}

}  // namespace layers_test
