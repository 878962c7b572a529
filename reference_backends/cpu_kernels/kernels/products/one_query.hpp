// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/core/scalar_type.hpp"

/// The products of attention with a single query, a step of generation: keys and values are read
/// once, in their type.
namespace tenon::cpu_aoti {

/// Whether `score_keys` and `add_values` compute with rows of `size` elements of `type` on this
/// processor: of Float, Half or BFloat16, with AVX2, and of whole blocks.
[[nodiscard]] bool has_one_query(ScalarType type, std::int64_t size) noexcept;

/// Sets scores[i] = scale * the product of the query and key i, where keys are `row` elements
/// apart, for `count` keys. T is float, Half or BFloat16.
template <class T>
void score_keys(const float* query, const T* keys, std::int64_t row, std::int64_t count,
                std::int64_t size, float scale, float* scores) noexcept;

/// Adds weights[i] * value i for `count` values, `row` elements apart, to `sums`.
template <class T>
void add_values(const float* weights, const T* values, std::int64_t row, std::int64_t count,
                std::int64_t size, float* sums) noexcept;

}  // namespace tenon::cpu_aoti
