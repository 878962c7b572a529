// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace tenon::cpu_aoti {

/// One row of a softmax whose columns are processed block by block.
template <class T>
struct SoftmaxRow {
  T most;  ///< Largest score so far; minus infinity when all were masked.
  T sum;   ///< Of exp(score - most) so far.
};

/// Adds `mask` (may be null) to `count` scores, turns each into exp(score - most) with `most`
/// updated, and returns the factor for the sums of earlier blocks. Scores become 0 while all were
/// masked.
float update_softmax(SoftmaxRow<float>& row, float* scores, const float* mask,
                     std::int64_t count) noexcept;
double update_softmax(SoftmaxRow<double>& row, double* scores, const double* mask,
                      std::int64_t count) noexcept;

}  // namespace tenon::cpu_aoti
