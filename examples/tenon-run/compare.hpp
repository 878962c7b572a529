// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/core/scalar_type.hpp"

namespace tenon::run {

/// How far a value may be from the expected one: |found - expected| <= atol + rtol * |expected|.
struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

/// The tolerance when none is given: that of torch.testing.assert_close, so that a verdict here is
/// the verdict of a test in Python.
///
///   dtype                          rtol     atol
///   Half, ComplexHalf              1e-3     1e-5
///   BFloat16                       1.6e-2   1e-5
///   Float, ComplexFloat            1.3e-6   1e-5
///   Double, ComplexDouble          1e-7     1e-7
///   all others                     0        0
[[nodiscard]] Tolerance default_tolerance(ScalarType type) noexcept;

/// Elements to compare; borrowed. In C order, `size_of(type)` bytes each.
struct ArrayView {
  ScalarType type = ScalarType::Float;
  std::span<const std::int64_t> shape;
  std::span<const std::byte> data;
};

/// One pair of elements that is too far apart.
struct Mismatch {
  std::vector<std::int64_t> index;
  std::string found;
  std::string expected;
  double absolute = 0;  ///< |found - expected|; infinite when one of them is not finite.
  double relative = 0;  ///< absolute / |expected|; infinite when `expected` is 0.
};

/// What a comparison found.
struct Comparison {
  bool equal = false;
  Tolerance tolerance;
  std::string difference;  ///< Why nothing was compared: dtype or shape differ. Else empty.
  std::uint64_t num_elements = 0;
  std::uint64_t num_mismatches = 0;
  std::vector<Mismatch> first;  ///< The first mismatches, at most `max_first`.
  /// The pairs with the largest differences, whether or not they are within the tolerance; absent
  /// when all elements are equal.
  std::optional<Mismatch> largest_absolute;
  std::optional<Mismatch> largest_relative;

  static constexpr std::size_t max_first = 5;
};

/// Compares each element. NaN equals NaN, an infinity equals itself and nothing else; -0 equals 0.
/// Integers are compared exactly, also where a double could not hold them. Quantized and Bits types
/// are compared as the integers of their bits. `data` shorter than `shape` asks for is a
/// difference.
[[nodiscard]] Comparison compare(const ArrayView& found, const ArrayView& expected,
                                 const Tolerance& tolerance);

/// The verdict for a person, without a line feed at the end: one line when equal, else several.
[[nodiscard]] std::string report(const Comparison& comparison);

/// Element number `index` as text, in as few digits as tell it from its neighbours.
[[nodiscard]] std::string element_text(ScalarType type, std::span<const std::byte> data,
                                       std::size_t index);

}  // namespace tenon::run
