// SPDX-License-Identifier: MIT
// Of the group attention.
#include "kernels/products/one_query.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/products/tile.hpp"

namespace tenon::cpu_aoti {

#if defined(__x86_64__)

namespace {

constexpr std::int64_t most_elements = 256;

/// Adds the products of 16 * `steps` elements of each value. Four steps are eight sums side by
/// side, which hide the latency of an addition.
template <int steps, class T>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline void add_steps(const float* weights,
                                                                 const T* values, std::int64_t row,
                                                                 std::int64_t count,
                                                                 float* sums) noexcept {
  __m256 added[steps][2];
  TENON_CPU_AOTI_UNROLL
  for (int j = 0; j < steps; ++j) added[j][0] = added[j][1] = _mm256_setzero_ps();
  for (std::int64_t i = 0; i < count; ++i) {
    const __m256 weight = _mm256_broadcast_ss(weights + i);
    const T* const value = values + i * row;
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < steps; ++j) {
      TENON_CPU_AOTI_UNROLL
      for (int part = 0; part < 2; ++part) {
        added[j][part] =
            _mm256_fmadd_ps(weight, tile_elements(value + j * tile_step, part), added[j][part]);
      }
    }
  }
  TENON_CPU_AOTI_UNROLL
  for (int j = 0; j < steps; ++j) {
    put_in_order<T>(added[j][0], added[j][1]);
    TENON_CPU_AOTI_UNROLL
    for (int part = 0; part < 2; ++part) {
      float* const to = sums + j * tile_step + part * 8;
      _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), added[j][part]));
    }
  }
}

template <class T>
TENON_CPU_AOTI_AVX2 void score_keys_avx2(const float* query, const T* keys, std::int64_t row,
                                         std::int64_t count, std::int64_t size, float scale,
                                         float* scores) noexcept {
  // In the order of `tile_elements`.
  float packed[most_elements];
  for (std::int64_t k = 0; k < size; ++k) {
    constexpr bool in_parts = std::is_same_v<T, BFloat16>;
    const std::int64_t at = k % tile_step;
    packed[k - at + (in_parts ? at % 2 * 8 + at / 2 : at)] = query[k] * scale;
  }
  std::fill_n(scores, count, 0.0f);
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    add_tile<1, 8>(Tile<T>{packed, 0, keys + i * row, row, size, scores + i, 0});
  }
  for (; i < count; ++i) {
    add_tile<1, 1>(Tile<T>{packed, 0, keys + i * row, row, size, scores + i, 0});
  }
}

template <class T>
TENON_CPU_AOTI_AVX2 void add_values_avx2(const float* weights, const T* values, std::int64_t row,
                                         std::int64_t count, std::int64_t size,
                                         float* sums) noexcept {
  std::int64_t k = 0;
  for (; k + 4 * tile_step <= size; k += 4 * tile_step) {
    add_steps<4>(weights, values + k, row, count, sums + k);
  }
  for (; k < size; k += tile_step) add_steps<1>(weights, values + k, row, count, sums + k);
}

}  // namespace

bool has_one_query(ScalarType type, std::int64_t size) noexcept {
  const bool has_type =
      type == ScalarType::Float || type == ScalarType::Half || type == ScalarType::BFloat16;
  return has_type && vector_level() >= VectorLevel::avx2 && size % tile_step == 0 &&
         size <= most_elements;
}

template <class T>
void score_keys(const float* query, const T* keys, std::int64_t row, std::int64_t count,
                std::int64_t size, float scale, float* scores) noexcept {
  score_keys_avx2(query, keys, row, count, size, scale, scores);
}

template <class T>
void add_values(const float* weights, const T* values, std::int64_t row, std::int64_t count,
                std::int64_t size, float* sums) noexcept {
  add_values_avx2(weights, values, row, count, size, sums);
}

#else

bool has_one_query(ScalarType, std::int64_t) noexcept { return false; }

template <class T>
void score_keys(const float*, const T*, std::int64_t, std::int64_t, std::int64_t, float,
                float*) noexcept {}

template <class T>
void add_values(const float*, const T*, std::int64_t, std::int64_t, std::int64_t, float*) noexcept {
}

#endif

template void score_keys(const float*, const float*, std::int64_t, std::int64_t, std::int64_t,
                         float, float*) noexcept;
template void score_keys(const float*, const Half*, std::int64_t, std::int64_t, std::int64_t, float,
                         float*) noexcept;
template void score_keys(const float*, const BFloat16*, std::int64_t, std::int64_t, std::int64_t,
                         float, float*) noexcept;
template void add_values(const float*, const float*, std::int64_t, std::int64_t, std::int64_t,
                         float*) noexcept;
template void add_values(const float*, const Half*, std::int64_t, std::int64_t, std::int64_t,
                         float*) noexcept;
template void add_values(const float*, const BFloat16*, std::int64_t, std::int64_t, std::int64_t,
                         float*) noexcept;

}  // namespace tenon::cpu_aoti
