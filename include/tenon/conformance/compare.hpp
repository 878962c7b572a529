// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "tenon/abi/tensor.h"
#include "tenon/conformance/case.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/arrays/array.hpp"
#include "tenon/host/layers/arrays/compare_arrays.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The result of the comparison of one output.
struct OutputComparison {
  bool equal = false;  ///< Within every limit.
  /// No result at all: it has NaN where another value is expected, or is 0 in all elements, of
  /// which there are several, where other values are expected. Then it is not equal, whatever the
  /// limits.
  bool is_void = false;
  CaseTolerance tolerance;  ///< The limits that were applied.
  host::Comparison arrays;  ///< The numbers; for a text, as for an array without elements.
  std::string text;         ///< The verdict for a person, in one line.
};

/// Compares an output with the expected one. dtype and shape must be the same. NaN equals NaN and
/// an infinity equals itself, and nothing else whatever the tolerance; -0 equals 0. Integers and
/// booleans are compared exactly, including integers that a double cannot represent.
[[nodiscard]] OutputComparison compare(const host::ArrayView& found,
                                       const host::ArrayView& expected,
                                       const CaseTolerance& tolerance);

/// Compares output `index` of a method, in this machine's memory and in any dim order, with the
/// value that a case expects. The text begins with "output 0: ". Any output matches an expected
/// nothing. An output that should be an array and is not one is a difference, not an error.
///
/// errors: as `read_array` when the file cannot be read or cannot hold the output's dtype (the
/// fault may be the file's or the output's; the text names both).
[[nodiscard]] Result<OutputComparison> compare_output(std::size_t index, const tenon_value& found,
                                                      const CaseValue& expected,
                                                      const Tolerances& tolerances);

}}}  // namespace tenon::TENON_RELEASE::conformance
