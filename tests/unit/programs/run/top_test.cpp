// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "report.hpp"
#include "run.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "top.hpp"

using namespace tenon;
using namespace tenon::run;

namespace {

std::vector<std::vector<ClassScore>> top_of(const std::vector<float>& values,
                                            std::vector<std::int64_t> shape, std::size_t count,
                                            const std::vector<std::string>& labels = {}) {
  return top_classes({ScalarType::Float, shape, std::as_bytes(std::span(values))}, count, labels);
}

}  // namespace

TEST_CASE("the largest elements are reported in their order", "[tenon-run]") {
  const auto top = top_of({0.1f, 0.7f, 0.2f, 0.7f}, {1, 4}, 3, {"cat", "dog"});
  REQUIRE(top.size() == 1);
  REQUIRE(top[0].size() == 3);
  CHECK(top[0][0].index == 1);  // The first of two equal ones.
  CHECK(top[0][1].index == 3);
  CHECK(top[0][2].index == 2);
  CHECK(top[0][0].label == "dog");
  CHECK(top[0][1].label.empty());  // There are fewer labels than classes.
}

TEST_CASE("a NaN is never a class before a number", "[tenon-run]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto top = top_of({nan, -1.0f, nan, 5.0f}, {4}, 9);
  REQUIRE(top[0].size() == 4);  // Not more than there are.
  CHECK(top[0][0].index == 3);
  CHECK(top[0][1].index == 1);
  CHECK(top[0][2].index == 0);
}

TEST_CASE("the classes come from a sorted row, however many are asked for", "[tenon-run]") {
  std::vector<float> values;
  for (int i = 0; i < 200; ++i) values.push_back(static_cast<float>(i * 37 % 50));
  values[77] = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return a != 77 && (b == 77 || values[a] > values[b]);
  });
  for (const std::size_t count : std::initializer_list<std::size_t>{1, 2, 7, 199, 200, 500}) {
    const auto top = top_of(values, {200}, count);
    REQUIRE(top[0].size() == std::min<std::size_t>(count, 200));
    for (std::size_t i = 0; i < top[0].size(); ++i) CHECK(top[0][i].index == order[i]);
  }
  CHECK(top_of(values, {200}, 0).empty());
}

TEST_CASE("each row has its classes, and only the first rows are reported", "[tenon-run]") {
  CHECK(top_of({1, 2, 4, 3}, {2, 2}, 1).at(1).at(0).index == 0);
  CHECK(top_of(std::vector<float>(200), {100, 2}, 1).size() == max_top_rows);
}

TEST_CASE("an output without rows of numbers has no classes", "[tenon-run]") {
  CHECK(top_of({1.0f}, {1}, 1).empty());
  CHECK(top_of({1.0f}, {}, 1).empty());
  const std::vector<std::int64_t> whole{1, 2};
  const std::vector<std::int64_t> shape{2};
  CHECK(top_classes({ScalarType::Long, shape, std::as_bytes(std::span(whole))}, 1, {}).empty());
}

TEST_CASE("labels are lines, and a file that is not there is named", "[tenon-run]") {
  const test::TemporaryDirectory directory;
  const auto path = directory.write("labels.txt", "zero\r\none\n");
  CHECK(*read_labels(path) == std::vector<std::string>{"zero", "one"});
  const auto missing = read_labels("/nowhere/labels.txt");
  CHECK(missing.error() == Error::AccessFailed);
  CHECK_THAT(std::string(missing.text()), ContainsSubstring("/nowhere/labels.txt"));
}

TEST_CASE("classes are part of both reports", "[tenon-run]") {
  Report report;
  OutputReport output;
  output.kind = "Tensor";
  output.type = "Float [1, 2]";
  output.top = {{{1, "dog", 0.75}, {0, "", 0.25}}};
  report.outputs.push_back(output);
  CHECK_THAT(to_text(report), ContainsSubstring("  class 1 (dog): 0.75\n  class 0: 0.25\n"));
  CHECK_THAT(to_json(report),
             ContainsSubstring(
                 R"("top":[[{"index":1,"label":"dog","score":0.75},{"index":0,"label":null)"));
}
