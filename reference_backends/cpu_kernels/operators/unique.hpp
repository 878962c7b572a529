// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "operators/arguments.hpp"
#include "strided.hpp"
#include "tenon/core/result.hpp"

/// Operators whose results have sizes that depend on the elements.
namespace tenon::cpu_aoti {

/// Elements that differ from the one before, or, with `sorted`, all that are different in ascending
/// order. Each NaN differs. `results`: the elements, the number of each element's group in the
/// shape of `self`, and the sizes of the groups; the latter two are empty unless wanted.
Status find_unique(const ModelTensor& self, bool sorted, bool with_inverse, bool with_counts,
                   OperatorResults results);

/// Like `find_unique`, of slices along a dimension, which are compared element by element.
/// `results`: the slices in row-major order; the number of each slice's group and the sizes of the
/// groups, which PyTorch also returns where they are not wanted.
Status find_unique_along(const ModelTensor& self, std::int64_t dim, bool sorted,
                         OperatorResults results);

/// The most bins that `count_bins` makes: 4 GiB of counts.
inline constexpr std::int64_t max_bins = std::int64_t{1} << 29;

/// How often each number from 0 to the largest occurs in a list, or the sums of their weights; at
/// least `minlength` bins. `weights` may be null.
Status count_bins(const ModelTensor& self, const ModelTensor* weights, std::int64_t minlength,
                  OwnedTensor& out);

}  // namespace tenon::cpu_aoti
