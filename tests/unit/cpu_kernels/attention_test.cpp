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

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Expected {
  std::vector<double> out, logsumexp;
};

/// Softmax(scale q k + mask) v, written out; a row without keys is 0.
Expected reference(const Handle& q, const Handle& k, const Handle& v, bool causal,
                   const std::vector<double>& mask, double scale) {
  const std::int64_t heads = q->sizes[1], queries = q->sizes[2], keys = k->sizes[2];
  const std::int64_t size = q->sizes[3];
  const auto qs = q.values(), ks = k.values(), vs = v.values();
  const auto at = [&](const std::vector<double>& all, std::int64_t row, std::int64_t i) {
    return all[static_cast<std::size_t>(row * size + i)];
  };
  Expected result;
  for (std::int64_t row = 0; row < q->sizes[0] * heads * queries; ++row) {
    const std::int64_t b = row / (heads * queries), h = row / queries % heads;
    const std::int64_t kv = (b * k->sizes[1] + h / (heads / k->sizes[1])) * keys;
    std::vector<double> scores;
    double most = -infinity;
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t i = 0; i < size; ++i) score += at(qs, row, i) * at(ks, kv + j, i);
      score *= scale;
      if (!mask.empty()) score += mask[static_cast<std::size_t>(row * keys + j)];
      if (causal && j > row % queries) score = -infinity;
      scores.push_back(score);
      most = std::max(most, score);
    }
    double sum = 0;
    for (double& score : scores) sum += score = most == -infinity ? 0 : std::exp(score - most);
    for (std::int64_t i = 0; i < size; ++i) {
      double value = 0;
      for (std::int64_t j = 0; j < keys && sum > 0; ++j) {
        value += scores[static_cast<std::size_t>(j)] / sum * at(vs, kv + j, i);
      }
      result.out.push_back(value);
    }
    result.logsumexp.push_back(sum > 0 ? most + std::log(sum) : 0);
  }
  return result;
}

/// All elements of a mask, broadcast to [B, H, L, S].
std::vector<double> spread(const Handle& mask, const Shape& sizes) {
  Dims strides{};
  REQUIRE(broadcast_strides(*mask, sizes, strides));
  std::vector<double> out;
  for (std::int64_t i = 0; i < sizes[0] * sizes[1] * sizes[2] * sizes[3]; ++i) {
    std::int64_t offset = 0, rest = i;
    for (std::size_t d = 4; d-- > 0; rest /= sizes[d]) offset += rest % sizes[d] * strides[d];
    const double value = read(mask->scalar_type, mask->data, offset);
    out.push_back(mask->scalar_type == ScalarType::Bool ? (value != 0 ? 0 : -infinity) : value);
  }
  return out;
}

struct Made {
  Handle out, logsumexp;
};

tenon::aoti::ShimError attend(Made& made, const Handle& q, const Handle& k, const Handle& v,
                              bool causal = false, const Handle* mask = nullptr,
                              double* scale = nullptr, double dropout = 0) {
  ModelTensor* given = mask ? mask->get() : nullptr;
  return aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
      q.get(), k.get(), v.get(), dropout, causal, mask ? &given : nullptr, scale, made.out.out(),
      made.logsumexp.out());
}

void check(const Made& made, const Expected& expected, double most) {
  REQUIRE(difference(made.out.values(), expected.out, most) == "");
  REQUIRE(difference(made.logsumexp.values(), expected.logsumexp, most) == "");
}

double tolerated(ScalarType type) {
  return type == ScalarType::Double     ? 1e-12
         : type == ScalarType::Float    ? 5e-6
         : type == ScalarType::BFloat16 ? 0.01
                                        : 0.002;
}

}  // namespace

TEST_CASE("attention: shapes, types, causal, and fewer heads of keys", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  struct Case {
    std::int64_t batches, heads, key_heads, queries, keys, size;
  };
  const Case cases[] = {{1, 1, 1, 1, 1, 1},      {2, 3, 3, 5, 7, 8},      {2, 4, 2, 65, 130, 16},
                        {1, 6, 1, 1, 513, 64},   {1, 2, 2, 70, 1100, 32}, {1, 2, 2, 600, 20, 5},
                        {1, 1, 1, 130, 700, 40}, {2, 4, 2, 1, 23, 16},    {1, 2, 1, 1, 7, 80},
                        {1, 1, 1, 1, 40, 256},   {1, 2, 2, 1, 9, 272}};
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half, ScalarType::Double}) {
    for (const Case& c : cases) {
      for (const bool causal : {false, true}) {
        Handle q = random(source, {c.batches, c.heads, c.queries, c.size}, type);
        Handle k = random(source, {c.batches, c.key_heads, c.keys, c.size}, type);
        Handle v = random(source, {c.batches, c.key_heads, c.keys, c.size}, type);
        Made made;
        REQUIRE(attend(made, q, k, v, causal) == 0);
        INFO(tenon::name_of(type) << " queries " << c.queries << " keys " << c.keys << " causal "
                                  << causal);
        check(made, reference(q, k, v, causal, {}, 1 / std::sqrt(static_cast<double>(c.size))),
              tolerated(type));
        CHECK(made.out->scalar_type == type);
        CHECK(made.logsumexp->scalar_type ==
              (type == ScalarType::Double ? ScalarType::Double : ScalarType::Float));
        CHECK(made.logsumexp.strides() == Shape{c.queries * c.heads, 1, c.heads});
      }
    }
  }
}

TEST_CASE("attention: the result has the query's layout", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  // Strides of the query and of the result for [2, 3, 5, 8], as PyTorch 2.15 answers.
  const std::pair<Shape, Shape> layouts[] = {{{120, 40, 8, 1}, {120, 40, 8, 1}},
                                             {{120, 8, 24, 1}, {120, 8, 24, 1}},
                                             {{360, 8, 72, 1}, {120, 8, 24, 1}},
                                             {{0, 40, 8, 1}, {120, 40, 8, 1}},
                                             {{24, 8, 48, 1}, {24, 8, 48, 1}}};
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Double}) {
    for (const auto& [strides, expected] : layouts) {
      Handle q = random(source, {2, 3, 5, 8}, type, strides);
      Handle k = random(source, {2, 3, 9, 8}, type, {360, 8, 24, 1});
      Handle v = random(source, {2, 3, 9, 8}, type, {216, 72, 1, 9});
      Made made;
      REQUIRE(attend(made, q, k, v) == 0);
      CHECK(made.out.strides() == expected);
      check(made, reference(q, k, v, false, {}, 1 / std::sqrt(8.0)), tolerated(type));
    }
  }
}

TEST_CASE("attention: one query with keys and values of any layout", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  // Of [2, 3, 19, 48]: a cache of 24 places, heads side by side, and columns apart.
  const Shape layouts[] = {{3456, 1152, 48, 1}, {2736, 48, 144, 1}, {2736, 912, 1, 19}};
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half}) {
    Handle mask = random(source, {1, 1, 1, 19}, type);
    for (const Shape& of_keys : layouts) {
      for (const Shape& of_values : layouts) {
        Handle q = random(source, {2, 3, 1, 48}, type);
        Handle k = random(source, {2, 3, 19, 48}, type, of_keys);
        Handle v = random(source, {2, 3, 19, 48}, type, of_values);
        double scale = 0.2;
        Made made;
        REQUIRE(attend(made, q, k, v, false, &mask, &scale) == 0);
        check(made, reference(q, k, v, false, spread(mask, {2, 3, 1, 19}), scale), tolerated(type));
      }
    }
  }
}

TEST_CASE("attention: masks that broadcast, of numbers and of bools", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const Shape sizes{2, 3, 70, 520};
  const Shape masks[] = {{70, 520},      {1, 520},        {70, 1},         {2, 1, 1, 520},
                         {1, 3, 1, 520}, {2, 3, 70, 520}, {2, 1, 70, 520}, {1, 1, 1, 1}};
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Double}) {
    Handle q = random(source, {2, 3, 70, 8}, type);
    Handle k = random(source, {2, 3, 520, 8}, type);
    Handle v = random(source, {2, 3, 520, 8}, type);
    for (const Shape& shape : masks) {
      for (const bool bools : {false, true}) {
        Handle mask = random(source, shape, bools ? ScalarType::Bool : type);
        for (std::int64_t i = 0; bools && i < mask->numel; ++i) mask.set(i, i % 3 != 0);
        double scale = 0.3;
        Made made;
        REQUIRE(attend(made, q, k, v, false, &mask, &scale) == 0);
        check(made, reference(q, k, v, false, spread(mask, sizes), scale), tolerated(type));
      }
    }
    // Both at once, as a decoder with padding has it.
    Handle mask = random(source, {2, 1, 1, 520}, type);
    Made made;
    REQUIRE(attend(made, q, k, v, true, &mask) == 0);
    check(made, reference(q, k, v, true, spread(mask, sizes), 1 / std::sqrt(8.0)), tolerated(type));
  }
}

TEST_CASE("attention: queries that attend to no key give 0", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    Handle q = random(source, {1, 1, 4, 8}, type);
    Handle k = random(source, {1, 1, 1100, 8}, type);
    Handle v = random(source, {1, 1, 1100, 8}, type);
    Handle mask = random(source, {4, 1100}, type);
    for (std::int64_t i = 0; i < 1100; ++i) {
      mask.set(1100 + i, -infinity);                // Nothing at all.
      if (i < 1090) mask.set(2200 + i, -infinity);  // Only keys of the last block.
      if (i > 2) mask.set(3300 + i, -infinity);     // Only keys of the first block.
    }
    Made made;
    REQUIRE(attend(made, q, k, v, false, &mask) == 0);
    check(made, reference(q, k, v, false, spread(mask, {1, 1, 4, 1100}), 1 / std::sqrt(8.0)),
          tolerated(type));
    CHECK(made.out.at(8) == 0);
    CHECK(made.logsumexp.at(1) == 0);
  }
}

TEST_CASE("attention: large scores and NaN", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  Handle q = random(source, {1, 1, 3, 4});
  Handle k = random(source, {1, 1, 40, 4});
  Handle v = random(source, {1, 1, 40, 4});
  double scale = 300;
  Made made;
  REQUIRE(attend(made, q, k, v, false, nullptr, &scale) == 0);
  const Expected expected = reference(q, k, v, false, {}, scale);
  CHECK(difference(made.out.values(), expected.out, 2e-4) == "");
  CHECK(difference(made.logsumexp.values(), expected.logsumexp, 1e-3) == "");

  q.set(5, std::nan(""));  // In the second query: it alone is lost.
  Made lost;
  REQUIRE(attend(lost, q, k, v) == 0);
  for (std::int64_t i = 0; i < 12; ++i) CHECK(std::isnan(lost.out.at(i)) == (i / 4 == 1));
}

TEST_CASE("attention: empty tensors", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  Handle k = random(source, {2, 3, 5, 8});
  Handle no_queries = random(source, {2, 3, 0, 8});
  Handle none = random(source, {2, 3, 0, 8});
  Made made;
  REQUIRE(attend(made, no_queries, k, k) == 0);
  CHECK(made.out.sizes() == Shape{2, 3, 0, 8});
  Made zero;
  REQUIRE(attend(zero, k, none, none) == 0);
  CHECK(difference(zero.out.values(), std::vector<double>(240, 0.0), 0) == "");
}

TEST_CASE("attention: invalid arguments are refused with a message", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  Handle q = random(source, {2, 4, 5, 8});
  Handle flat = random(source, {8, 5, 8});
  Handle three = random(source, {2, 3, 5, 8});
  Handle wide = random(source, {2, 4, 5, 9});
  Handle longer = random(source, {2, 4, 6, 8});
  Handle narrow = random(source, {2, 4, 5, 8}, ScalarType::BFloat16);
  Handle whole = random(source, {2, 4, 5, 8}, ScalarType::Int);
  Handle mask3 = random(source, {4, 5, 5});
  Handle mask_wrong = random(source, {4, 5});
  Handle mask_int = random(source, {5, 5}, ScalarType::Int);
  Made made;
  const auto refused = [&](const std::string& text, const Handle& query, const Handle& key,
                           const Handle& value, const Handle* mask = nullptr, double dropout = 0) {
    CHECK(attend(made, query, key, value, false, mask, nullptr, dropout) == 1);
    CHECK_THAT(fixture.pool.take_failure(), ContainsSubstring(text));
    CHECK(made.out.get() == nullptr);
  };
  refused("dropout: expected 0", q, q, q, nullptr, 0.5);
  refused("expected 4 dimensions", flat, flat, flat);
  refused("multiple of the key's", q, three, three);
  refused("one head size", q, wide, wide);
  refused("of the key's shape", q, q, longer);
  refused("of Float, BFloat16 and BFloat16", q, narrow, narrow);
  refused("a query of Int", whole, whole, whole);
  refused("a mask [4, 5, 5]: expected 2 or 4 dimensions", q, q, q, &mask3);
  refused("a mask [4, 5]", q, q, q, &mask_wrong);
  refused("a mask of Int", q, q, q, &mask_int);
}

TEST_CASE("a second attention of the same shape allocates nothing", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16}) {
    Handle q = random(source, {1, 2, 70, 16}, type);
    Handle mask = random(source, {70, 70}, ScalarType::Bool);
    {
      Made made;
      REQUIRE(attend(made, q, q, q, true, &mask) == 0);
    }
    const std::size_t before = allocations();
    {
      Made made;
      REQUIRE(attend(made, q, q, q, true, &mask) == 0);
    }
    CHECK(allocations() == before);
  }
}
