// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tenon/host/layers/arrays/element.hpp"

namespace {

using tenon::ScalarType;
using tenon::host::ArrayView;
using tenon::host::Comparison;
using tenon::host::Tolerance;
using Shape = std::vector<std::int64_t>;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

template <class T>
Comparison compare(ScalarType type, const std::vector<T>& found, const std::vector<T>& expected,
                   Tolerance tolerance, Shape shape = {}) {
  if (shape.empty()) {
    shape = {static_cast<std::int64_t>(found.size() * sizeof(T) / tenon::size_of(type))};
  }
  return tenon::host::compare_arrays({type, shape, std::as_bytes(std::span(found))},
                                     {type, shape, std::as_bytes(std::span(expected))}, tolerance);
}

Comparison compare_floats(const std::vector<float>& found, const std::vector<float>& expected,
                          Tolerance tolerance = {}) {
  return compare(ScalarType::Float, found, expected, tolerance);
}

}  // namespace

TEST_CASE("equal elements are equal without a tolerance", "[compare]") {
  const auto result = compare_floats({1, -2, 0}, {1, -2, -0.0F});
  CHECK(result.equal);
  CHECK(result.num_elements == 3);
  CHECK_FALSE(result.largest_absolute.has_value());
  CHECK(tenon::run::report(result) == "equal: 3 elements, no difference");
}

TEST_CASE("a difference is allowed up to atol + rtol * |expected|", "[compare]") {
  // Powers of two, so that the sums are exact: 0.5 + 0.25 * 4 = 1.5.
  CHECK(compare_floats({5.5F}, {4}, {0.25, 0.5}).equal);
  CHECK(compare_floats({-5.5F}, {-4}, {0.25, 0.5}).equal);
  CHECK_FALSE(compare_floats({5.5000005F}, {4}, {0.25, 0.5}).equal);
  // The tolerance depends on the expected value and not on the value found.
  CHECK_FALSE(compare_floats({8}, {4}, {0.5, 0}).equal);
  CHECK(compare_floats({4}, {8}, {0.5, 0}).equal);
}

TEST_CASE("NaN equals NaN and an infinity equals itself", "[compare]") {
  CHECK(compare_floats({not_a_number, infinity, -infinity}, {not_a_number, infinity, -infinity})
            .equal);
  const Tolerance huge{1e30, 1e30};
  CHECK_FALSE(compare_floats({not_a_number}, {1}, huge).equal);
  CHECK_FALSE(compare_floats({1}, {not_a_number}, huge).equal);
  CHECK_FALSE(compare_floats({infinity}, {-infinity}, huge).equal);
  CHECK_FALSE(compare_floats({1}, {infinity}, huge).equal);
  CHECK_FALSE(compare_floats({infinity}, {1}, huge).equal);
}

TEST_CASE("integers are compared exactly beyond 2^53", "[compare]") {
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  CHECK(compare<std::int64_t>(ScalarType::Long, {large}, {large}, {}).equal);
  CHECK_FALSE(compare<std::int64_t>(ScalarType::Long, {large}, {large - 1}, {}).equal);
  CHECK(compare<std::int64_t>(ScalarType::Long, {large}, {large - 1}, {0, 1}).equal);
  const auto extremes =
      compare<std::int64_t>(ScalarType::Long, {std::numeric_limits<std::int64_t>::min()},
                            {std::numeric_limits<std::int64_t>::max()}, {});
  CHECK(extremes.first.at(0).absolute == 18446744073709551615.0);
  const std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  CHECK_FALSE(compare<std::uint64_t>(ScalarType::UInt64, {top}, {top - 1}, {}).equal);
  CHECK(compare<std::uint64_t>(ScalarType::UInt64, {top}, {top - 1}, {0, 1}).equal);
}

TEST_CASE("every element type distinguishes two different elements", "[compare]") {
  for (const auto& info : tenon::scalar_types) {
    CAPTURE(info.name);
    std::vector<std::uint8_t> found(2 * info.size, 0);
    std::vector<std::uint8_t> expected = found;
    CHECK(compare(info.type, found, expected, {}).equal);
    // The lowest byte of the second element.
    expected[info.size] = 1;
    const auto result = compare(info.type, found, expected, {});
    CHECK(result.num_elements == 2);
    CHECK(result.num_mismatches == 1);
    CHECK(result.first.at(0).index == Shape{1});
    CHECK(result.first.at(0).found != result.first.at(0).expected);
  }
}

TEST_CASE("complex numbers are compared by their distance", "[compare]") {
  // |(3 + 4j) - 0| = 5
  CHECK(compare<float>(ScalarType::ComplexFloat, {3, 4}, {0, 0}, {0, 5}).equal);
  const auto result = compare<float>(ScalarType::ComplexFloat, {3, 4}, {0, -1.5F}, {0, 4});
  CHECK_FALSE(result.equal);
  CHECK(result.first.at(0).found == "3+4j");
  CHECK(result.first.at(0).expected == "0-1.5j");
  CHECK(compare<float>(ScalarType::ComplexFloat, {not_a_number, infinity}, {not_a_number, infinity},
                       {})
            .equal);
  CHECK_FALSE(compare<float>(ScalarType::ComplexFloat, {not_a_number, infinity},
                             {not_a_number, -infinity}, {})
                  .equal);
}

TEST_CASE("dtype and shape must agree before elements are looked at", "[compare]") {
  const std::vector<float> data(6, 0);
  const auto bytes = std::as_bytes(std::span(data));
  const Shape wide{2, 3};
  const Shape tall{3, 2};
  const auto shapes = tenon::host::compare_arrays({ScalarType::Float, wide, bytes},
                                                  {ScalarType::Float, tall, bytes}, {});
  CHECK_FALSE(shapes.equal);
  CHECK(tenon::run::report(shapes) == "differs: shape is [2, 3], expected [3, 2]");
  const auto types = tenon::host::compare_arrays({ScalarType::Float, wide, bytes},
                                                 {ScalarType::Int, wide, bytes}, {});
  CHECK(tenon::run::report(types) == "differs: dtype is Float, expected Int");
  const auto sizes = tenon::host::compare_arrays({ScalarType::Float, wide, bytes.first(20)},
                                                 {ScalarType::Float, wide, bytes}, {});
  CHECK_FALSE(sizes.equal);
  CHECK_THAT(sizes.difference, ContainsSubstring("20 bytes"));
}

TEST_CASE("the report names counts, the largest differences and the first mismatches",
          "[compare]") {
  std::vector<float> found(12, 1);
  const std::vector<float> expected{1, 1, 1, 1, 1, 100, 1, 1, 1, 1, 1, 0.25F};
  for (std::size_t i = 3; i < 6; ++i) found[i] = static_cast<float>(i);
  const auto result = compare(ScalarType::Float, found, expected, {0, 0.5}, {3, 4});
  CHECK(result.num_mismatches == 4);
  REQUIRE(result.largest_absolute);
  CHECK(result.largest_absolute->index == Shape{1, 1});
  CHECK(result.largest_absolute->absolute == 95);
  REQUIRE(result.largest_relative);
  // Element 4 (found 4, expected 1) and element 11 (found 1, expected 0.25) are both off by 3; the
  // first of equals is named.
  CHECK(result.largest_relative->index == Shape{1, 0});
  CHECK(tenon::run::report(result) ==
        "differs: 4 of 12 elements (33.33 %) beyond rtol 0, atol 0.5\n"
        "  largest absolute difference 95 at [1, 1] found 5, expected 100\n"
        "  largest relative difference 3 at [1, 0] found 4, expected 1\n"
        "  at [0, 3] found 3, expected 1\n"
        "  at [1, 0] found 4, expected 1\n"
        "  at [1, 1] found 5, expected 100\n"
        "  at [2, 3] found 1, expected 0.25");
}

TEST_CASE("only the first five mismatches are kept", "[compare]") {
  const auto result = compare_floats(std::vector<float>(9, 1), std::vector<float>(9, 2));
  CHECK(result.num_mismatches == 9);
  CHECK(result.first.size() == 5);
  CHECK_THAT(tenon::run::report(result), ContainsSubstring("\n  and 4 more"));
}

TEST_CASE("a difference within the tolerance is still reported", "[compare]") {
  const auto result = compare_floats({1, 1.25F}, {1, 1}, {0, 0.5});
  CHECK(result.equal);
  CHECK(tenon::run::report(result) ==
        "equal: 2 elements within rtol 0, atol 0.5; largest absolute difference 0.25");
}

TEST_CASE("scalars and empty tensors are compared", "[compare]") {
  const std::vector<float> one{1};
  const auto scalar =
      tenon::host::compare_arrays({ScalarType::Float, {}, std::as_bytes(std::span(one))},
                                  {ScalarType::Float, {}, std::as_bytes(std::span(one))}, {});
  CHECK(scalar.equal);
  CHECK(scalar.num_elements == 1);
  const Shape none{0, 4};
  const auto empty =
      tenon::host::compare_arrays({ScalarType::Float, none, {}}, {ScalarType::Float, none, {}}, {});
  CHECK(empty.equal);
  CHECK(empty.num_elements == 0);
}

TEST_CASE("the mean square error is normalised by what is expected", "[compare]") {
  // (1 + 1) / (9 + 16) and 1 / 4.
  const auto result = compare_floats({2, 5}, {3, 4});
  CHECK(result.nmse == 2.0 / 25.0);
  CHECK(result.peak == 0.25);
  CHECK(result.num_different == 2);
  // A scale changes neither, also where squares would overflow or vanish.
  for (const float scale : {0x1p100F, 0x1p-100F}) {
    const auto scaled = compare_floats({2 * scale, 5 * scale}, {3 * scale, 4 * scale});
    CHECK(scaled.nmse == result.nmse);
    CHECK(scaled.peak == result.peak);
  }
  const double huge = 1e200;
  CHECK(compare<double>(ScalarType::Double, {2 * huge}, {huge}, {}).nmse == 1);
  CHECK(compare<double>(ScalarType::Double, {1e-200, 1e200}, {0, 1e200}, {}).nmse == 0);
}

TEST_CASE("where all that is expected is 0, errors are measured as they are", "[compare]") {
  const auto result = compare_floats({0, 0.5F, 0, 0}, {0, 0, 0, -0.0F});
  CHECK(result.nmse == 0.0625);
  CHECK(result.peak == 0.5);
  CHECK(result.num_different == 1);
}

TEST_CASE("no error is too large where NaN or an infinity is on one side alone", "[compare]") {
  CHECK(std::isinf(compare_floats({not_a_number, 1}, {1, 1}).nmse));
  CHECK(std::isinf(compare_floats({1, 1}, {1, infinity}).peak));
  const auto same = compare_floats({not_a_number, infinity, 2}, {not_a_number, infinity, 1});
  CHECK(same.nmse == 1);
  CHECK(same.peak == 1);
  CHECK(same.num_different == 1);
}

TEST_CASE("equal and empty arrays have no error", "[compare]") {
  const auto equal = compare_floats({1, 2}, {1, 2});
  CHECK(equal.nmse == 0);
  CHECK(equal.peak == 0);
  const auto empty = compare_floats({}, {});
  CHECK(empty.nmse == 0);
  CHECK(empty.num_different == 0);
}

TEST_CASE("the default tolerances equal torch.testing.assert_close's", "[compare]") {
  const auto [type, rtol, atol] = GENERATE(table<ScalarType, double, double>({
      {ScalarType::Half, 1e-3, 1e-5},
      {ScalarType::BFloat16, 1.6e-2, 1e-5},
      {ScalarType::Float, 1.3e-6, 1e-5},
      {ScalarType::Double, 1e-7, 1e-7},
      {ScalarType::ComplexHalf, 1e-3, 1e-5},
      {ScalarType::ComplexFloat, 1.3e-6, 1e-5},
      {ScalarType::ComplexDouble, 1e-7, 1e-7},
      {ScalarType::Long, 0, 0},
      {ScalarType::Bool, 0, 0},
      {ScalarType::Float8_e4m3fn, 0, 0},
  }));
  CHECK(tenon::host::default_tolerance(type).rtol == rtol);
  CHECK(tenon::host::default_tolerance(type).atol == atol);
}

TEST_CASE("binary16 bits have their values", "[compare]") {
  const auto half_value = [](std::uint16_t bits) { return tenon::Half{bits}.to_float(); };
  CHECK(half_value(0x3c00) == 1);
  CHECK(half_value(0xc000) == -2);
  CHECK(half_value(0x7bff) == 65504);
  CHECK(half_value(0x0001) == std::ldexp(1.0, -24));
  CHECK(std::signbit(half_value(0x8000)));
  CHECK(half_value(0xfc00) == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(half_value(0x7e00)));
}

TEST_CASE("8-bit floating point bits have their values", "[compare]") {
  using tenon::host::float8_value;
  // Largest finite values and NaN of each format, as ml_dtypes.finfo gives them.
  CHECK(float8_value(ScalarType::Float8_e5m2, 0x7b) == 57344);
  CHECK(std::isinf(float8_value(ScalarType::Float8_e5m2, 0x7c)));
  CHECK(float8_value(ScalarType::Float8_e4m3fn, 0x7e) == 448);
  CHECK(float8_value(ScalarType::Float8_e4m3fn, 0x01) == std::ldexp(1.0, -9));
  CHECK(std::isnan(float8_value(ScalarType::Float8_e4m3fn, 0xff)));
  CHECK(float8_value(ScalarType::Float8_e5m2fnuz, 0x7f) == 57344);
  CHECK(float8_value(ScalarType::Float8_e5m2fnuz, 0x01) == std::ldexp(1.0, -17));
  CHECK(std::isnan(float8_value(ScalarType::Float8_e5m2fnuz, 0x80)));
  CHECK(float8_value(ScalarType::Float8_e4m3fnuz, 0x7f) == 240);
  CHECK(float8_value(ScalarType::Float8_e4m3fnuz, 0xff) == -240);
  CHECK(float8_value(ScalarType::Float8_e4m3fnuz, 0x01) == std::ldexp(1.0, -10));
  CHECK(std::isnan(float8_value(ScalarType::Float8_e4m3fnuz, 0x80)));
}

TEST_CASE("elements are shown in as few digits as distinguish them", "[compare]") {
  const std::vector<float> floats{0.1F, not_a_number, -infinity};
  const auto bytes = std::as_bytes(std::span(floats));
  CHECK(tenon::host::element_text(ScalarType::Float, bytes, 0) == "0.1");
  CHECK(tenon::host::element_text(ScalarType::Float, bytes, 1) == "nan");
  CHECK(tenon::host::element_text(ScalarType::Float, bytes, 2) == "-inf");
  const std::vector<double> doubles{0.1};
  CHECK(tenon::host::element_text(ScalarType::Double, std::as_bytes(std::span(doubles)), 0) ==
        "0.1");
  const std::vector<std::uint8_t> booleans{0, 1};
  CHECK(tenon::host::element_text(ScalarType::Bool, std::as_bytes(std::span(booleans)), 1) ==
        "true");
}
