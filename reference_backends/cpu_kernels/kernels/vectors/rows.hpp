// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/core/scalar_type.hpp"

/// Loops over rows of adjacent elements. T is float, BFloat16 or Half, where no other type is
/// named. A row that is written overlaps no other.
namespace tenon::cpu_aoti {

/// How many rows callers collect for one call, on the stack.
inline constexpr std::size_t most_rows = 64;

/// to[i] = from[i].
template <class T>
void widen_row(const T* from, std::int64_t count, float* to) noexcept;

/// to[i] = from[i], rounded to nearest even.
template <class T>
void narrow_row(const float* from, std::int64_t count, T* to) noexcept;

/// sums[i] += the sum of rows[r][i] for r < num_rows, each times factors[r] unless `factors` is
/// null.
template <class T>
void add_rows(const T* const* rows, const float* factors, std::int64_t num_rows, std::int64_t count,
              float* sums) noexcept;

/// row[i] /= divisor.
void divide_row(float* row, std::int64_t count, float divisor) noexcept;

/// One row after the other: where rows[r][i] is larger than best[i], or NaN, best[i] = rows[r][i]
/// and places[i] = place_of[r].
template <class T>
void take_most(const T* const* rows, const std::int32_t* place_of, std::int64_t num_rows,
               std::int64_t count, float* best, std::int32_t* places) noexcept;

/// to[i] = from[i].
void widen_row(const std::int32_t* from, std::int64_t count, std::int64_t* to) noexcept;

/// Whether `largest_of_rows` has vector code for this processor.
[[nodiscard]] bool has_largest_of_rows() noexcept;

/// `take_most` from minus infinity and the place `first`, with the results in their types at once:
/// out[i] is the largest of rows[r][i] for r < num_rows, or NaN, and places[i] its place.
template <class T>
void largest_of_rows(const T* const* rows, const std::int32_t* place_of, std::int64_t num_rows,
                     std::int64_t count, std::int32_t first, T* out, std::int64_t* places) noexcept;

}  // namespace tenon::cpu_aoti
