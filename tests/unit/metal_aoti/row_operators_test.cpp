// SPDX-License-Identifier: MIT
//
// The weights of attention, and topk, which computes one row with a threadgroup.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "device.hpp"
#include "stand_in_device.hpp"

using namespace metal_test;
using namespace tenon::metal_aoti;

namespace row_operators_test {
using metal_test::ModelTensor;
namespace {

/// The threads of a threadgroup of each dispatch in its scope.
class GroupSizes {
 public:
  GroupSizes() { tenon::metal_stand_in::control().group_sizes = &sizes_; }
  GroupSizes(const GroupSizes&) = delete;
  GroupSizes& operator=(const GroupSizes&) = delete;
  ~GroupSizes() { tenon::metal_stand_in::control().group_sizes = nullptr; }
  [[nodiscard]] const std::vector<std::uint64_t>& get() const { return sizes_; }

 private:
  std::vector<std::uint64_t> sizes_;
};

constexpr ContextSettings with_weights{std::size_t{64} << 20, 0, true};

/// True when `a` precedes `b` in the result of topk.
bool precedes(double a, double b, bool largest) {
  if (std::isnan(a) != std::isnan(b)) return std::isnan(a) == largest;
  return largest ? a > b : a < b;
}

}  // namespace

TEST_CASE("attention gives its weights where they are asked for, for rows of any length",
          "[metal]") {
  Bench bench(with_weights);
  const std::int64_t queries = 3, depth = 4;
  const Handle query = bench.random({1, 1, queries, depth});
  for (const std::int64_t keys : {1, 31, 32, 33, 255, 256, 257, 1000}) {
    INFO(keys);
    const Handle key = bench.random({1, 1, keys, depth});
    Handle value = bench.empty({1, 1, keys, 1});
    for (std::int64_t j = 0; j < keys; ++j) value.set(j, static_cast<double>(j % 7));
    Handle out, weights;
    double scale = 3;
    REQUIRE(aoti_torch_mps__scaled_dot_product_attention_math_for_mps(
                query.get(), key.get(), value.get(), nullptr, 0.0, 0, nullptr, &scale, out.out(),
                weights.out()) == 0);
    REQUIRE(bench.wait().empty());
    for (std::int64_t row = 0; row < queries; ++row) {
      std::vector<double> expected;
      for (std::int64_t j = 0; j < keys; ++j) {
        double score = 0;
        for (std::int64_t e = 0; e < depth; ++e) {
          score += query.at(row * depth + e) * key.at(j * depth + e);
        }
        expected.push_back(std::exp(score * scale));
      }
      const double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
      double most = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        const double weight = expected[static_cast<std::size_t>(j)] / sum;
        most = std::max(most, std::abs(weights.at(row * keys + j) - weight));
      }
      CHECK(most < 1e-6);
    }
  }
}

TEST_CASE("attention: a row without an unmasked key is zero, a row with NaN is NaN, others are not",
          "[metal]") {
  Bench bench(with_weights);
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::int64_t keys = 300;
  const Handle query = bench.random({1, 1, 3, 4});
  const Handle key = bench.random({1, 1, keys, 4});
  const Handle value = bench.random({1, 1, keys, 1});
  Handle mask = bench.empty({3, keys});
  for (std::int64_t i = 0; i < 2 * keys; ++i) mask.set(i, -infinity);
  mask.set(keys + 290, nan);  // The second row has nothing else.
  for (std::int64_t i = 2 * keys; i < 3 * keys; ++i)
    mask.set(i, i == 2 * keys + 299 ? 0 : -infinity);
  Handle out, weights;
  ModelTensor* given = mask.get();
  REQUIRE(aoti_torch_mps__scaled_dot_product_attention_math_for_mps(
              query.get(), key.get(), value.get(), &given, 0.0, 0, nullptr, nullptr, out.out(),
              weights.out()) == 0);
  REQUIRE(bench.wait().empty());
  for (std::int64_t j = 0; j < keys; ++j) {
    CHECK(weights.at(j) == 0);
    CHECK(std::isnan(weights.at(keys + j)));
    CHECK(weights.at(2 * keys + j) == (j == 299 ? 1 : 0));
  }
  CHECK(out.at(0) == 0);
  CHECK(std::isnan(out.at(1)));
  CHECK(out.at(2) == value.at(299));
}

TEST_CASE("topk: a threadgroup computes a row of any length, in every dtype", "[metal]") {
  Bench bench;
  struct Case {
    std::int64_t columns, k;
    ScalarType type;
  };
  for (const Case& c : {Case{1, 1, ScalarType::Float}, Case{33, 33, ScalarType::Half},
                        Case{256, 3, ScalarType::BFloat16}, Case{257, 2, ScalarType::Byte},
                        Case{1000, 40, ScalarType::Float}, Case{700, 9, ScalarType::Long}}) {
    INFO(c.columns << " " << c.k << " " << name_of(c.type));
    Handle rows = bench.empty({2, c.columns}, c.type);
    for (std::int64_t i = 0; i < 2 * c.columns; ++i) {
      // Whole numbers with many equal ones.
      rows.set(i, static_cast<double>(i * 7919 % 101));
    }
    if (c.type == ScalarType::Float && c.columns > 1) {
      rows.set(c.columns / 2, std::numeric_limits<double>::quiet_NaN());
    }
    for (const bool largest : {true, false}) {
      Handle values, places;
      const GroupSizes groups;
      REQUIRE(aoti_torch_mps_topk(rows.get(), c.k, 1, largest, 1, values.out(), places.out()) == 0);
      REQUIRE(bench.wait().empty());
      CHECK(groups.get() ==
            std::vector<std::uint64_t>{static_cast<std::uint64_t>(std::min<std::int64_t>(
                (c.columns + 31) / 32 * 32, std::int64_t{most_row_threads}))});
      int num_wrong = 0;
      for (std::int64_t row = 0; row < 2; ++row) {
        std::vector<std::int64_t> order(static_cast<std::size_t>(c.columns));
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
          return precedes(rows.at(row * c.columns + a), rows.at(row * c.columns + b), largest);
        });
        for (std::int64_t n = 0; n < c.k; ++n) {
          const std::int64_t place = order[static_cast<std::size_t>(n)];
          const double value = rows.at(row * c.columns + place);
          const double found = values.at(row * c.k + n);
          if (places.at(row * c.k + n) != static_cast<double>(place)) ++num_wrong;
          if (found != value && !(std::isnan(found) && std::isnan(value))) ++num_wrong;
        }
      }
      CHECK(num_wrong == 0);
    }
  }
}

TEST_CASE("topk: order, equal elements, NaN, another dimension than the last", "[metal]") {
  Bench bench;
  Handle row = bench.empty({1, 6});
  const double values[] = {2, 5, std::numeric_limits<double>::quiet_NaN(), 5, -1, 3};
  for (std::int64_t i = 0; i < 6; ++i) row.set(i, values[i]);
  for (const bool largest : {true, false}) {
    Handle best, places;
    REQUIRE(aoti_torch_mps_topk(row.get(), 6, -1, largest, 1, best.out(), places.out()) == 0);
    REQUIRE(bench.wait().empty());
    const std::int64_t expected[2][6] = {{4, 0, 5, 1, 3, 2}, {2, 1, 3, 5, 0, 4}};
    for (std::int64_t i = 0; i < 6; ++i) {
      CHECK(places.at(i) == static_cast<double>(expected[largest ? 1 : 0][i]));
    }
  }
  Handle whole = bench.empty({3, 2}, ScalarType::Long);
  for (std::int64_t i = 0; i < 6; ++i) whole.set(i, static_cast<double>(i * 7 % 5));
  Handle best, places;
  REQUIRE(aoti_torch_mps_topk(whole.get(), 1, 0, 1, 1, best.out(), places.out()) == 0);
  REQUIRE(bench.wait().empty());
  CHECK(best.at(0) == 4);  // 0, 4, 3
  CHECK(places.at(0) == 1);
  CHECK(best.at(1) == 2);  // 2, 1, 0
  CHECK(places.at(1) == 0);
  Handle none, nowhere;
  CHECK(aoti_torch_mps_topk(whole.get(), 4, 0, 1, 1, none.out(), nowhere.out()) != 0);
  CHECK_THAT(bench.pool().take_failure(), ContainsSubstring("k: expected 0 to 3, found 4"));
}

}  // namespace row_operators_test
