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

namespace embedding_bag_test {
namespace {

struct Bags {
  Handle output, bag_of_index, bag_sizes, places;
};

struct Options {
  std::int64_t mode = 0;
  const Handle* factors = nullptr;
  bool last_offset = false;
  std::int64_t padding = -1;
  bool forward_only = false;
};

tenon::aoti::ShimError look_up(Bags& out, const Handle& weight, const Handle& indices,
                               const Handle& offsets, const Options& o) {
  ModelTensor* factors = o.factors ? o.factors->get() : nullptr;
  return (o.forward_only ? aoti_torch_cpu__embedding_bag_forward_only
                         : aoti_torch_cpu__embedding_bag)(
      weight.get(), indices.get(), offsets.get(), 0, o.mode, 0, factors ? &factors : nullptr,
      o.last_offset, o.padding, out.output.out(), out.bag_of_index.out(), out.bag_sizes.out(),
      out.places.out());
}

Handle list(ScalarType type, const std::vector<double>& values) {
  Handle out = make({static_cast<std::int64_t>(values.size())}, type);
  for (std::size_t i = 0; i < values.size(); ++i) out.set(static_cast<std::int64_t>(i), values[i]);
  return out;
}

}  // namespace

TEST_CASE("_embedding_bag: modes, types, padding and weights of samples", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const std::int64_t rows = 10, columns = 5, count = 8, bags = 4;
  const std::vector<double> places = {1, 2, 4, 5, 4, 3, 2, 9};
  const std::int64_t begin[] = {0, 4, 4, 6, 8};
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half, ScalarType::Double}) {
    for (int way = 0; way < 3 * 2 * 2 * 2 * 2 * 2; ++way) {
      const ScalarType index_type = way / 3 % 2 != 0 ? ScalarType::Int : ScalarType::Long;
      const bool strided = way / 12 % 2 != 0;
      Options o{.mode = way % 3,
                .last_offset = way / 6 % 2 != 0,
                .padding = way / 24 % 2 != 0 ? 4 : -1,
                .forward_only = way / 48 % 2 != 0};
      Handle weight = random(source, {rows, columns}, type, strided ? Shape{1, rows} : Shape{});
      Handle indices = list(index_type, places);
      Handle offsets = list(ScalarType::Long, o.last_offset ? std::vector<double>{0, 4, 4, 6, 8}
                                                            : std::vector<double>{0, 4, 4, 6});
      Handle factors = random(source, {count}, type);
      if (o.mode == 0 && strided) o.factors = &factors;
      Bags found;
      REQUIRE(look_up(found, weight, indices, offsets, o) == 0);
      INFO(tenon::name_of(type) << " way " << way);
      const bool plain = o.mode == 0 && type != ScalarType::Double && !strided && o.padding < 0;
      CHECK(found.bag_of_index.sizes() == Shape{plain ? 0 : count});
      CHECK(found.bag_sizes.sizes() ==
            Shape{o.mode == 0 && o.forward_only ? offsets->numel : bags});
      CHECK(found.places.sizes() == (o.mode == 2 ? Shape{bags, columns} : found.bag_sizes.sizes()));
      CHECK(found.places->scalar_type == ScalarType::Long);
      for (std::int64_t bag = 0; bag < bags; ++bag) {
        std::vector<double> expected(columns);
        std::vector<double> chosen(columns);
        std::int64_t used = 0;
        for (std::int64_t i = begin[bag]; i < begin[bag + 1]; ++i) {
          const double row = places[static_cast<std::size_t>(i)];
          if (!plain) CHECK(found.bag_of_index.at(i) == static_cast<double>(bag));
          if (row == static_cast<double>(o.padding)) continue;
          for (std::int64_t c = 0; c < columns; ++c) {
            const double value = weight.at(static_cast<std::int64_t>(row) * columns + c);
            double& sum = expected[static_cast<std::size_t>(c)];
            if (o.mode < 2) {
              sum += value * (o.factors ? factors.at(i) : 1);
            } else if (used == 0 || value > sum) {
              sum = value;
              chosen[static_cast<std::size_t>(c)] = row;
            }
          }
          ++used;
        }
        if (o.mode > 0) CHECK(found.bag_sizes.at(bag) == static_cast<double>(used));
        for (std::int64_t c = 0; c < columns; ++c) {
          double value = expected[static_cast<std::size_t>(c)];
          if (o.mode == 1) value /= static_cast<double>(std::max<std::int64_t>(used, 1));
          CHECK(std::abs(found.output.at(bag * columns + c) - value) <= tolerance(type, 4));
          if (o.mode == 2) {
            CHECK(found.places.at(bag * columns + c) == chosen[static_cast<std::size_t>(c)]);
          }
        }
      }
    }
  }
}

TEST_CASE("_embedding_bag: wide rows, and more of them in a bag than are added together",
          "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const std::int64_t rows = 40, columns = 83, count = 150;
  std::vector<double> chosen;
  for (std::int64_t i = 0; i < count; ++i)
    chosen.push_back(static_cast<double>(source.below(rows)));
  Handle indices = list(ScalarType::Long, chosen);
  Handle offsets = list(ScalarType::Long, {0, 129, 130});
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half}) {
    Handle weight = random(source, {rows, columns}, type, {columns + 2, 1});
    Handle factors = random(source, {count}, type);
    for (const bool weighted : {false, true}) {
      for (const std::int64_t mode : {0, 1}) {
        if (weighted && mode == 1) continue;
        const Options o{.mode = mode, .factors = weighted ? &factors : nullptr};
        Bags found;
        REQUIRE(look_up(found, weight, indices, offsets, o) == 0);
        std::vector<double> expected(static_cast<std::size_t>(3 * columns));
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t bag = i < 129 ? 0 : i < 130 ? 1 : 2;
          const double divisor = mode == 0 ? 1 : bag == 0 ? 129 : bag == 1 ? 1 : 20;
          const auto row = static_cast<std::int64_t>(chosen[static_cast<std::size_t>(i)]);
          for (std::int64_t c = 0; c < columns; ++c) {
            expected[static_cast<std::size_t>(bag * columns + c)] +=
                weight.at(row * columns + c) * (weighted ? factors.at(i) : 1) / divisor;
          }
        }
        CHECK(difference(found.output.values(), expected, 10 * tolerance(type, 4)) == "");
      }
    }
  }
}

// Expected numbers come from torch 2.15.0.
TEST_CASE("_embedding_bag: indices behind the last offset count in the last bag", "[cpu_aoti]") {
  Fixture fixture;
  const std::vector<double> numbers = {1, 2, 4, 8, 16};
  Handle indices = list(ScalarType::Long, {0, 1, 2, 3, 4});
  Handle offsets = list(ScalarType::Int, {0, 2, 3});
  const struct {
    ScalarType type;
    std::int64_t mode, padding;
    std::vector<double> output, counts;
  } expected[] = {
      {ScalarType::Float, 0, -1, {3, 4}, {0, 0}},
      {ScalarType::Float, 0, 1, {1, 28}, {0, 0}},
      {ScalarType::Float, 1, -1, {1.5, 4.0 / 3}, {2, 3}},
      {ScalarType::Float, 1, 1, {1, 28.0 / 3}, {1, 3}},
      {ScalarType::Float, 2, -1, {2, 16}, {2, 3}},
      {ScalarType::Double, 0, -1, {3, 28}, {0, 0}},
      {ScalarType::Double, 1, -1, {1.5, 28.0 / 3}, {2, 3}},
      {ScalarType::BFloat16, 1, -1, {1.5, 1.3359375}, {2, 3}},
  };
  for (const auto& one : expected) {
    Handle weight = make({5, 1}, one.type);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      weight.set(static_cast<std::int64_t>(i), numbers[i]);
    }
    Bags found;
    REQUIRE(look_up(found, weight, indices, offsets,
                    {.mode = one.mode, .last_offset = true, .padding = one.padding}) == 0);
    INFO(tenon::name_of(one.type) << " mode " << one.mode << " padding " << one.padding);
    CHECK(difference(found.output.values(), one.output, 1e-6) == "");
    CHECK(found.bag_sizes.values() == one.counts);
    if (found.bag_of_index->numel > 0) {
      CHECK(found.bag_of_index.values() == std::vector<double>{0, 0, 1, 1, 1});
    }
  }
}

TEST_CASE("_embedding_bag: nothing to look up", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  Handle weight = random(source, {3, 2});
  Handle none = list(ScalarType::Long, {});
  Handle two = list(ScalarType::Long, {0, 0});
  Bags found;
  REQUIRE(look_up(found, weight, none, two, {.mode = 2}) == 0);
  CHECK(found.output.values() == std::vector<double>(4));
  CHECK(found.bag_sizes.values() == std::vector<double>(2));
  Bags empty;
  REQUIRE(look_up(empty, weight, none, none, {}) == 0);
  CHECK(empty.output.sizes() == Shape{0, 2});
}

TEST_CASE("_embedding_bag: refusals, and no memory in a second call", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  Handle weight = random(source, {10, 4});
  Handle whole = random(source, {10, 4}, ScalarType::Int);
  Handle good = list(ScalarType::Long, {0, 9, 1});
  Handle large = list(ScalarType::Long, {0, 10, 1});
  Handle negative = list(ScalarType::Int, {0, 1, -1});
  Handle offsets = list(ScalarType::Long, {0, 2});
  Handle late = list(ScalarType::Long, {1, 2});
  Handle falling = list(ScalarType::Long, {0, 2, 1});
  Handle far = list(ScalarType::Long, {0, 4});
  Handle none = list(ScalarType::Long, {});
  Bags out;
  const auto refusal = [&](const Handle& w, const Handle& i, const Handle& at, const Options& o) {
    CHECK(look_up(out, w, i, at, o) == 1);
    return fixture.pool.take_failure();
  };
  CHECK_THAT(refusal(weight, large, offsets, {}),
             ContainsSubstring("_embedding_bag: index 10 at place 1: expected 0 to below 10"));
  CHECK_THAT(refusal(weight, negative, offsets, {}), ContainsSubstring("index -1 at place 2"));
  CHECK_THAT(refusal(weight, good, late, {}), ContainsSubstring("bag 0 from index 1 to 2"));
  CHECK_THAT(refusal(weight, good, falling, {}), ContainsSubstring("bag 1 from index 2 to 1"));
  CHECK_THAT(refusal(weight, good, far, {}), ContainsSubstring("bag 0 from index 0 to 4"));
  CHECK_THAT(refusal(whole, good, offsets, {}), ContainsSubstring("elements of Int"));
  CHECK_THAT(refusal(weight, good, offsets, {.mode = 3}), ContainsSubstring("mode 3"));
  CHECK_THAT(refusal(weight, weight, offsets, {}), ContainsSubstring("2, 1 and 1 dimensions"));
  CHECK_THAT(refusal(weight, good, none, {.last_offset = true}), ContainsSubstring("no offsets"));
  Handle factors = random(source, {3});
  CHECK_THAT(refusal(weight, good, offsets, {.mode = 1, .factors = &factors}),
             ContainsSubstring("per_sample_weights with mode 1"));
  Handle few = random(source, {2});
  CHECK_THAT(refusal(weight, good, offsets, {.factors = &few}),
             ContainsSubstring("expected one Float for each of 3 indices"));
  std::size_t before = 0;
  for (int i = 0; i < 2; ++i) {
    Bags found;
    before = allocations();
    REQUIRE(look_up(found, weight, good, offsets, {.mode = 2}) == 0);
  }
  CHECK(allocations() == before);
}

}  // namespace embedding_bag_test
