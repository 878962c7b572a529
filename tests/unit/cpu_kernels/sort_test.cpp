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

namespace sort_test {
namespace {

/// NaN is the largest number.
bool less(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

struct Lines {
  std::int64_t size, inner;
  std::int64_t at(std::int64_t line, std::int64_t i, std::int64_t length) const {
    return (line / inner * length + i) * inner + line % inner;
  }
};

Lines lines_of(const Handle& self, std::int64_t dim) {
  std::int64_t inner = 1;
  for (auto d = static_cast<std::size_t>(dim) + 1; d < self.sizes().size(); ++d) {
    inner *= self->sizes[d];
  }
  return {self->rank > 0 ? self->sizes[static_cast<std::size_t>(dim)] : 1, inner};
}

/// Places of a line's elements in stable order.
std::vector<std::int64_t> order(const std::vector<double>& values, const Lines& lines,
                                std::int64_t line, bool descending) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < lines.size; ++i) out.push_back(i);
  const auto value = [&](std::int64_t i) {
    return values[static_cast<std::size_t>(lines.at(line, i, lines.size))];
  };
  std::stable_sort(out.begin(), out.end(), [&](std::int64_t a, std::int64_t b) {
    return descending ? less(value(b), value(a)) : less(value(a), value(b));
  });
  return out;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

constexpr ScalarType types[] = {ScalarType::Byte,   ScalarType::Char,  ScalarType::Short,
                                ScalarType::Int,    ScalarType::Long,  ScalarType::Half,
                                ScalarType::Double, ScalarType::Float, ScalarType::BFloat16};

const struct {
  Shape sizes, strides;
} shapes[] = {{{}, {}},          {{9}, {2}},         {{40}, {}},
              {{3, 17}, {}},     {{17, 3}, {1, 17}}, {{4, 5, 6}, {1, 24, 4}},
              {{3, 70}, {0, 1}}, {{2, 1, 130}, {}},  {{0, 3}, {}},
              {{1, 1, 1}, {}}};

}  // namespace

TEST_CASE("sort: stable in any dimension, NaN last, strides of the input", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : types) {
    for (const auto& [sizes, strides] : shapes) {
      const auto rank = std::max<std::int64_t>(static_cast<std::int64_t>(sizes.size()), 1);
      for (std::int64_t way = 0; way < rank * 2; ++way) {
        Handle self = random(source, sizes, type, strides);
        const bool real = type == ScalarType::Float || type == ScalarType::BFloat16;
        if (real && self->numel > 3) self.set(self->numel / 2, std::nan(""));
        if (real && self->numel > 8) self.set(self->numel / 3, self.at(0));
        const std::int64_t dim = way / 2;
        const bool descending = way % 2 != 0;
        Handle values, indices;
        std::int32_t stable = 1;
        REQUIRE(aoti_torch_cpu_sort_stable(self.get(), &stable, dim - rank, descending,
                                           values.out(), indices.out()) == 0);
        INFO(tenon::name_of(type) << " dim " << dim << " of " << tenon::shape_text(sizes));
        const Dims expected = dense_strides_like(*self);
        REQUIRE(values.strides() == Shape(expected.begin(), expected.begin() + self->rank));
        REQUIRE(indices.strides() == values.strides());
        REQUIRE(indices->scalar_type == ScalarType::Long);
        const Lines lines = lines_of(self, dim);
        const auto all = self.values();
        for (std::int64_t line = 0; lines.size > 0 && line < self->numel / lines.size; ++line) {
          const auto places = order(all, lines, line, descending);
          for (std::int64_t i = 0; i < lines.size; ++i) {
            const std::int64_t place = places[static_cast<std::size_t>(i)];
            const std::int64_t at = lines.at(line, i, lines.size);
            REQUIRE(indices.at(at) == static_cast<double>(place));
            REQUIRE(same(values.at(at),
                         all[static_cast<std::size_t>(lines.at(line, place, lines.size))]));
          }
        }
      }
    }
  }
}

TEST_CASE("topk: every k, largest and smallest", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : types) {
    for (const auto& [sizes, strides] : shapes) {
      const auto rank = std::max<std::int64_t>(static_cast<std::int64_t>(sizes.size()), 1);
      for (std::int64_t dim = 0; dim < rank; ++dim) {
        Handle self = random(source, sizes, type, strides);
        if (type == ScalarType::Float && self->numel > 3) self.set(1, std::nan(""));
        const Lines lines = lines_of(self, dim);
        for (const std::int64_t k :
             {std::int64_t{0}, std::int64_t{1}, lines.size / 2, lines.size}) {
          if (k > lines.size || (sizes.empty() && k == 0)) continue;
          const bool largest = source.below(2) == 0;
          Handle values, indices;
          REQUIRE(aoti_torch_cpu_topk(self.get(), k, dim, largest, 1, values.out(),
                                      indices.out()) == 0);
          REQUIRE(values->is_contiguous());
          const auto all = self.values();
          for (std::int64_t line = 0; k > 0 && line < values->numel / k; ++line) {
            const auto places = order(all, lines, line, largest);
            for (std::int64_t i = 0; i < k; ++i) {
              const std::int64_t at = lines.at(line, i, k);
              const auto chosen = static_cast<std::int64_t>(indices.at(at));
              const auto value = [&](std::int64_t place) {
                return all[static_cast<std::size_t>(lines.at(line, place, lines.size))];
              };
              // Equal elements may come in any order.
              REQUIRE(same(values.at(at), value(places[static_cast<std::size_t>(i)])));
              REQUIRE(same(values.at(at), value(chosen)));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("sort and topk: refusals, and no memory in a second call", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  Handle self = random(source, {20, 300});
  Handle values, indices;
  CHECK(aoti_torch_cpu_topk(self.get(), 301, -1, 1, 1, values.out(), indices.out()) == 1);
  CHECK_THAT(fixture.pool.take_failure(),
             ContainsSubstring("k 301: expected 0 to 300, the size of dimension 1 of [20, 300]"));
  CHECK(aoti_torch_cpu_sort(self.get(), -3, 0, values.out(), indices.out()) == 1);
  CHECK_THAT(fixture.pool.take_failure(), ContainsSubstring("sort: dimension -3 of 2"));
  std::size_t before = 0;
  for (int i = 0; i < 2; ++i) {
    Handle a, b, c, d;
    before = allocations();
    REQUIRE(aoti_torch_cpu_topk(self.get(), 4, 1, 1, 1, a.out(), b.out()) == 0);
    REQUIRE(aoti_torch_cpu_sort(self.get(), 0, 1, c.out(), d.out()) == 0);
  }
  CHECK(allocations() == before);
  CHECK(fixture.pool.num_live() == 1);
}

}  // namespace sort_test
