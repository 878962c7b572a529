// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernel_support.hpp"
#include "support/catch.hpp"

using namespace kernel_test;
using namespace tenon::cpu_aoti;

// Infinite numbers, NaN, -0, numbers at the ends of types, and dimensions counted from the end. The
// expected numbers come from torch 2.15.
namespace special_values_test {
namespace {

using Values = std::vector<double>;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Handle filled(const Shape& sizes, ScalarType type, const Values& values) {
  Handle out = make(sizes, type);
  for (std::size_t i = 0; i < values.size(); ++i) out.set(static_cast<std::int64_t>(i), values[i]);
  return out;
}

/// The first number that differs in value or sign, or by more than rounding; else empty.
std::string unequal(const Values& found, const Values& expected) {
  if (found.size() != expected.size()) return "sizes differ";
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double a = found[i], b = expected[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    const bool near = a == b || std::abs(a - b) <= 2e-6 * std::abs(b);
    if (near && std::signbit(a) == std::signbit(b)) continue;
    return "element " + std::to_string(i) + ": expected " + std::to_string(b) + ", found " +
           std::to_string(a);
  }
  return {};
}

using Complex = std::complex<float>;

Handle complex(const std::vector<Complex>& values) {
  Handle out = make({static_cast<std::int64_t>(values.size())}, ScalarType::ComplexFloat);
  for (std::size_t i = 0; i < values.size(); ++i) out->as<Complex>()[i] = values[i];
  return out;
}

/// Real and imaginary parts in turn.
Values parts(const Handle& tensor) {
  Values out;
  for (std::int64_t i = 0; i < tensor->numel; ++i) {
    const Complex value = tensor->as<const Complex>()[i];
    out.push_back(static_cast<double>(value.real()));
    out.push_back(static_cast<double>(value.imag()));
  }
  return out;
}

}  // namespace

TEST_CASE("pow_Tensor_Scalar: exponents that are products and roots", "[cpu_aoti]") {
  Fixture fixture;
  const auto power = [](const Handle& x, double exponent) {
    Handle out;
    REQUIRE(aoti_torch_cpu_pow_Tensor_Scalar(x.get(), exponent, out.out()) == 0);
    return out;
  };
  const Values numbers = {inf, -inf, -0.0, 0, nan, 4, -2};
  const struct {
    double exponent;
    Values expected;
  } cases[] = {
      {0, {1, 1, 1, 1, 1, 1, 1}},
      {1, numbers},
      {2, {inf, inf, 0, 0, nan, 16, 4}},
      {3, {inf, -inf, -0.0, 0, nan, 64, -8}},
      {0.5, {inf, nan, -0.0, 0, nan, 2, nan}},
      {-0.5, {0, nan, -inf, inf, nan, 0.5, nan}},
      {-1, {0, -0.0, -inf, inf, nan, 0.25, -0.5}},
      {-2, {0, 0, inf, inf, nan, 0.0625, 0.25}},
      {1.5, {inf, inf, 0, 0, nan, 8, nan}},
  };
  for (const auto& each : cases) {
    for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16}) {
      CAPTURE(each.exponent, name_of(type));
      CHECK(unequal(power(filled({7}, type, numbers), each.exponent).values(), each.expected) ==
            "");
    }
  }
  // Roots of Half are powers, and products of BFloat16 are rounded one by one.
  Handle half = filled({3}, ScalarType::Half, {-inf, -0.0, 4});
  CHECK(unequal(power(half, 0.5).values(), {inf, 0, 2}) == "");
  CHECK(unequal(power(half, -0.5).values(), {0, inf, 0.5}) == "");
  Handle rounded = filled({2}, ScalarType::BFloat16, {1.0625, 1.078125});
  CHECK(power(rounded, 3).values() == Values{1.1953125, 1.2578125});
  CHECK(power(rounded, -2).values() == Values{0.890625, 0.859375});
  Handle whole = filled({4}, ScalarType::Long, {-3, 0, 1, 7});
  CHECK(unequal(power(whole, -1).values(), {-0.33333334, inf, 1, 0.14285715}) == "");
  CHECK(unequal(power(whole, 0.5).values(), {nan, 0, 1, 2.6457512}) == "");
}

TEST_CASE("pow_Tensor_Scalar and pow_Scalar: complex numbers", "[cpu_aoti]") {
  Fixture fixture;
  constexpr float infinite = std::numeric_limits<float>::infinity();
  Handle x = complex({{0, 0}, {infinite, 0}, {0, infinite}, {1, 2}, {-4, 0}, {-4, -0.0f}});
  const struct {
    double exponent;
    Values expected;
  } cases[] = {
      {0, {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}},
      {1, {0, 0, inf, 0, 0, inf, 1, 2, -4, 0, -4, -0.0}},
      {2, {0, 0, inf, nan, -inf, nan, -3, 4, 16, -0.0, 16, 0}},
      {3, {0, 0, nan, nan, nan, nan, -11, -2, -64, 0, -64, -0.0}},
      {0.5, {0, 0, inf, 0, inf, inf, 1.27201962, 0.78615141, 0, 2, 0, -2}},
      {-0.5, {inf, nan, 0, 0, nan, nan, 0.56886446, -0.35157758, 0, -0.5, -0.0, 0.5}},
      {-1, {inf, nan, 0, 0, 0, -0.0, 0.2, -0.4, -0.25, -0.0, -0.25, -0.0}},
      {-2, {inf, nan, nan, nan, nan, nan, -0.12, -0.16, 0.0625, 0, 0.0625, 0}},
  };
  for (const auto& each : cases) {
    CAPTURE(each.exponent);
    Handle out;
    REQUIRE(aoti_torch_cpu_pow_Tensor_Scalar(x.get(), each.exponent, out.out()) == 0);
    CHECK(unequal(parts(out), each.expected) == "");
  }
  Handle ones, product;
  REQUIRE(aoti_torch_cpu_pow_Scalar(1, x.get(), ones.out()) == 0);
  CHECK(unequal(parts(ones), cases[0].expected) == "");
  // NaN stays NaN: it is not made infinite, as by C++'s product.
  constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
  Handle a = complex({{infinite, not_a_number}, {2, 3}}), b = complex({{infinite, 0}, {0, 1}});
  REQUIRE(aoti_torch_cpu_mul_Tensor(a.get(), b.get(), product.out()) == 0);
  CHECK(unequal(parts(product), {nan, nan, -3, 2}) == "");
}

TEST_CASE("add_Tensor: factors of whole numbers and truth values", "[cpu_aoti]") {
  Fixture fixture;
  Handle a = filled({2}, ScalarType::Long, {1, 2}), b = filled({2}, ScalarType::Long, {10, 20});
  for (const double alpha : {2.5, 0x1p63, -0x1p64, 1e300, inf, nan}) {
    CAPTURE(alpha);
    Handle refused;
    CHECK(aoti_torch_cpu_add_Tensor(a.get(), b.get(), alpha, refused.out()) == 1);
    CHECK_THAT(fixture.pool.take_failure(),
               ContainsSubstring("of elements of Long: expected a whole number of 64 bits"));
  }
  Handle difference, wrapped, any;
  REQUIRE(aoti_torch_cpu_add_Tensor(a.get(), b.get(), -1, difference.out()) == 0);
  CHECK(difference.values() == Values{-9, -18});
  REQUIRE(aoti_torch_cpu_add_Tensor(a.get(), b.get(), 0x1p62, wrapped.out()) == 0);
  CHECK(wrapped->as<std::int64_t>()[0] == -9223372036854775807);
  CHECK(wrapped->as<std::int64_t>()[1] == 2);
  Handle p = filled({4}, ScalarType::Bool, {0, 1, 0, 1});
  Handle q = filled({4}, ScalarType::Bool, {0, 0, 1, 1});
  REQUIRE(aoti_torch_cpu_add_Tensor(p.get(), q.get(), -1, any.out()) == 0);
  CHECK(any.values() == Values{0, 1, 1, 1});
}

TEST_CASE("searchsorted_Scalar: whole numbers are compared with the fraction", "[cpu_aoti]") {
  Fixture fixture;
  const auto find = [](const Handle& sequence, double value, bool right) {
    Handle out;
    REQUIRE(aoti_torch_cpu_searchsorted_Scalar(sequence.get(), value, 0, right ? 1 : 0, nullptr,
                                               nullptr, out.out()) == 0);
    return out.at(0);
  };
  const struct {
    double value, left, right;
  } cases[] = {{2.5, 2, 2},    {2, 1, 2},   {-0.5, 0, 0}, {0.5, 0, 0}, {1e300, 3, 3},
               {-1e300, 0, 0}, {inf, 3, 3}, {-inf, 0, 0}, {nan, 3, 3}, {300, 3, 3}};
  for (const ScalarType type : {ScalarType::Long, ScalarType::Byte, ScalarType::Char,
                                ScalarType::Int, ScalarType::Float, ScalarType::Half}) {
    Handle sequence = filled({3}, type, {1, 2, 3});
    for (const auto& each : cases) {
      CAPTURE(name_of(type), each.value);
      CHECK(find(sequence, each.value, false) == each.left);
      CHECK(find(sequence, each.value, true) == each.right);
    }
  }
  Handle truth = filled({3}, ScalarType::Bool, {1, 1, 1});
  CHECK(find(truth, 0.5, false) == 0);
  CHECK(find(truth, 2, false) == 3);
  // As Float, 2^24 + 1 is 2^24.
  Handle large = filled({4}, ScalarType::Long, {0x1p24, 0x1p24 + 1, 0x1p24 + 2, 0x1p24 + 3});
  CHECK(find(large, 0x1p24 + 1, false) == 0);
  CHECK(find(large, 0x1p24 + 1, true) == 2);
  Handle values = filled({3}, ScalarType::Float, {2.5, 1, 9}), out;
  Handle sequence = filled({3}, ScalarType::Long, {1, 2, 3});
  REQUIRE(aoti_torch_cpu_searchsorted_Tensor(sequence.get(), values.get(), 0, 0, nullptr, nullptr,
                                             out.out()) == 0);
  CHECK(out.values() == Values{2, 0, 3});
}

TEST_CASE("_int_mm_out: sums wrap around", "[cpu_aoti]") {
  Fixture fixture;
  const std::int64_t inner = 140000;
  for (const std::int64_t rows : {1, 8}) {
    for (const Shape& strides : {Shape{1, inner}, Shape{2, 1}}) {
      Handle a = make({rows, inner}, ScalarType::Char);
      Handle b = make({inner, 2}, ScalarType::Char, strides);
      std::fill_n(a->as<std::int8_t>(), a->numel, std::int8_t{127});
      std::fill_n(b->as<std::int8_t>(), b->numel, std::int8_t{127});
      Handle out = make({rows, 2}, ScalarType::Int);
      REQUIRE(aoti_torch_cpu__int_mm_out(out.get(), a.get(), b.get()) == 0);
      CHECK(out.values() == Values(static_cast<std::size_t>(2 * rows), -2036907296));
    }
  }
}

TEST_CASE("_int_mm_out: Byte times Char has the sign of Char", "[cpu_aoti]") {
  Fixture fixture;
  for (const Shape& strides : {Shape{1, 2}, Shape{2, 1}}) {
    Handle a = filled({1, 2}, ScalarType::Byte, {200, 255});
    Handle b = make({2, 2}, ScalarType::Char, strides);
    for (std::int64_t i = 0; i < 4; ++i) b.set(i, i == 1 || i == 2 ? -128 : 127);
    Handle out = make({1, 2}, ScalarType::Int);
    REQUIRE(aoti_torch_cpu__int_mm_out(out.get(), a.get(), b.get()) == 0);
    CHECK(out.values() == Values{200 * 127 - 255 * 128, 255 * 127 - 200 * 128});
    // PyTorch refuses the types the other way around.
    Handle c = make({1, 2}, ScalarType::Char), d = make({2, 2}, ScalarType::Byte);
    CHECK(aoti_torch_cpu__int_mm_out(out.get(), c.get(), d.get()) == 1);
    CHECK_THAT(fixture.pool.take_failure(), ContainsSubstring("a product of Char and Byte in Int"));
  }
}

TEST_CASE("_weight_int8pack_mm: strides of the weights", "[cpu_aoti]") {
  Fixture fixture;
  Handle x = filled({1, 2}, ScalarType::Float, {1, 2}),
         scales = filled({3}, ScalarType::Float, {1, 1, 1});
  Handle columns = make({3, 2}, ScalarType::Char, {1, 3}), out;
  CHECK(aoti_torch_cpu__weight_int8pack_mm(x.get(), columns.get(), scales.get(), out.out()) == 1);
  CHECK_THAT(fixture.pool.take_failure(),
             ContainsSubstring("weights with stride 3 within a row: expected 1"));
  // A row of one element has no stride.
  Handle one = filled({1, 1}, ScalarType::Float, {2});
  Handle column = make({3, 1}, ScalarType::Char, {1, 3});
  for (std::int64_t i = 0; i < 3; ++i) column.set(i, static_cast<double>(i));
  REQUIRE(aoti_torch_cpu__weight_int8pack_mm(one.get(), column.get(), scales.get(), out.out()) ==
          0);
  CHECK(out.values() == Values{0, 2, 4});
}

TEST_CASE("_weight_int8pack_mm: rows of every length of weights", "[cpu_aoti]") {
  Fixture fixture;
  constexpr std::int64_t columns = 5;
  for (const std::int64_t rows : {1, 2, 5}) {
    for (const std::int64_t inner : {1, 15, 64, 80, 149}) {
      CAPTURE(rows, inner);
      // Small integers, so that the sums are exact in each order.
      const auto x_at = [](std::int64_t i) { return static_cast<double>(i % 11 - 5); };
      const auto weight_at = [](std::int64_t i) { return static_cast<double>(i * 37 % 256 - 128); };
      Handle x = make({rows, inner}, ScalarType::Float), out;
      Handle weights = make({columns, inner}, ScalarType::Char);
      Handle scales = filled({columns}, ScalarType::Float, {1, 2, 0.5, 4, 1});
      for (std::int64_t i = 0; i < rows * inner; ++i) x.set(i, x_at(i));
      for (std::int64_t i = 0; i < columns * inner; ++i) weights.set(i, weight_at(i));
      REQUIRE(aoti_torch_cpu__weight_int8pack_mm(x.get(), weights.get(), scales.get(), out.out()) ==
              0);
      Values expected;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < inner; ++k) {
            sum += x_at(i * inner + k) * weight_at(j * inner + k);
          }
          expected.push_back(sum * scales.values()[static_cast<std::size_t>(j)]);
        }
      }
      CHECK(out.values() == expected);
    }
  }
}

TEST_CASE("_trilinear: dimensions from the end, and none twice", "[cpu_aoti]") {
  Fixture fixture;
  Handle a = filled({2, 3}, ScalarType::Float, {1, 2, 3, 4, 5, 6});
  Handle b = filled({2, 3}, ScalarType::Float, {2, 4, 6, 8, 10, 12});
  Handle c = filled({2, 3}, ScalarType::Float, {-2, -1, 0, 1, 2, 3});
  Handle v = filled({3}, ScalarType::Float, {1, 2, 3}), out;
  const auto call = [&](const Shape& sum, std::int64_t unroll) {
    return aoti_torch_cpu__trilinear(a.get(), b.get(), c.get(), nullptr, 0, nullptr, 0, nullptr, 0,
                                     sum.data(), static_cast<std::int64_t>(sum.size()), unroll,
                                     out.out());
  };
  const struct {
    Shape sum;
    Values expected;
  } cases[] = {{{1}, {-12, 348}},
               {{-1}, {-12, 348}},
               {{-2}, {28, 92, 216}},
               {{-1, -2}, {336}},
               {{}, {-4, -8, 0, 32, 100, 216}}};
  for (const auto& each : cases) {
    out = Handle();
    REQUIRE(call(each.sum, 1) == 0);
    CHECK(out.values() == each.expected);
  }
  const auto refusal = [&](const Shape& sum, std::int64_t unroll) {
    out = Handle();
    CHECK(call(sum, unroll) == 1);
    return fixture.pool.take_failure();
  };
  CHECK_THAT(refusal({2}, 1), ContainsSubstring("dimension 2 of 2: expected -2 to 1"));
  CHECK_THAT(refusal({-3}, 1), ContainsSubstring("dimension -3 of 2"));
  CHECK_THAT(refusal({1, -1}, 1), ContainsSubstring("dimensions [1, -1] of 2: expected none"));
  CHECK_THAT(refusal({1}, -1), ContainsSubstring("unroll_dim -1: expected 0 to below 2"));
  CHECK_THAT(refusal({1}, 2), ContainsSubstring("unroll_dim 2"));
  const auto expand = [&](const Shape& first) {
    const Shape second = {2, 0}, third = {2, 1}, sum = {-1};
    out = Handle();
    return aoti_torch_cpu__trilinear(v.get(), v.get(), v.get(), first.data(), 2, second.data(), 2,
                                     third.data(), 2, sum.data(), 1, 0, out.out());
  };
  REQUIRE(expand({-2, -3}) == 0);
  CHECK(out.values() == Values{6, 12, 18, 12, 24, 36, 18, 36, 54});
  CHECK(expand({0, -3}) == 1);
  CHECK_THAT(fixture.pool.take_failure(), ContainsSubstring("dimensions [0, -3] of 3"));
  CHECK(expand({0, 3}) == 1);
  CHECK_THAT(fixture.pool.take_failure(), ContainsSubstring("dimension 3 of 3"));
}

TEST_CASE("grid_sampler_3d: places that are infinite, NaN or far away", "[cpu_aoti]") {
  Fixture fixture;
  const Values places = {nan, inf, -inf, 1e30, -1e30, 3e38, 7.3, -2.9};
  const struct {
    std::int64_t interpolation, padding;
    std::int32_t align_corners;
    Values expected;
  } cases[] = {
      {0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}},
      {0, 0, 1, {0, 0, 0, 0, 0, 0, 0, 0}},
      {0, 1, 0, {4, 4, 1, 4, 1, 4, 4, 1}},
      {0, 1, 1, {4, 4, 1, 4, 1, 4, 4, 1}},
      {0, 2, 0, {4, 4, 4, 1, 1, 4, 1.1000003814697266, 4}},
      {0, 2, 1, {4, 4, 4, 2, 2, 4, 1.4500007629394531, 3.8500001430511475}},
      {1, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}},
      {1, 0, 1, {0, 0, 0, 0, 0, 0, 0, 0}},
      {1, 1, 0, {4, 4, 1, 4, 1, 4, 4, 1}},
      {1, 1, 1, {4, 4, 1, 4, 1, 4, 4, 1}},
      {1, 2, 0, {4, 4, 4, 1, 1, 4, 1, 4}},
      {1, 2, 1, {4, 4, 4, 2, 2, 4, 1, 4}},
  };
  Handle image = filled({1, 1, 1, 1, 4}, ScalarType::Float, {1, 2, 3, 4});
  Handle grid = make({1, 1, 1, 8, 3});
  for (std::int64_t i = 0; i < 8; ++i) {
    grid.set(i * 3, places[static_cast<std::size_t>(i)]);
    grid.set(i * 3 + 1, 0);
    grid.set(i * 3 + 2, 0);
  }
  for (const auto& each : cases) {
    CAPTURE(each.interpolation, each.padding, each.align_corners);
    Handle out;
    REQUIRE(aoti_torch_cpu_grid_sampler_3d(image.get(), grid.get(), each.interpolation,
                                           each.padding, each.align_corners, out.out()) == 0);
    CHECK(unequal(out.values(), each.expected) == "");
  }
  // Each dimension on its own, in the other two halfway to the first element.
  Handle cube = filled({1, 1, 2, 2, 2}, ScalarType::Float, {1, 2, 3, 4, 5, 6, 7, 8});
  const double expected[] = {2, 3, 5};
  for (std::int64_t d = 0; d < 3; ++d) {
    Handle one = filled({1, 1, 1, 1, 3}, ScalarType::Float, {-0.5, -0.5, -0.5}), out;
    one.set(d, nan);
    REQUIRE(aoti_torch_cpu_grid_sampler_3d(cube.get(), one.get(), 0, 1, 0, out.out()) == 0);
    CHECK(out.at(0) == expected[d]);
  }
}

TEST_CASE("rows of all halves and of floats convert as single elements do", "[cpu_aoti]") {
  std::vector<std::uint16_t> halves(1 << 16);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  const std::int64_t sizes[] = {1 << 16};
  const std::int64_t strides[] = {1};
  std::vector<float> floats(halves.size());
  const Layout bits{reinterpret_cast<std::byte*>(halves.data()), strides};
  std::size_t wrong = 0;
  const auto differs = [](float a, float b) { return a != b && (a == a || b == b); };
  to_floats(sizes, ScalarType::Half, bits, floats.data());
  for (std::size_t i = 0; i < floats.size(); ++i) {
    wrong += differs(floats[i], Half{static_cast<std::uint16_t>(i)}.to_float());
  }
  to_floats(sizes, ScalarType::BFloat16, bits, floats.data());
  for (std::size_t i = 0; i < floats.size(); ++i) {
    wrong += differs(floats[i], BFloat16{static_cast<std::uint16_t>(i)}.to_float());
  }
  CHECK(wrong == 0);
  // Between all neighbours, with ties in both directions; then the same for BFloat16.
  for (const ScalarType type : {ScalarType::Half, ScalarType::BFloat16}) {
    for (std::size_t i = 0; i < floats.size(); ++i) {
      const auto low = type == ScalarType::Half ? 0x1000u : 0x8000u;
      const float value = type == ScalarType::Half
                              ? Half{static_cast<std::uint16_t>(i)}.to_float()
                              : BFloat16{static_cast<std::uint16_t>(i)}.to_float();
      floats[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) + low);
    }
    from_floats(sizes, type, floats.data(), bits);
    for (std::size_t i = 0; i < floats.size(); ++i) {
      if (floats[i] != floats[i]) continue;
      wrong += halves[i] != (type == ScalarType::Half ? Half::from_float(floats[i]).bits
                                                      : BFloat16::from_float(floats[i]).bits);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("addbmm: no matrices", "[cpu_aoti]") {
  Fixture fixture;
  Handle self = filled({2, 2}, ScalarType::Float, {1, nan, 3, 4}), out, zero, wide, whole;
  Handle a = make({0, 2, 3}), b = make({0, 3, 2}), other = make({0, 4, 2});
  REQUIRE(aoti_torch_cpu_addbmm(self.get(), a.get(), b.get(), 2, 5, out.out()) == 0);
  CHECK(unequal(out.values(), {2, nan, 6, 8}) == "");
  REQUIRE(aoti_torch_cpu_addbmm(self.get(), a.get(), b.get(), 0, 5, zero.out()) == 0);
  CHECK(zero.values() == Values{0, 0, 0, 0});
  Handle row = filled({2}, ScalarType::BFloat16, {5, 7});
  Handle c = make({0, 2, 3}, ScalarType::BFloat16), d = make({0, 3, 2}, ScalarType::BFloat16);
  REQUIRE(aoti_torch_cpu_addbmm(row.get(), c.get(), d.get(), 3, 1, wide.out()) == 0);
  CHECK(wide.values() == Values{15, 21, 15, 21});
  Handle e = make({0, 2, 3}, ScalarType::Long), f = make({0, 3, 2}, ScalarType::Long);
  Handle numbers = filled({2, 2}, ScalarType::Long, {1, 2, 3, 4});
  REQUIRE(aoti_torch_cpu_addbmm(numbers.get(), e.get(), f.get(), 2, 1, whole.out()) == 0);
  CHECK(whole.values() == Values{2, 4, 6, 8});
  Handle refused;
  CHECK(aoti_torch_cpu_addbmm(self.get(), a.get(), other.get(), 1, 1, refused.out()) == 1);
  CHECK_THAT(fixture.pool.take_failure(), ContainsSubstring("batches [0, 2, 3] and [0, 4, 2]"));
}

TEST_CASE("products of whole numbers refuse factors that are none of the type", "[cpu_aoti]") {
  Fixture fixture;
  for (const ScalarType type : {ScalarType::Long, ScalarType::Int, ScalarType::Byte}) {
    Handle ones = filled({2, 2}, type, {1, 1, 1, 1});
    for (const double factor : {nan, inf, 1e300, -1e19, 0x1p63}) {
      CAPTURE(name_of(type), factor);
      for (const auto& [alpha, beta] : {std::pair{factor, 1.0}, std::pair{1.0, factor}}) {
        Handle refused;
        CHECK(aoti_torch_cpu_addmm_out(ones.get(), ones.get(), ones.get(), ones.get(), beta,
                                       alpha) == 1);
        CHECK_THAT(fixture.pool.take_failure(),
                   ContainsSubstring("expected a number of that type"));
      }
    }
    Handle out = make({2, 2}, type);
    REQUIRE(aoti_torch_cpu_addmm_out(out.get(), ones.get(), ones.get(), ones.get(), 1, 1.5) == 0);
    CHECK(out.values() == Values{3, 3, 3, 3});
  }
}

TEST_CASE("mode: NaN is equal to nothing, and counts where the sort left it", "[cpu_aoti]") {
  Fixture fixture;
  const struct {
    Values line;
    double value;
    double index;
  } cases[] = {
      {{nan, 1, 1, 2}, 1, 2},
      {{nan, nan, 1}, nan, 0},
      {{1, nan, nan}, 1, 0},
      {{nan, 1}, nan, 0},
      {{1, nan}, 1, 0},
      {{nan, nan}, nan, 0},
      {{nan}, nan, 0},
      {{2, nan, nan, 1, 1}, 1, 3},
      {{nan, 2, 2, nan, 1, nan}, 2, 2},
      {{3, 3, nan, nan, nan, 1, 1}, 3, 1},
      {{nan, nan, nan, 1, 1, 1, 1}, 1, 6},
  };
  for (const auto& each : cases) {
    for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16}) {
      Handle values, indices;
      const auto size = static_cast<std::int64_t>(each.line.size());
      Handle line = filled({size}, type, each.line);
      CAPTURE(name_of(type), each.line);
      REQUIRE(aoti_torch_cpu_mode(line.get(), 0, 0, values.out(), indices.out()) == 0);
      CHECK(unequal(values.values(), {each.value}) == "");
      CHECK(indices.values() == Values{each.index});
    }
  }
  // Of a line with NaN that PyTorch has no result for: the most frequent number.
  Values line(40, nan);
  for (const std::size_t at : {3U, 30U}) line[at] = 5;
  line[8] = 1;
  Handle values, indices, longer = filled({40}, ScalarType::Float, line);
  REQUIRE(aoti_torch_cpu_mode(longer.get(), 0, 0, values.out(), indices.out()) == 0);
  CHECK(values.values() == Values{5});
  CHECK(indices.values() == Values{30});
}

TEST_CASE("_cdist_forward and _pdist_forward: norms that a float has not", "[cpu_aoti]") {
  Fixture fixture;
  Handle a = filled({2, 3}, ScalarType::Float, {1, 2, 3, 0.5, 0.25, 0.1});
  Handle b = filled({2, 3}, ScalarType::Float, {1.5, 2, 0, 9, 9, 9});
  const struct {
    double norm;
    Values expected;
  } cases[] = {{1e300, {3, 8, 1.75, 8.9}}, {3.5e38, {3, 8, 1.75, 8.9}}, {1e-300, {2, 3, 3, 3}}};
  for (const auto& each : cases) {
    CAPTURE(each.norm);
    Handle between, within;
    REQUIRE(aoti_torch_cpu__cdist_forward(a.get(), b.get(), each.norm, nullptr, between.out()) ==
            0);
    CHECK(unequal(between.values(), each.expected) == "");
    REQUIRE(aoti_torch_cpu__pdist_forward(b.get(), each.norm, within.out()) == 0);
    CHECK(unequal(within.values(), {each.norm < 1 ? 3.0 : 9.0}) == "");
  }
}

TEST_CASE("nonzero_static: any number of rows of a tensor without dimensions", "[cpu_aoti]") {
  Fixture fixture;
  Handle one = filled({}, ScalarType::Float, {1}), places;
  REQUIRE(aoti_torch_cpu_nonzero_static(one.get(), std::int64_t{1} << 62, -1, places.out()) == 0);
  CHECK(places->sizes[0] == std::int64_t{1} << 62);
  CHECK(places->numel == 0);
}

}  // namespace special_values_test
