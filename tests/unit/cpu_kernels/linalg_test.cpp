// SPDX-License-Identifier: MIT
#include "operators/linalg/linalg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernel_support.hpp"
#include "operators/linalg/lapack.hpp"
#include "support/catch.hpp"

using namespace kernel_test;
using namespace tenon::cpu_aoti;

namespace linalg_test {
namespace {

using Results = std::array<OwnedTensor, 4>;

Results none() {
  return {OwnedTensor(nullptr), OwnedTensor(nullptr), OwnedTensor(nullptr), OwnedTensor(nullptr)};
}
std::span<OwnedTensor> first(Results& results, std::size_t count) {
  return std::span(results).first(count);
}
Handle take(OwnedTensor& tensor) { return Handle(tensor.take()); }

/// Element (i, j) of matrix `batch`.
double element(const Handle& matrices, std::int64_t batch, std::int64_t i, std::int64_t j) {
  const auto rank = matrices.sizes().size();
  const std::int64_t rows = matrices.sizes()[rank - 2], columns = matrices.sizes()[rank - 1];
  return matrices.at((batch * rows + i) * columns + j);
}

/// A random batch of 2 matrices whose diagonal is large, with strides of its own.
Handle batch_of(Random& source, std::int64_t rows, std::int64_t columns, ScalarType type) {
  Handle out = random(source, {2, rows, columns}, type, {rows * columns + 3, columns, 1});
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t d = 0; d < std::min(rows, columns); ++d) {
      const std::int64_t at = (b * rows + d) * columns + d;
      out.set(at, out.at(at) + 4);
    }
  }
  return out;
}

/// The largest difference of the product of two matrices from a third.
double difference(const Handle& a, const Handle& b, const Handle& product) {
  const auto rank = a.sizes().size();
  double most = 0;
  for (std::int64_t batch = 0; batch < 2; ++batch) {
    for (std::int64_t i = 0; i < a.sizes()[rank - 2]; ++i) {
      for (std::int64_t j = 0; j < b.sizes()[rank - 1]; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < a.sizes()[rank - 1]; ++k) {
          sum += element(a, batch, i, k) * element(b, batch, k, j);
        }
        most = std::max(most, std::abs(sum - element(product, batch, i, j)));
      }
    }
  }
  return most;
}

Handle identity(std::int64_t size, ScalarType type) {
  Handle out = make({2, size, size}, type);
  for (std::int64_t i = 0; i < out->numel; ++i) out.set(i, i % (size * size) % (size + 1) == 0);
  return out;
}

Handle transposed(const Handle& matrix) {
  const Shape sizes = matrix.sizes(), strides = matrix.strides();
  auto& pool = *matrix->storage->pool;
  const Shape turned = {sizes[0], sizes[2], sizes[1]}, steps = {strides[0], strides[2], strides[1]};
  return Handle(pool.view(*matrix, turned, steps.data(), 0));
}

double limit(ScalarType type) { return type == ScalarType::Float ? 1e-5 : 1e-13; }

constexpr ScalarType types[] = {ScalarType::Float, ScalarType::Double};

}  // namespace

TEST_CASE("inverses and solutions fit the matrices", "[cpu_aoti][linalg]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : types) {
    const Handle a = batch_of(source, 4, 4, type);
    Results found = none();
    REQUIRE(invert(*a, first(found, 2)).ok());
    const Handle inverse = take(found[0]), info = take(found[1]);
    CHECK(inverse.strides() == Shape{16, 1, 4});
    CHECK(info->scalar_type == ScalarType::Int);
    CHECK(info.values() == std::vector<double>{0, 0});
    CHECK(difference(a, inverse, identity(4, type)) < limit(type));

    const Handle right = random(source, {2, 4, 3}, type);
    REQUIRE(solve(*a, *right, true, first(found, 4)).ok());
    const Handle x = take(found[0]);
    CHECK(x.strides() == Shape{12, 1, 4});
    CHECK(difference(a, x, right) < limit(type));

    const Handle vectors = random(source, {2, 4}, type);
    REQUIRE(solve(*a, *vectors, true, first(found, 4)).ok());
    const Handle y = take(found[0]);
    CHECK(y.sizes() == Shape{2, 4});
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t i = 0; i < 4; ++i) {
        double sum = 0;
        for (std::int64_t k = 0; k < 4; ++k) sum += element(a, b, i, k) * y.at(b * 4 + k);
        CHECK(std::abs(sum - vectors.at(b * 4 + i)) < limit(type));
      }
    }
  }
}

/// The largest difference of A X from the right sides; the numbers of tensors in row-major order.
double residual(const Handle& a, const Handle& x, const Handle& right, std::int64_t columns) {
  const std::int64_t n = a.sizes().back();
  double most = 0;
  for (std::int64_t i = 0; i < x->numel; ++i) {
    const std::int64_t matrix = i / (n * columns), row = i / columns % n, column = i % columns;
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      sum +=
          a.at((matrix * n + row) * n % a->numel + k) * x.at((matrix * n + k) * columns + column);
    }
    most = std::max(most, std::abs(sum - right.at(i % right->numel)));
  }
  return most;
}

TEST_CASE("solutions have the batches, broadcast, and PyTorch's strides", "[cpu_aoti][linalg]") {
  Fixture fixture;
  Random source;
  struct Case {
    Shape a, right;
    std::int64_t columns;
    Shape sizes, strides;
  };
  const Case cases[] = {
      {{3, 3}, {3}, 1, {3}, {1}},
      {{4, 3, 3}, {4, 3}, 1, {4, 3}, {1, 4}},
      {{4, 3, 3}, {3}, 1, {4, 3}, {1, 4}},
      {{2, 4, 3, 3}, {2, 4, 3}, 1, {2, 4, 3}, {12, 1, 4}},
      {{3, 3}, {4, 3, 2}, 2, {4, 3, 2}, {6, 1, 3}},
      {{4, 3, 3}, {3, 2}, 2, {4, 3, 2}, {6, 1, 3}},
      {{4, 3, 3}, {5, 1, 3, 2}, 2, {5, 4, 3, 2}, {24, 6, 1, 3}},
      {{4, 0, 0}, {4, 0}, 1, {4, 0}, {1, 4}},
  };
  for (const ScalarType type : types) {
    for (const Case& one : cases) {
      INFO(tenon::shape_text(one.a) << " " << tenon::shape_text(one.right));
      Handle a = random(source, one.a, type);
      const std::int64_t n = one.a.back();
      for (std::int64_t i = 0; i < a->numel; ++i) {
        if (i / n % n == i % n) a.set(i, a.at(i) + 4);
      }
      const Handle right = random(source, one.right, type);
      Results found = none();
      REQUIRE(solve(*a, *right, true, first(found, 4)).ok());
      const Handle x = take(found[0]), triangles = take(found[1]), pivots = take(found[2]);
      CHECK(x.sizes() == one.sizes);
      CHECK(x.strides() == one.strides);
      CHECK(triangles.sizes() == one.a);
      CHECK(pivots.sizes() == Shape(one.a.begin(), one.a.end() - 1));
      if (one.right.size() < 4) CHECK(residual(a, x, right, one.columns) < limit(type));
    }
  }
}

TEST_CASE("solutions of X A = B are in row-major order", "[cpu_aoti][linalg]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : types) {
    const Handle a = batch_of(source, 4, 4, type);
    const Handle right = random(source, {2, 3, 4}, type, {12, 1, 3});
    Results found = none();
    REQUIRE(solve(*a, *right, false, first(found, 4)).ok());
    const Handle x = take(found[0]);
    CHECK(x.sizes() == Shape{2, 3, 4});
    CHECK(x.strides() == Shape{12, 4, 1});
    CHECK(difference(x, a, right) < limit(type));
  }

  // Factors 1 and 2, right sides 4 and 8, of which each meets each; two rows in each.
  Handle a = make({2, 1, 1}), right = make({2, 1, 2, 1});
  for (std::int64_t i = 0; i < 2; ++i) a.set(i, static_cast<double>(i + 1));
  for (std::int64_t i = 0; i < 4; ++i) right.set(i, static_cast<double>(4 * (i + 1)));
  Results found = none();
  REQUIRE(solve(*a, *right, false, first(found, 4)).ok());
  const Handle x = take(found[0]);
  CHECK(x.sizes() == Shape{2, 2, 2, 1});
  CHECK(x.values() == std::vector<double>{4, 8, 2, 4, 12, 16, 6, 8});

  // PyTorch (2.15.0): linalg.solve([[2, 1], [0, 4]], [[2, 9], [4, -2], [0, 8]], left=False).
  Handle upper = make({2, 2}), rows = make({3, 2});
  const double matrix[] = {2, 1, 0, 4}, sides[] = {2, 9, 4, -2, 0, 8};
  for (std::int64_t i = 0; i < 4; ++i) upper.set(i, matrix[i]);
  for (std::int64_t i = 0; i < 6; ++i) rows.set(i, sides[i]);
  REQUIRE(solve(*upper, *rows, false, first(found, 4)).ok());
  CHECK(take(found[0]).values() == std::vector<double>{1, 2, 2, -1, 0, 2});

  const auto text = [&](const Handle& b) {
    const tenon::Status status = solve(*upper, *b, false, first(found, 4));
    CHECK_FALSE(status.ok());
    return std::string(status.text());
  };
  CHECK_THAT(text(make({2})), ContainsSubstring("found a vector for each matrix [2, 2]"));
  CHECK_THAT(text(make({2, 3})), ContainsSubstring("right sides with 2 columns"));
}

TEST_CASE("each matrix of a broadcast batch has its own solution", "[cpu_aoti][linalg]") {
  Fixture fixture;
  // Diagonals 1 and 2, right sides 4 and 8, of which each meets each.
  Handle a = make({2, 1, 1}), right = make({2, 1, 1, 1});
  for (std::int64_t i = 0; i < 2; ++i) {
    a.set(i, static_cast<double>(i + 1));
    right.set(i, static_cast<double>(4 * (i + 1)));
  }
  Results found = none();
  REQUIRE(solve(*a, *right, true, first(found, 4)).ok());
  const Handle x = take(found[0]);
  CHECK(x.sizes() == Shape{2, 2, 1, 1});
  CHECK(x.values() == std::vector<double>{4, 2, 8, 4});
}

TEST_CASE("working memory is not smaller than a routine needs", "[cpu_aoti][linalg]") {
  // Of ssyevd with n rows; these round down when LAPACK answers with a float.
  for (const std::int64_t n : {2897, 3000, 4097, 5001}) {
    const std::int64_t needed = 1 + 6 * n + 2 * n * n;
    const auto answer = static_cast<float>(needed);
    CHECK(static_cast<std::int64_t>(answer) < needed);
    CHECK(lapack::work_size(answer, 1) >= needed);
    CHECK(lapack::work_size(answer, needed) >= needed);
  }
  CHECK(lapack::work_size(0.0f, 1) == 1);
  CHECK(lapack::work_size(34.0f, 100) == 100);
  CHECK(lapack::work_size(34.0, 1) >= 34);
  CHECK(lapack::work_size(34.0, 1) <= 35);
  constexpr int most = std::numeric_limits<int>::max();
  CHECK(lapack::work_size(1e30f, 1) == most);
}

TEST_CASE("tensors without elements may have sizes whose product overflows", "[cpu_aoti][linalg]") {
  Fixture fixture;
  const Shape large = {0, std::int64_t{1} << 40, std::int64_t{1} << 20, 16, 16};
  const Handle empty = make(large);
  Results found = none();
  REQUIRE(invert(*empty, first(found, 2)).ok());
  const Handle inverse = take(found[0]);
  CHECK(inverse.sizes() == large);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(inverse.strides() == Shape{most, std::int64_t{1} << 28, 256, 1, 16});
  const Handle self = make({0, std::int64_t{1} << 40, std::int64_t{1} << 30, 4});
  const std::int64_t dim = 3;
  Handle spectrum;
  REQUIRE(aoti_torch_cpu__fft_r2c(self.get(), &dim, 1, 0, 1, spectrum.out()) == 0);
  CHECK(spectrum.strides().front() == most);
}

TEST_CASE("triangles of Cholesky and QR give the matrices back", "[cpu_aoti][linalg]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : types) {
    Handle a = batch_of(source, 3, 3, type);
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
          a.set(b * 9 + i * 3 + j, element(a, b, j, i));
        }
      }
    }
    Results found = none();
    for (const bool upper : {false, true}) {
      REQUIRE(factor_cholesky(*a, upper, first(found, 2)).ok());
      const Handle factor = take(found[0]);
      const Handle turned = transposed(factor);
      CHECK(element(factor, 0, upper ? 2 : 0, upper ? 0 : 2) == 0);
      CHECK(difference(upper ? turned : factor, upper ? factor : turned, a) < limit(type));
    }
    for (const auto& [rows, columns] : {std::pair{5, 3}, std::pair{3, 5}}) {
      const Handle b = batch_of(source, rows, columns, type);
      for (const char* const mode : {"reduced", "complete"}) {
        INFO(rows << " x " << columns << " " << mode);
        REQUIRE(factor_qr(*b, mode, first(found, 2)).ok());
        const Handle q = take(found[0]), r = take(found[1]);
        CHECK(q.sizes()[2] == (std::string(mode) == "complete" ? rows : std::min(rows, columns)));
        CHECK(element(r, 1, 1, 0) == 0);
        CHECK(difference(q, r, b) < limit(type));
        CHECK(difference(transposed(q), q, identity(q.sizes()[2], type)) < limit(type));
      }
      REQUIRE(factor_qr(*b, "r", first(found, 2)).ok());
      CHECK(take(found[0]).sizes() == Shape{0});
    }
  }
}

TEST_CASE("singular values and eigenvalues give the matrices back", "[cpu_aoti][linalg]") {
  Fixture fixture;
  Random source;
  for (const ScalarType type : types) {
    Results found = none();
    for (const auto& [rows, columns] : {std::pair{5, 3}, std::pair{3, 5}}) {
      const Handle a = batch_of(source, rows, columns, type);
      for (const bool full : {false, true}) {
        REQUIRE(factor_svd(*a, full, true, first(found, 3)).ok());
        Handle u = take(found[0]);
        const Handle s = take(found[1]), v = take(found[2]);
        CHECK(u.sizes() == Shape{2, rows, full ? rows : 3});
        CHECK(v.sizes() == Shape{2, full ? columns : 3, columns});
        CHECK(difference(transposed(u), u, identity(u.sizes()[2], type)) < limit(type));
        Handle scaled = make({2, rows, v.sizes()[1]}, type);
        for (std::int64_t i = 0; i < scaled->numel; ++i) {
          const std::int64_t j = i % v.sizes()[1], row = i / v.sizes()[1] % rows;
          const std::int64_t b = i / v.sizes()[1] / rows;
          scaled.set(i, j < 3 ? element(u, b, row, j) * s.at(b * 3 + j) : 0);
        }
        CHECK(difference(scaled, v, a) < limit(type));
      }
      REQUIRE(factor_svd(*a, false, false, first(found, 3)).ok());
      CHECK(take(found[1]).sizes() == Shape{2, 3});
    }
    Handle symmetric = make({2, 2}, type);
    const double numbers[] = {2, 1, 1, 2};
    for (std::int64_t i = 0; i < 4; ++i) symmetric.set(i, numbers[i]);
    REQUIRE(find_eigenvalues(*symmetric, false, true, first(found, 2)).ok());
    const Handle values = take(found[0]), vectors = take(found[1]);
    CHECK(std::abs(values.at(0) - 1) < limit(type));
    CHECK(std::abs(values.at(1) - 3) < limit(type));
    CHECK(std::abs(std::abs(vectors.at(0)) - std::sqrt(0.5)) < limit(type));
    REQUIRE(find_eigenvalues(*symmetric, true, false, first(found, 2)).ok());
    CHECK(take(found[1]).sizes() == Shape{0});
  }
}

TEST_CASE("determinants have the sign of the pivots", "[cpu_aoti][linalg]") {
  Fixture fixture;
  Handle a = make({3, 3}, ScalarType::Double);
  const double numbers[] = {0, 2, 0, 3, 0, 0, 0, 0, 4};
  for (std::int64_t i = 0; i < 9; ++i) a.set(i, numbers[i]);
  Results found = none();
  REQUIRE(find_determinant(*a, first(found, 3)).ok());
  CHECK(take(found[0]).at(0) == -24);
  const Handle empty = make({0, 0});
  REQUIRE(find_determinant(*empty, first(found, 3)).ok());
  CHECK(take(found[0]).at(0) == 1);
  REQUIRE(invert(*empty, first(found, 2)).ok());
  REQUIRE(factor_svd(*make({3, 0}), true, true, first(found, 3)).ok());
  CHECK(take(found[0]).values() == std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1});
}

TEST_CASE("matrices that cannot be factored, and tensors that are none, are refused",
          "[cpu_aoti][linalg]") {
  Fixture fixture;
  Results found = none();
  Handle zero = make({2, 2});
  for (std::int64_t i = 0; i < 4; ++i) zero.set(i, 0);
  REQUIRE(invert(*zero, first(found, 2)).ok());
  const Handle info = take(found[1]);
  CHECK(info.at(0) == 1);
  CHECK_THAT(std::string(check_info(*info, "linalg.inv").text()),
             ContainsSubstring("linalg.inv: a matrix is singular"));
  CHECK_FALSE(check_info(*zero, "linalg.inv").ok());

  const auto text = [&](const tenon::Status& status) {
    CHECK_FALSE(status.ok());
    return std::string(status.text());
  };
  CHECK_THAT(text(invert(*make({2, 3}), first(found, 2))), ContainsSubstring("square matrices"));
  CHECK_THAT(text(factor_qr(*make({2}), "r", first(found, 2))), ContainsSubstring("matrices"));
  CHECK_THAT(text(factor_qr(*zero, "raw", first(found, 2))), ContainsSubstring("mode 'raw'"));
  CHECK_THAT(text(invert(*make({2, 2}, ScalarType::Half), first(found, 2))),
             ContainsSubstring("elements of Half: expected Float or Double"));
  CHECK_THAT(text(solve(*zero, *make({3, 1}), true, first(found, 4))),
             ContainsSubstring("right sides"));
  CHECK_THAT(text(solve(*zero, *make({2}, ScalarType::Double), true, first(found, 4))),
             ContainsSubstring("of Double"));
  Handle nan = make({2, 2});
  for (std::int64_t i = 0; i < 4; ++i) nan.set(i, std::nan(""));
  CHECK_THAT(text(factor_svd(*nan, false, true, first(found, 3))), ContainsSubstring("not finite"));
}

}  // namespace linalg_test
