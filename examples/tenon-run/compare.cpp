// SPDX-License-Identifier: MIT
#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>
#include <variant>

#include "element.hpp"
#include "npy.hpp"

namespace tenon::run {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_finite(double value) { return std::isfinite(value); }
bool is_finite(std::complex<double> value) {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool is_same(std::complex<double> a, std::complex<double> b) {
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

Distance distance(const ElementValue& found, const ElementValue& expected) {
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

double relative_of(const Distance& distance) {
  if (distance.same) return 0;
  return distance.magnitude == 0 ? infinity : distance.absolute / distance.magnitude;
}

std::vector<std::int64_t> index_of(std::size_t element, std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto size = static_cast<std::size_t>(shape[i]);
    index[i] = static_cast<std::int64_t>(element % size);
    element /= size;
  }
  return index;
}

// Number of elements, or nothing when the bytes are not those of the shape.
std::optional<std::size_t> count(const ArrayView& array) {
  std::size_t elements = 1;
  for (const std::int64_t size : array.shape) elements *= static_cast<std::size_t>(size);
  if (elements * size_of(array.type) != array.data.size()) return std::nullopt;
  return elements;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return concat(value);
}

// A short number for reports, where no one reads the last digits.
std::string short_text(double value) {
  if (!std::isfinite(value)) return number_text(value);
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 4).ptr;
  return std::string(digits, end);
}

std::string mismatch_line(const Mismatch& mismatch) {
  return concat("at ", describe_shape(mismatch.index), " found ", mismatch.found, ", expected ",
                mismatch.expected);
}

}  // namespace

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

Comparison compare(const ArrayView& found, const ArrayView& expected, const Tolerance& tolerance) {
  Comparison result;
  result.tolerance = tolerance;
  if (found.type != expected.type) {
    result.difference =
        concat("dtype is ", name_of(found.type), ", expected ", name_of(expected.type));
    return result;
  }
  if (!std::ranges::equal(found.shape, expected.shape)) {
    result.difference = concat("shape is ", describe_shape(found.shape), ", expected ",
                               describe_shape(expected.shape));
    return result;
  }
  const auto elements = count(found);
  if (!elements || found.data.size() != expected.data.size()) {
    result.difference = concat("there are ", found.data.size(), " bytes, expected ",
                               expected.data.size(), ", for shape ", describe_shape(found.shape));
    return result;
  }

  struct Largest {
    double value = 0;
    std::size_t index = 0;
  };
  Largest absolute;
  Largest relative;
  const auto describe_pair = [&](std::size_t i, const Distance& pair) {
    return Mismatch{index_of(i, found.shape), element_text(found.type, found.data, i),
                    element_text(expected.type, expected.data, i), pair.absolute,
                    relative_of(pair)};
  };
  const auto distance_at = [&](std::size_t i) {
    return distance(element_at(found.type, found.data, i),
                    element_at(expected.type, expected.data, i));
  };
  result.num_elements = *elements;
  for (std::size_t i = 0; i < *elements; ++i) {
    const Distance pair = distance_at(i);
    if (pair.same) continue;
    if (pair.absolute > absolute.value) absolute = {pair.absolute, i};
    if (relative_of(pair) > relative.value) relative = {relative_of(pair), i};
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
  result.equal = result.num_mismatches == 0;
  return result;
}

std::string report(const Comparison& comparison) {
  if (!comparison.difference.empty()) return "differs: " + comparison.difference;
  const std::string tolerance = concat("rtol ", short_text(comparison.tolerance.rtol), ", atol ",
                                       short_text(comparison.tolerance.atol));
  const auto largest = [&](std::string_view kind, double value) {
    return concat("largest ", kind, " difference ", short_text(value));
  };
  if (comparison.equal) {
    if (!comparison.largest_absolute) {
      return concat("equal: ", comparison.num_elements, " elements, no difference");
    }
    return concat("equal: ", comparison.num_elements, " elements within ", tolerance, "; ",
                  largest("absolute", comparison.largest_absolute->absolute));
  }
  const double percent = 100.0 * static_cast<double>(comparison.num_mismatches) /
                         static_cast<double>(comparison.num_elements);
  std::string out = concat("differs: ", comparison.num_mismatches, " of ", comparison.num_elements,
                           " elements (", short_text(percent), " %) beyond ", tolerance);
  if (comparison.largest_absolute) {
    out += concat("\n  ", largest("absolute", comparison.largest_absolute->absolute), " ",
                  mismatch_line(*comparison.largest_absolute));
  }
  if (comparison.largest_relative) {
    out += concat("\n  ", largest("relative", comparison.largest_relative->relative), " ",
                  mismatch_line(*comparison.largest_relative));
  }
  for (const Mismatch& mismatch : comparison.first) out += "\n  " + mismatch_line(mismatch);
  const std::uint64_t more = comparison.num_mismatches - comparison.first.size();
  if (more > 0) out += concat("\n  and ", more, " more");
  return out;
}

std::string element_text(ScalarType type, std::span<const std::byte> data, std::size_t index) {
  const ElementValue element = element_at(type, data, index);
  if (type == ScalarType::Bool) return std::get<std::int64_t>(element) != 0 ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&element)) return concat(*integer);
  if (const auto* integer = std::get_if<std::uint64_t>(&element)) return concat(*integer);
  // A float32 printed as a double would show digits that it does not have.
  const auto part = [&](double value) {
    const bool is_double = type == ScalarType::Double || type == ScalarType::ComplexDouble;
    if (is_double || !std::isfinite(value)) return number_text(value);
    return concat(static_cast<float>(value));
  };
  if (const auto* real = std::get_if<double>(&element)) return part(*real);
  const auto& number = std::get<std::complex<double>>(element);
  const std::string imaginary = part(number.imag());
  return concat(part(number.real()), imaginary.starts_with('-') ? "" : "+", imaginary, "j");
}

}  // namespace tenon::run
