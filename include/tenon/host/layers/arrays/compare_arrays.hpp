// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/core/scalar_type.hpp"
#include "tenon/host/layers/arrays/array.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// How far a value may be from the expected one: |found - expected| <= atol + rtol * |expected|.
struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

/// One pair of elements that is too far apart.
struct Mismatch {
  std::vector<std::int64_t> index;
  std::string found;
  std::string expected;
  double absolute = 0;  ///< |found - expected|; infinite when one of them is not finite.
  double relative = 0;  ///< absolute / |expected|; infinite when `expected` is 0.
};

/// The result of a comparison.
struct Comparison {
  bool equal = false;
  Tolerance tolerance;
  std::string difference;  ///< Why nothing was compared: dtype or shape differ. Else empty.
  std::uint64_t num_elements = 0;
  std::uint64_t num_mismatches = 0;
  std::uint64_t num_different = 0;  ///< Elements that differ at all; NaN does not from NaN.
  /// Normalised mean square error: sum of |found - expected|^2 over sum of |expected|^2. Where all
  /// that is expected is 0 there is nothing to normalise by, and it is the mean of |found|^2.
  /// Infinite when only one of a pair is NaN or infinite, or both are in different ways.
  double nmse = 0;
  /// Largest difference over the largest |expected|, or over 1 where all that is expected is 0.
  /// Unlike `nmse` it does not get smaller when there are more elements that agree. Infinite as
  /// `nmse` is.
  double peak = 0;
  std::vector<Mismatch> first;  ///< The first mismatches, at most `max_first`.
  /// The pairs with the largest differences, whether or not they are within the tolerance; absent
  /// when all elements are equal.
  std::optional<Mismatch> largest_absolute;
  std::optional<Mismatch> largest_relative;

  static constexpr std::size_t max_first = 5;
};

namespace detail {

/// A short number for reports, in which the last digits do not matter.
[[nodiscard]] std::string short_text(double value);

}  // namespace detail

/// The tolerance when none is given: the default of torch.testing.assert_close, so that a verdict
/// here is the verdict of a test in Python.
///
///   dtype                          rtol     atol
///   Half, ComplexHalf              1e-3     1e-5
///   BFloat16                       1.6e-2   1e-5
///   Float, ComplexFloat            1.3e-6   1e-5
///   Double, ComplexDouble          1e-7     1e-7
///   all others                     0        0
[[nodiscard]] Tolerance default_tolerance(ScalarType type) noexcept;

/// Compares each element. NaN equals NaN, an infinity equals itself and nothing else; -0 equals 0.
/// Integers are compared exactly, also where a double could not hold them. Quantized and Bits types
/// are compared as the integers of their bits. `data` shorter than `shape` asks for is a
/// difference.
[[nodiscard]] Comparison compare_arrays(const ArrayView& found, const ArrayView& expected,
                                        const Tolerance& tolerance);

}}}  // namespace tenon::TENON_RELEASE::host
