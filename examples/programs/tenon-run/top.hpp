// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/arrays/compare_arrays.hpp"

namespace tenon::run {

/// One class of a classifier's output.
struct ClassScore {
  std::size_t index = 0;
  std::string label;  ///< Empty when there are no labels.
  double score = 0;
};

/// The `count` largest elements along the last dimension, for each of the first rows; equal ones in
/// the order of their index, NaN last. Empty unless it is a tensor of floating-point numbers with
/// at least two elements in its last dimension.
[[nodiscard]] std::vector<std::vector<ClassScore>> top_classes(
    const host::ArrayView& array, std::size_t count, const std::vector<std::string>& labels);

/// Rows that are reported; a large output is not a classifier's.
inline constexpr std::size_t max_top_rows = 8;

/// The lines of a file, one label each. AccessFailed when it cannot be read.
[[nodiscard]] Result<std::vector<std::string>> read_labels(const std::string& path);

}  // namespace tenon::run
