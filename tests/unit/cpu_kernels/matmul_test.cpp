// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernel_support.hpp"
#include "support/catch.hpp"

using namespace kernel_test;
using namespace tenon::cpu_aoti;

namespace {

/// beta * self + alpha * a b in double, batch by batch.
std::vector<double> reference(const Handle& a, const Handle& b, const std::vector<double>& self,
                              double beta, double alpha) {
  const auto rank = static_cast<std::size_t>(a->rank);
  const std::int64_t batches = rank == 3 ? a->sizes[0] : 1;
  const std::int64_t m = a->sizes[rank - 2];
  const std::int64_t k = a->sizes[rank - 1];
  const std::int64_t n = b->sizes[rank - 1];
  const auto left = a.values();
  const auto right = b.values();
  std::vector<double> out;
  for (std::int64_t i = 0; i < batches * m * n; ++i) {
    const std::int64_t batch = i / (m * n);
    double sum = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      sum += left[static_cast<std::size_t>(i / n * k + j)] *
             right[static_cast<std::size_t>(batch * k * n + j * n + i % n)];
    }
    out.push_back(alpha * sum + (beta != 0 ? beta * self[static_cast<std::size_t>(i)] : 0));
  }
  return out;
}

/// Strides of a matrix with `rows` and `cols` in one of the layouts of models.
Shape matrix_strides(int way, std::int64_t rows, std::int64_t cols) {
  switch (way) {
    case 0:
      return {cols, 1};
    case 1:
      return {1, rows};  // Transposed.
    case 2:
      return {cols + 5, 1};  // A slice of wider rows.
    case 3:
      return {1, rows + 3};
    case 4:
      return {2 * cols, 2};  // Every other column.
    default:
      return {1, 0};  // One column, expanded.
  }
}

}  // namespace

TEST_CASE("mm_out: every type, with every layout of the operands", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const Shape shapes[] = {{1, 1, 1},   {3, 4, 5},    {1, 7, 33},   {17, 1, 9},
                          {8, 64, 16}, {5, 130, 65}, {65, 33, 70}, {16, 300, 200},
                          {0, 3, 4},   {3, 0, 4},    {3, 4, 0}};
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half,
                                ScalarType::Double, ScalarType::Int, ScalarType::Long}) {
    for (const Shape& shape : shapes) {
      for (int ways = 0; ways < 6 * 6 * 5; ++ways) {
        // All ways for small shapes only.
        if (shape[0] * shape[2] > 100 && ways % 7 != 0) continue;
        const std::int64_t m = shape[0], n = shape[1], k = shape[2];
        Handle a = random(source, {m, k}, type, matrix_strides(ways % 6, m, k));
        Handle b = random(source, {k, n}, type, matrix_strides(ways / 6 % 6, k, n));
        Handle out = make({m, n}, type, matrix_strides(ways / 36, m, n));
        const auto expected = reference(a, b, {}, 0, 1);
        REQUIRE(aoti_torch_cpu_mm_out(out.get(), a.get(), b.get()) == 0);
        INFO("type " << tenon::name_of(type) << " m " << m << " n " << n << " k " << k << " ways "
                     << ways);
        REQUIRE(difference(out.values(), expected, tolerance(type, static_cast<double>(k))) == "");
      }
    }
  }
  CHECK(fixture.pool.num_live() == 0);
}

TEST_CASE("addmm_out: summands that broadcast, scales, and beta 0", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const std::int64_t m = 6, n = 40, k = 9;
  struct Self {
    Shape sizes, strides;
  };
  const Self selves[] = {{{n}, {1}},       {{1, n}, {n, 1}}, {{m, n}, {0, 1}}, {{m, 1}, {1, 1}},
                         {{m, n}, {n, 1}}, {{m, n}, {1, m}}, {{1}, {1}},       {{}, {}},
                         {{1, 1}, {1, 1}}, {{n}, {3}}};
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half,
                                ScalarType::Double, ScalarType::Int}) {
    for (const Self& shape : selves) {
      for (const auto& [beta, alpha] : {std::pair{1.0, 1.0}, {0.5, 2.0}, {2.0, -1.0}, {0.0, 1.0}}) {
        if (type == ScalarType::Int && beta == 0.5) continue;
        for (const std::int64_t depth : {k, std::int64_t{0}}) {
          Handle a = random(source, {m, depth}, type);
          Handle b = random(source, {depth, n}, type, {1, depth + 1});
          // With beta 0 the summand, full of NaN, is not read.
          Handle self = beta != 0 ? random(source, shape.sizes, type, shape.strides)
                                  : make(shape.sizes, type, shape.strides);
          Handle out = make({m, n}, type);
          Dims strides{};
          REQUIRE(broadcast_strides(*self, out->shape(), strides));
          std::vector<double> summand;
          for (std::int64_t i = 0; i < m * n; ++i) {
            summand.push_back(read(type, self->data, i / n * strides[0] + i % n * strides[1]));
          }
          const auto expected = reference(a, b, summand, beta, alpha);
          REQUIRE(aoti_torch_cpu_addmm_out(out.get(), self.get(), a.get(), b.get(), beta, alpha) ==
                  0);
          INFO(tenon::name_of(type) << " beta " << beta << " alpha " << alpha << " k " << depth);
          REQUIRE(difference(out.values(), expected, 2 * tolerance(type, static_cast<double>(k))) ==
                  "");
        }
      }
    }
  }
}

TEST_CASE("addmm_out: the result may be the summand", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Double}) {
    Handle a = random(source, {20, 30}, type);
    Handle b = random(source, {30, 10}, type);
    Handle out = random(source, {20, 10}, type, {1, 20});
    const auto expected = reference(a, b, out.values(), 0.5, 1);
    REQUIRE(aoti_torch_cpu_addmm_out(out.get(), out.get(), a.get(), b.get(), 0.5, 1) == 0);
    CHECK(difference(out.values(), expected, tolerance(type, 30)) == "");
  }
}

TEST_CASE("bmm_out and baddbmm_out: batches of any layout", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const std::int64_t batch = 4, m = 5, n = 17, k = 8;
  const Shape lefts[] = {{m * k, k, 1}, {m * k, 1, m}, {k, batch * k, 1}, {0, k, 1}};
  const Shape rights[] = {{k * n, n, 1}, {k * n, 1, k}, {n, batch * n, 1}, {0, n, 1}};
  const Shape results[] = {{m * n, n, 1}, {n, batch * n, 1}, {m * n, 1, m}};
  const Shape summands[] = {{batch, m, n}, {1, m, n}, {m, n}, {n}, {batch, 1, n}};
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half, ScalarType::Double}) {
    for (const Shape& left : lefts) {
      for (const Shape& right : rights) {
        for (const Shape& result : results) {
          Handle a = random(source, {batch, m, k}, type, left);
          Handle b = random(source, {batch, k, n}, type, right);
          Handle out = make({batch, m, n}, type, result);
          REQUIRE(aoti_torch_cpu_bmm_out(out.get(), a.get(), b.get()) == 0);
          REQUIRE(difference(out.values(), reference(a, b, {}, 0, 1), tolerance(type, 8)) == "");
          for (const Shape& summand : summands) {
            Handle self = random(source, summand, type);
            Dims strides{};
            REQUIRE(broadcast_strides(*self, out->shape(), strides));
            std::vector<double> added;
            for (std::int64_t i = 0; i < batch * m * n; ++i) {
              added.push_back(
                  read(type, self->data,
                       i / (m * n) * strides[0] + i / n % m * strides[1] + i % n * strides[2]));
            }
            REQUIRE(aoti_torch_cpu_baddbmm_out(out.get(), self.get(), a.get(), b.get(), 2, 0.5) ==
                    0);
            REQUIRE(difference(out.values(), reference(a, b, added, 2, 0.5),
                               3 * tolerance(type, 8)) == "");
          }
        }
      }
    }
  }
}

TEST_CASE("mm_out: few rows or columns of BFloat16 and Half", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : {ScalarType::BFloat16, ScalarType::Half}) {
    for (const std::int64_t few : {1, 2, 3, 5, 16, 17}) {
      for (const std::int64_t n : {1, 3, 40, 65}) {
        for (const std::int64_t k : {1, 31, 33, 100}) {
          for (int ways = 0; ways < 16; ++ways) {
            // In the other half of the ways the result has few columns.
            const std::int64_t m = ways < 8 ? few : n;
            const std::int64_t columns = ways < 8 ? n : few;
            Handle a = random(source, {m, k}, type, matrix_strides(ways % 4, m, k));
            Handle b = random(source, {k, columns}, type, matrix_strides(ways / 4, k, columns));
            Handle out = make({m, columns}, type, matrix_strides(ways % 5, m, columns));
            const auto expected = reference(a, b, {}, 0, 1);
            REQUIRE(aoti_torch_cpu_mm_out(out.get(), a.get(), b.get()) == 0);
            INFO("type " << tenon::name_of(type) << " m " << m << " n " << columns << " k " << k
                         << " ways " << ways);
            REQUIRE(difference(out.values(), expected, tolerance(type, static_cast<double>(k))) ==
                    "");
          }
        }
      }
    }
  }
}

namespace {

void check_product(const Handle& a, const Handle& b) {
  const ScalarType type = a->scalar_type;
  const auto expected = reference(a, b, {}, 0, 1);
  Handle out = make({a.sizes()[0], b.sizes()[1]}, type);
  REQUIRE(aoti_torch_cpu_mm_out(out.get(), a.get(), b.get()) == 0);
  const auto terms = static_cast<double>(a.sizes()[1]);
  CHECK(difference(out.values(), expected, tolerance(type, terms)) == "");
}

}  // namespace

TEST_CASE("mm_out: few rows by more weights than the caches hold, on all threads", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const std::int64_t k = 2102, n = 331;
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half}) {
    for (const Shape& strides : {Shape{1, k}, Shape{n, 1}}) {
      const Handle b = random(source, {k, n}, type, strides);
      b->storage->is_fixed = type == ScalarType::Float;
      for (const std::int64_t rows : {1, 2, 3, 4, 7, 70}) {
        const Handle a = random(source, {rows, k}, type);
        check_product(a, b);
      }
    }
  }
}

TEST_CASE("mm_out: more rows than are packed at once, by fixed weights", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const std::int64_t rows = 259, k = 1041, n = 257;
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half}) {
    for (const Shape& strides : {Shape{1, k}, Shape{n, 1}}) {
      const Handle b = random(source, {k, n}, type, strides);
      b->storage->is_fixed = true;
      const Handle a = random(source, {rows, k}, type, Shape{1, rows});
      check_product(a, b);
    }
  }
}

TEST_CASE("addmm_out: one row of BFloat16 and Half rounds its sum once", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const std::int64_t n = 37, k = 70;
  for (const ScalarType type : {ScalarType::BFloat16, ScalarType::Half}) {
    for (const Shape& strides : {Shape{1, k + 2}, Shape{n + 3, 1}}) {
      for (const auto& [beta, alpha] : {std::pair{1.0, 1.0}, {0.5, 2.0}, {2.0, -1.0}}) {
        Handle a = random(source, {1, k}, type);
        Handle b = random(source, {k, n}, type, strides);
        Handle self = random(source, {n}, type);
        Handle out = make({1, n}, type);
        REQUIRE(aoti_torch_cpu_addmm_out(out.get(), self.get(), a.get(), b.get(), beta, alpha) ==
                0);
        const auto exact = reference(a, b, self.values(), beta, alpha);
        for (std::int64_t i = 0; i < n; ++i) {
          const double value = exact[static_cast<std::size_t>(i)];
          // Half a unit in the last place, and what sums of floats are off by.
          const double unit = type == ScalarType::Half ? 0x1p-11 : 0x1p-8;
          CHECK(std::abs(out.at(i) - value) <= std::abs(value) * unit + 1e-5);
        }
      }
    }
  }
}

TEST_CASE("mm_out: infinities, NaN and subnormal halves in one row", "[cpu_aoti]") {
  Fixture fixture;
  const std::int64_t n = 20, k = 40;
  for (const ScalarType type : {ScalarType::BFloat16, ScalarType::Half}) {
    for (const Shape& strides : {Shape{1, k}, Shape{n, 1}}) {
      Handle a = make({1, k}, type);
      Handle b = make({k, n}, type, strides);
      Handle out = make({1, n}, type);
      for (std::int64_t i = 0; i < k; ++i) a.set(i, 1);
      for (std::int64_t i = 0; i < k * n; ++i) b.set(i, 0);
      b.set(39 * n + 1, std::numeric_limits<double>::infinity());
      b.set(5 * n + 2, std::nan(""));
      b.set(38 * n + 3, 0x1p-24);  // The smallest Half.
      b.set(0 * n + 19, -3);
      REQUIRE(aoti_torch_cpu_mm_out(out.get(), a.get(), b.get()) == 0);
      CHECK(out.at(0) == 0);
      CHECK(out.at(1) == std::numeric_limits<double>::infinity());
      CHECK(std::isnan(out.at(2)));
      CHECK(out.at(3) == 0x1p-24);
      CHECK(out.at(19) == -3);
    }
  }
}

TEST_CASE("mm_out: integers wrap around", "[cpu_aoti]") {
  Fixture fixture;
  Handle a = make({1, 2}, ScalarType::Long);
  Handle b = make({2, 1}, ScalarType::Long);
  Handle out = make({1, 1}, ScalarType::Long);
  for (std::size_t i = 0; i < 2; ++i) {
    a->as<std::int64_t>()[i] = std::numeric_limits<std::int64_t>::max();
    b->as<std::int64_t>()[i] = 2;
  }
  REQUIRE(aoti_torch_cpu_mm_out(out.get(), a.get(), b.get()) == 0);
  CHECK(out->as<std::int64_t>()[0] == -4);
}

TEST_CASE("invalid products are refused with a message", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  Handle a = random(source, {2, 3});
  Handle b = random(source, {4, 5});
  Handle c = random(source, {3, 5});
  Handle out = make({2, 5});
  Handle narrow = random(source, {3, 5}, ScalarType::BFloat16);
  Handle cube = random(source, {1, 3, 5});
  Handle bools_a = make({2, 3}, ScalarType::Bool);
  Handle bools_b = make({3, 5}, ScalarType::Bool);
  Handle bools = make({2, 5}, ScalarType::Bool);
  const auto failure = [&] { return fixture.pool.take_failure(); };

  CHECK(aoti_torch_cpu_mm_out(out.get(), a.get(), b.get()) == 1);
  CHECK_THAT(failure(),
             ContainsSubstring("mm_out: operands [2, 3] and [4, 5]: expected as many "
                               "columns in the first as rows in the second, found 3 and 4"));
  CHECK(aoti_torch_cpu_mm_out(b.get(), a.get(), c.get()) == 1);
  CHECK_THAT(failure(), ContainsSubstring("do not make the result [4, 5]"));
  CHECK(aoti_torch_cpu_mm_out(out.get(), a.get(), narrow.get()) == 1);
  CHECK_THAT(failure(), ContainsSubstring("Float and BFloat16"));
  CHECK(aoti_torch_cpu_mm_out(out.get(), a.get(), cube.get()) == 1);
  CHECK_THAT(failure(), ContainsSubstring("expected 2 dimensions"));
  CHECK(aoti_torch_cpu_bmm_out(out.get(), a.get(), c.get()) == 1);
  CHECK_THAT(failure(), ContainsSubstring("expected 3 dimensions"));
  CHECK(aoti_torch_cpu_addmm_out(out.get(), a.get(), a.get(), c.get(), 1, 1) == 1);
  CHECK_THAT(failure(),
             ContainsSubstring("a summand [2, 3]: expected a shape that broadcasts to [2, 5]"));
  CHECK(aoti_torch_cpu_addmm_out(out.get(), bools.get(), a.get(), c.get(), 1, 1) == 1);
  CHECK_THAT(failure(), ContainsSubstring("a summand of Bool"));
  CHECK(aoti_torch_cpu_mm_out(bools.get(), bools_a.get(), bools_b.get()) == 1);
  CHECK_THAT(failure(), ContainsSubstring("a product of Bool"));
}

TEST_CASE("a second product of the same shape allocates nothing", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half}) {
    Handle a = random(source, {32, 200}, type, {400, 2});
    Handle b = random(source, {200, 100}, type, {1, 200});
    Handle out = make({32, 100}, type, {1, 32});
    REQUIRE(aoti_torch_cpu_mm_out(out.get(), a.get(), b.get()) == 0);
    const std::size_t before = allocations();
    REQUIRE(aoti_torch_cpu_mm_out(out.get(), a.get(), b.get()) == 0);
    CHECK(allocations() == before);
    Handle row = random(source, {1, 200}, type);
    Handle product = make({1, 100}, type);
    REQUIRE(aoti_torch_cpu_mm_out(product.get(), row.get(), b.get()) == 0);
    const std::size_t then = allocations();
    REQUIRE(aoti_torch_cpu_mm_out(product.get(), row.get(), b.get()) == 0);
    CHECK(allocations() == then);
  }
}
