// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/arrays/compare_arrays.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <limits>
#include <span>
#include <variant>

#include "tenon/core/concat.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/layers/arrays/element.hpp"
#include "tenon/host/layers/arrays/impl/number_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline bool is_finite(double value) { return std::isfinite(value); }
inline bool is_finite(std::complex<double> value) {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

inline bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
inline bool is_same(std::complex<double> a, std::complex<double> b) {
  return is_same(a.real(), b.real()) && is_same(a.imag(), b.imag());
}

// Distance of two elements and the size of the second.
struct Distance {
  double absolute = 0;
  double magnitude = 0;  ///< |expected|
  bool same = false;     ///< Equal without any tolerance.
};

template <class Integer>
Distance integer_distance(Integer found, Integer expected) {
  // Unsigned subtraction gives the exact distance where the signed one would overflow.
  const auto a = static_cast<std::uint64_t>(found);
  const auto b = static_cast<std::uint64_t>(expected);
  return {static_cast<double>(found > expected ? a - b : b - a),
          std::abs(static_cast<double>(expected)), found == expected};
}

template <class Number>
Distance number_distance(Number found, Number expected) {
  if (is_same(found, expected)) return {0, std::abs(expected), true};
  if (!is_finite(found) || !is_finite(expected)) return {infinity, 0, false};
  return {std::abs(found - expected), std::abs(expected), false};
}

inline Distance distance(const ElementValue& found, const ElementValue& expected) {
  if (const auto* a = std::get_if<std::int64_t>(&found)) {
    return integer_distance(*a, std::get<std::int64_t>(expected));
  }
  if (const auto* a = std::get_if<std::uint64_t>(&found)) {
    return integer_distance(*a, std::get<std::uint64_t>(expected));
  }
  if (const auto* a = std::get_if<double>(&found)) {
    return number_distance(*a, std::get<double>(expected));
  }
  return number_distance(std::get<std::complex<double>>(found),
                         std::get<std::complex<double>>(expected));
}

// Square root of a sum of squares that neither overflows nor vanishes on its way.
class Norm {
 public:
  void add(double value) {
    if (value == 0) return;
    if (value > scale_) {
      sum_ = 1 + sum_ * (scale_ / value) * (scale_ / value);
      scale_ = value;
    } else {
      sum_ += (value / scale_) * (value / scale_);
    }
  }
  [[nodiscard]] bool is_zero() const { return scale_ == 0; }
  /// Square of this norm divided by the square of `other`, which is not zero.
  [[nodiscard]] double squared_over(const Norm& other) const {
    const double ratio = scale_ / other.scale_;
    return ratio * ratio * (sum_ / other.sum_);
  }
  [[nodiscard]] double mean_square(std::size_t count) const {
    return scale_ * scale_ * (sum_ / static_cast<double>(count));
  }

 private:
  double scale_ = 0;
  double sum_ = 0;
};

inline double relative_of(const Distance& distance) {
  if (distance.same) return 0;
  return distance.magnitude == 0 ? infinity : distance.absolute / distance.magnitude;
}

inline std::vector<std::int64_t> index_of(std::size_t element,
                                          std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto size = static_cast<std::size_t>(shape[i]);
    index[i] = static_cast<std::int64_t>(element % size);
    element /= size;
  }
  return index;
}

// Number of elements, or nothing when the shape needs another number of bytes.
inline std::optional<std::size_t> count_of(const ArrayView& array) {
  std::size_t elements = 1;
  for (const std::int64_t size : array.shape) elements *= static_cast<std::size_t>(size);
  if (elements * size_of(array.type) != array.data.size()) return std::nullopt;
  return elements;
}

}  // namespace detail

namespace detail {

std::string short_text(double value) {
  if (!std::isfinite(value)) return number_text(value);
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 4).ptr;
  return std::string(digits, end);
}

}  // namespace detail

Tolerance default_tolerance(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::Half:
    case ScalarType::ComplexHalf:
      return {1e-3, 1e-5};
    case ScalarType::BFloat16:
      return {1.6e-2, 1e-5};
    case ScalarType::Float:
    case ScalarType::ComplexFloat:
      return {1.3e-6, 1e-5};
    case ScalarType::Double:
    case ScalarType::ComplexDouble:
      return {1e-7, 1e-7};
    default:
      return {};
  }
}

Comparison compare_arrays(const ArrayView& found, const ArrayView& expected,
                          const Tolerance& tolerance) {
  Comparison result;
  result.tolerance = tolerance;
  if (found.type != expected.type) {
    result.difference =
        concat("dtype is ", name_of(found.type), ", expected ", name_of(expected.type));
    return result;
  }
  if (!std::equal(found.shape.begin(), found.shape.end(), expected.shape.begin(),
                  expected.shape.end())) {
    result.difference =
        concat("shape is ", shape_text(found.shape), ", expected ", shape_text(expected.shape));
    return result;
  }
  const auto elements = detail::count_of(found);
  if (!elements || found.data.size() != expected.data.size()) {
    result.difference = concat("there are ", found.data.size(), " bytes, expected ",
                               expected.data.size(), ", for shape ", shape_text(found.shape));
    return result;
  }

  struct Largest {
    double value = 0;
    std::size_t index = 0;
  };
  Largest absolute;
  Largest relative;
  const auto describe_pair = [&](std::size_t i, const detail::Distance& pair) {
    return Mismatch{detail::index_of(i, found.shape), element_text(found.type, found.data, i),
                    element_text(expected.type, expected.data, i), pair.absolute,
                    detail::relative_of(pair)};
  };
  const auto distance_at = [&](std::size_t i) {
    return detail::distance(element_at(found.type, found.data, i),
                            element_at(expected.type, expected.data, i));
  };
  result.num_elements = *elements;
  detail::Norm difference;
  detail::Norm magnitude;
  double largest_expected = 0;
  bool is_measurable = true;
  for (std::size_t i = 0; i < *elements; ++i) {
    const detail::Distance pair = distance_at(i);
    if (std::isfinite(pair.magnitude)) {
      magnitude.add(pair.magnitude);
      largest_expected = std::max(largest_expected, pair.magnitude);
    }
    if (pair.same) continue;
    ++result.num_different;
    is_measurable = is_measurable && std::isfinite(pair.absolute);
    if (is_measurable) difference.add(pair.absolute);
    if (pair.absolute > absolute.value) absolute = {pair.absolute, i};
    if (detail::relative_of(pair) > relative.value) relative = {detail::relative_of(pair), i};
    // An infinite distance is never within a tolerance, not even an infinite one.
    const double allowed = tolerance.atol + tolerance.rtol * pair.magnitude;
    if (std::isfinite(pair.absolute) && pair.absolute <= allowed) continue;
    ++result.num_mismatches;
    if (result.first.size() < Comparison::max_first) {
      result.first.push_back(describe_pair(i, pair));
    }
  }
  if (absolute.value > 0) {
    result.largest_absolute = describe_pair(absolute.index, distance_at(absolute.index));
  }
  if (relative.value > 0) {
    result.largest_relative = describe_pair(relative.index, distance_at(relative.index));
  }
  if (!is_measurable) {
    result.nmse = detail::infinity;
    result.peak = detail::infinity;
  } else if (!difference.is_zero()) {
    result.nmse = magnitude.is_zero() ? difference.mean_square(*elements)
                                      : difference.squared_over(magnitude);
    result.peak = absolute.value / (largest_expected == 0 ? 1 : largest_expected);
  }
  result.equal = result.num_mismatches == 0;
  return result;
}

}}}  // namespace tenon::TENON_RELEASE::host
