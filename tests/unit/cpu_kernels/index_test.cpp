// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernel_support.hpp"
#include "support/catch.hpp"

using namespace kernel_test;
using namespace tenon::cpu_aoti;

namespace {

Handle list(const Shape& sizes, const std::vector<double>& values,
            ScalarType type = ScalarType::Long) {
  Handle out = make(sizes, type);
  for (std::size_t i = 0; i < values.size(); ++i) out.set(static_cast<std::int64_t>(i), values[i]);
  return out;
}

constexpr ScalarType types[] = {ScalarType::Byte,   ScalarType::Short,   ScalarType::Int,
                                ScalarType::Long,   ScalarType::Half,    ScalarType::Float,
                                ScalarType::Double, ScalarType::BFloat16};

}  // namespace

TEST_CASE("index_put: position of the indices' dimensions", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : types) {
    for (const bool accumulate : {false, true}) {
      Handle self = random(source, {3, 4, 5}, type, {1, 15, 3});
      Handle rows = list({2, 1}, {0, -1});
      Handle columns = list({3}, {4, 1, -5}, ScalarType::Int);
      const auto old = self.values();
      ModelTensor* first = rows.get();
      ModelTensor* second = columns.get();
      {  // Neighbours: their place. self[:, [[0], [-1]], [4, 1, -5]] has shape [3, 2, 3].
        ModelTensor* const* indices[] = {nullptr, &first, &second};
        Handle values = random(source, {3, 1, 3}, type);
        Handle out;
        REQUIRE(aoti_torch_cpu_index_put(self.get(), indices, 3, values.get(), accumulate,
                                         out.out()) == 0);
        CHECK(out.strides() == self.strides());
        auto expected = old;
        for (std::size_t i = 0; i < 3; ++i) {
          for (const std::size_t row : {std::size_t{0}, std::size_t{3}}) {
            for (std::size_t j = 0; j < 3; ++j) {
              const std::size_t column = j == 0 ? 4 : j == 1 ? 1 : 0;
              double& to = expected[(i * 4 + row) * 5 + column];
              to = values.at(static_cast<std::int64_t>(i * 3 + j)) + (accumulate ? to : 0);
            }
          }
        }
        CHECK(difference(out.values(), expected, tolerance(type, 2)) == "");
      }
      {  // Not neighbours: in front. self[[[0], [-1]], :, [4, 1, -5]] has shape [2, 3, 4].
        ModelTensor* const indices[] = {first, nullptr, second};
        Handle values = random(source, {2, 3, 4}, type);
        Handle out = make({3, 4, 5}, type);
        REQUIRE(aoti_torch_index_put_out(out.get(), self.get(), indices, 3, values.get(),
                                         accumulate) == 0);
        auto expected = old;
        for (std::size_t i = 0; i < 2; ++i) {
          for (std::size_t j = 0; j < 3; ++j) {
            const std::size_t column = j == 0 ? 4 : j == 1 ? 1 : 0;
            for (std::size_t k = 0; k < 4; ++k) {
              double& to = expected[(i * 2 * 4 + k) * 5 + column];
              to =
                  values.at(static_cast<std::int64_t>((i * 3 + j) * 4 + k)) + (accumulate ? to : 0);
            }
          }
        }
        CHECK(difference(out.values(), expected, tolerance(type, 2)) == "");
      }
    }
  }
}

TEST_CASE("index_put_out: the same place many times, and in place", "[cpu_aoti]") {
  Fixture fixture;
  for (const ScalarType type : types) {
    Handle self = list({4}, {1, 2, 3, 4}, type);
    Handle where = list({5}, {2, 2, 0, 2, 0});
    Handle one = list({}, {1}, type);
    ModelTensor* const indices[] = {where.get()};
    REQUIRE(aoti_torch_index_put_out(self.get(), self.get(), indices, 1, one.get(), true) == 0);
    CHECK(self.values() == std::vector<double>{3, 2, 6, 4});
    REQUIRE(aoti_torch_index_put_out(self.get(), self.get(), indices, 1, one.get(), false) == 0);
    CHECK(self.values() == std::vector<double>{1, 2, 1, 4});
  }
}

TEST_CASE("index_put: refusals, and no memory in a second call", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  Handle self = random(source, {3, 4});
  Handle value = random(source, {1});
  Handle good = list({2}, {0, 2});
  const auto refusal = [&](std::vector<ModelTensor*> indices, const Handle& values) {
    CHECK(aoti_torch_index_put_out(self.get(), self.get(), indices.data(),
                                   static_cast<std::uint32_t>(indices.size()), values.get(),
                                   false) == 1);
    return fixture.pool.take_failure();
  };
  Handle large = list({2}, {0, 3}), small = list({2}, {0, -5});
  Handle mask = list({2}, {1, 0}, ScalarType::Bool), real = list({1}, {1}, ScalarType::Float);
  Handle three = list({3}, {0, 1, 2}), wide = random(source, {2, 3});
  Handle whole = list({1}, {1});
  CHECK_THAT(refusal({large.get()}, value),
             ContainsSubstring("index 3: expected -3 to below 3, the size of dimension 0"));
  CHECK_THAT(refusal({nullptr, small.get()}, value),
             ContainsSubstring("index -5: expected -4 to below 4, the size of dimension 1"));
  CHECK_THAT(refusal({mask.get()}, value),
             ContainsSubstring("a mask [2] as an index from dimension 0"));
  CHECK_THAT(refusal({real.get()}, value), ContainsSubstring("an index of Float"));
  CHECK_THAT(refusal({nullptr}, value), ContainsSubstring("no index tensor"));
  CHECK_THAT(refusal({good.get(), three.get()}, value), ContainsSubstring("broadcasts with [2]"));
  CHECK_THAT(refusal({good.get(), good.get(), good.get()}, value),
             ContainsSubstring("indices for 3 dimensions of [3, 4]"));
  CHECK_THAT(refusal({good.get()}, wide),
             ContainsSubstring("values [2, 3]: expected some that broadcast to [2, 4]"));
  CHECK_THAT(refusal({good.get()}, whole), ContainsSubstring("values of Long"));
  std::size_t before = 0;
  for (int i = 0; i < 2; ++i) {
    ModelTensor* const indices[] = {good.get()};
    before = allocations();
    REQUIRE(aoti_torch_index_put_out(self.get(), self.get(), indices, 1, value.get(), true) == 0);
  }
  CHECK(allocations() == before);
}

TEST_CASE("scatter: sources and numbers along each dimension", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : types) {
    for (std::int64_t dim = 0; dim < 2; ++dim) {
      Handle self = random(source, {4, 5}, type, {1, 4});
      Handle src = random(source, {3, 4}, type, {1, 3});
      Handle index = make({2, 3}, source.below(2) == 0 ? ScalarType::Int : ScalarType::Long);
      for (std::int64_t i = 0; i < 6; ++i) {  // No place twice.
        index.set(i, static_cast<double>(dim == 0 ? i / 3 * 2 + i % 3 % 2 : 4 - i % 3));
      }
      auto expected = self.values(), filled = self.values();
      for (std::int64_t i = 0; i < 6; ++i) {
        const auto to = static_cast<std::int64_t>(index.at(i));
        const std::int64_t place = dim == 0 ? to * 5 + i % 3 : i / 3 * 5 + to;
        expected[static_cast<std::size_t>(place)] = src.at(i / 3 * 4 + i % 3);
        filled[static_cast<std::size_t>(place)] = 3;
      }
      Handle out = make({4, 5}, type);
      REQUIRE(aoti_torch_cpu_scatter_src_out(out.get(), self.get(), dim, index.get(), src.get()) ==
              0);
      CHECK(out.values() == expected);
      REQUIRE(aoti_torch_scatter_out(self.get(), self.get(), dim - 2, index.get(), src.get()) == 0);
      CHECK(self.values() == expected);
      REQUIRE(aoti_torch_cpu_scatter_value_out(self.get(), self.get(), dim, index.get(), 3) == 0);
      CHECK(std::ranges::count(self.values(), 3.0) >= 6);
    }
  }
  Handle scalar = list({}, {1}, ScalarType::Float), where = list({}, {0});
  Handle seven = list({}, {7}, ScalarType::Float);
  REQUIRE(aoti_torch_scatter_out(scalar.get(), scalar.get(), 0, where.get(), seven.get()) == 0);
  CHECK(scalar.at(0) == 7);
}

TEST_CASE("scatter_reduce: all reductions", "[cpu_aoti]") {
  Fixture fixture;
  const struct {
    const char* reduce;
    bool include_self;
    std::vector<double> expected;
  } cases[] = {{"sum", true, {13, 5, 4}},    {"sum", false, {8, 5, 9}},
               {"prod", true, {50, 5, 45}},  {"prod", false, {10, 5, 9}},
               {"amax", true, {5, 5, 9}},    {"amax", false, {5, 5, 9}},
               {"amin", true, {1, 5, 5}},    {"amin", false, {1, 5, 9}},
               {"mean", true, {3.25, 5, 7}}, {"mean", false, {8.0 / 3, 5, 9}}};
  for (const ScalarType type : types) {
    const bool real = type == ScalarType::Half || type == ScalarType::Float ||
                      type == ScalarType::Double || type == ScalarType::BFloat16;
    for (auto [reduce, include_self, expected] : cases) {
      Handle self = list({3}, {5, 5, 5}, type);
      Handle index = list({4}, {0, 0, 0, 2});
      Handle src = list({4}, {1, 2, 5, 9}, type);
      if (std::string(reduce) == "sum" && include_self) expected[2] = 14;
      Handle out = make({3}, type);
      REQUIRE(aoti_torch_scatter_reduce_out(out.get(), self.get(), 0, index.get(), src.get(),
                                            reduce, include_self) == 0);
      for (double& value : expected) value = real ? value : std::floor(value);
      INFO(reduce << " of " << tenon::name_of(type));
      CHECK(difference(out.values(), expected, tolerance(type, 4)) == "");
    }
  }
  Handle negative = list({1}, {-5}), index = list({1}, {0}), src = list({1}, {-2});
  REQUIRE(aoti_torch_cpu_scatter_reduce_two_out(negative.get(), negative.get(), 0, index.get(),
                                                src.get(), "mean", 1) == 0);
  CHECK(negative.at(0) == -4);
  // NaN wins; many small numbers add up in BFloat16.
  Handle one = list({1}, {1}, ScalarType::Float);
  Handle nan = list({1}, {std::nan("")}, ScalarType::Float);
  REQUIRE(aoti_torch_scatter_reduce_out(one.get(), one.get(), 0, index.get(), nan.get(), "amin",
                                        1) == 0);
  CHECK(std::isnan(one.at(0)));
  Handle sum = list({1}, {1}, ScalarType::BFloat16), zeros = make({1000}, ScalarType::Long);
  Handle small = make({1000}, ScalarType::BFloat16);
  for (std::int64_t i = 0; i < 1000; ++i) {
    zeros.set(i, 0);
    small.set(i, 0.01);
  }
  REQUIRE(aoti_torch_scatter_reduce_out(sum.get(), sum.get(), 0, zeros.get(), small.get(), "sum",
                                        1) == 0);
  CHECK(std::abs(sum.at(0) - 11) < 0.1);
}

TEST_CASE("scatter: refusals, and no memory in a second call", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  Handle self = random(source, {3, 4}), src = random(source, {4, 4});
  Handle whole = random(source, {4, 4}, ScalarType::Int);
  Handle good = list({1, 2}, {2, 0}), large = list({1, 2}, {0, 3}), negative = list({1, 1}, {-1});
  Handle tall = list({4, 1}, {0, 0, 0, 0}), flat = list({2}, {0, 0});
  const auto refusal = [&](std::int64_t dim, const Handle& index, const Handle& from,
                           const char* reduce = "sum") {
    CHECK(aoti_torch_scatter_reduce_out(self.get(), self.get(), dim, index.get(), from.get(),
                                        reduce, 1) == 1);
    return fixture.pool.take_failure();
  };
  CHECK_THAT(refusal(0, large, src),
             ContainsSubstring("index 3: expected 0 to below 3, the size of dimension 0"));
  CHECK_THAT(refusal(1, negative, src), ContainsSubstring("index -1: expected 0 to below 4"));
  CHECK_THAT(refusal(1, tall, src), ContainsSubstring("an index [4, 1] for a result [3, 4]"));
  CHECK_THAT(refusal(0, flat, src), ContainsSubstring("an index [2]"));
  CHECK_THAT(refusal(0, good, whole), ContainsSubstring("a source of Int"));
  CHECK_THAT(refusal(0, self, src), ContainsSubstring("an index of Float"));
  CHECK_THAT(refusal(2, good, src), ContainsSubstring("dimension 2 of 2"));
  CHECK_THAT(refusal(0, good, src, "median"), ContainsSubstring("reduction 'median'"));
  std::size_t before = 0;
  for (int i = 0; i < 2; ++i) {
    before = allocations();
    REQUIRE(aoti_torch_scatter_reduce_out(self.get(), self.get(), 0, good.get(), src.get(), "mean",
                                          0) == 0);
  }
  CHECK(allocations() == before);
}
