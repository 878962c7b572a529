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

constexpr ScalarType all_types[] = {ScalarType::Byte,  ScalarType::Char,   ScalarType::Short,
                                    ScalarType::Int,   ScalarType::Long,   ScalarType::Half,
                                    ScalarType::Float, ScalarType::Double, ScalarType::BFloat16};

bool is_real(ScalarType type) {
  return type == ScalarType::Half || type == ScalarType::Float || type == ScalarType::Double ||
         type == ScalarType::BFloat16;
}

/// Running sums or products along dimension `dim`, in double.
std::vector<double> reference(const Handle& self, std::int64_t dim, bool product) {
  std::vector<double> out = self.values();
  std::int64_t inner = 1;
  for (std::size_t d = static_cast<std::size_t>(dim) + 1; d < self.sizes().size(); ++d) {
    inner *= self->sizes[d];
  }
  const std::int64_t size = self->rank > 0 ? self->sizes[static_cast<std::size_t>(dim)] : 1;
  for (std::int64_t i = 0; i < self->numel; ++i) {
    if (i / inner % size == 0) continue;
    const auto at = static_cast<std::size_t>(i);
    const double before = out[at - static_cast<std::size_t>(inner)];
    out[at] = product ? out[at] * before : out[at] + before;
  }
  return out;
}

}  // namespace

TEST_CASE("cumsum and cumprod: all types, dimensions and strides", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const struct {
    Shape sizes, strides;
  } cases[] = {{{}, {}},
               {{7}, {3}},
               {{3, 5}, {}},
               {{3, 5}, {1, 3}},
               {{4, 1, 6}, {0, 1, 2}},
               {{2, 3, 4, 5}, {60, 1, 15, 3}},
               {{0, 4}, {}},
               {{4, 0}, {}},
               {{2, 300}, {301, 1}}};
  for (const ScalarType type : all_types) {
    for (const auto& [sizes, strides] : cases) {
      const auto rank = static_cast<std::int64_t>(sizes.size());
      for (std::int64_t dim = 0; dim < std::max<std::int64_t>(rank, 1); ++dim) {
        Handle self = random(source, sizes, type, strides);
        const std::int64_t negative = dim - std::max<std::int64_t>(rank, 1);
        Handle sum, product;
        REQUIRE(aoti_torch_cpu_cumsum(self.get(), dim, nullptr, sum.out()) == 0);
        REQUIRE(aoti_torch_cpu_cumprod(self.get(), negative, nullptr, product.out()) == 0);
        INFO(tenon::name_of(type) << " dim " << dim << " of " << tenon::shape_text(sizes));
        CHECK(sum->scalar_type == (is_real(type) ? type : ScalarType::Long));
        CHECK(sum->is_contiguous());
        CHECK(difference(sum.values(), reference(self, dim, false), tolerance(type, 300) * 4) ==
              "");
        if (is_real(type)) {
          CHECK(difference(product.values(), reference(self, dim, true), tolerance(type, 4)) == "");
        }
      }
    }
  }
}

TEST_CASE("cumsum: the type asked for, and what a running sum is kept in", "[cpu_aoti]") {
  Fixture fixture;
  Handle self = make({3}, ScalarType::Float);
  self.set(0, 1.75);
  self.set(1, -2.5);
  self.set(2, 3.25);
  const auto as_int = static_cast<std::int32_t>(ScalarType::Int);
  Handle out;
  std::int32_t dtype = as_int;
  REQUIRE(aoti_torch_cpu_cumsum(self.get(), 0, &dtype, out.out()) == 0);
  CHECK(out->scalar_type == ScalarType::Int);
  CHECK(out.values() == std::vector<double>{1, -1, 2});  // Cut off before they are added.

  Handle bools = make({4}, ScalarType::Bool);
  for (std::int64_t i = 0; i < 4; ++i) bools.set(i, i == 1 ? 0 : 1);
  Handle count;
  REQUIRE(aoti_torch_cpu_cumsum(bools.get(), 0, nullptr, count.out()) == 0);
  CHECK(count.values() == std::vector<double>{1, 1, 2, 3});

  // 4 + 0.01 is 4 in BFloat16.
  Handle narrow = make({1000}, ScalarType::BFloat16);
  for (std::int64_t i = 0; i < 1000; ++i) narrow.set(i, 0.01);
  Handle sum;
  REQUIRE(aoti_torch_cpu_cumsum(narrow.get(), 0, nullptr, sum.out()) == 0);
  CHECK(std::abs(sum.at(999) - 10) < 0.1);

  Handle wrapping = make({2}, ScalarType::Long);
  for (int i = 0; i < 2; ++i) {
    wrapping->as<std::int64_t>()[i] = std::numeric_limits<std::int64_t>::max();
  }
  Handle wrapped;
  REQUIRE(aoti_torch_cpu_cumsum(wrapping.get(), 0, nullptr, wrapped.out()) == 0);
  CHECK(wrapped->as<std::int64_t>()[1] == -2);
}

TEST_CASE("cumsum: refusals, and no memory in a second call", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  Handle self = random(source, {20, 30}, ScalarType::BFloat16);
  Handle out;
  CHECK(aoti_torch_cpu_cumsum(self.get(), 2, nullptr, out.out()) == 1);
  CHECK_THAT(fixture.pool.take_failure(),
             ContainsSubstring("cumsum: dimension 2 of 2: expected -2 to 1"));
  std::int32_t dtype = static_cast<std::int32_t>(ScalarType::ComplexFloat);
  CHECK(aoti_torch_cpu_cumsum(self.get(), 0, &dtype, out.out()) == 1);
  CHECK_THAT(fixture.pool.take_failure(), ContainsSubstring("elements of ComplexFloat"));
  std::size_t before = 0;
  for (int i = 0; i < 2; ++i) {
    Handle sum;
    before = allocations();
    REQUIRE(aoti_torch_cpu_cumsum(self.get(), 0, nullptr, sum.out()) == 0);
  }
  CHECK(allocations() == before);
  CHECK(fixture.pool.num_live() == 1);
}
