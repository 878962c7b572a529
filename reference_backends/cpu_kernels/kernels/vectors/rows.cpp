// SPDX-License-Identifier: MIT
// Of every build.
#include "kernels/vectors/rows.hpp"

#include <limits>
#include <type_traits>

#include "kernels/elements.hpp"
#include "kernels/vectors/eight_floats.hpp"
#include "kernels/vectors/rounded.hpp"

namespace tenon::cpu_aoti {
namespace {

[[nodiscard]] bool has_vectors() noexcept { return vector_level() >= VectorLevel::avx2; }

// Each function in AVX2 returns how many elements it did; the others are done one by one.

#if defined(__x86_64__)

template <class T>
TENON_CPU_AOTI_AVX2 inline void store(T* to, __m256 x) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    _mm256_storeu_ps(to, x);
  } else {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), rounded<T>(x));
  }
}

template <class T>
TENON_CPU_AOTI_AVX2 std::int64_t widen_vectors(const T* from, std::int64_t count,
                                               float* to) noexcept {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) _mm256_storeu_ps(to + i, eight_floats(from + i));
  return i;
}

template <class T>
TENON_CPU_AOTI_AVX2 std::int64_t narrow_vectors(const float* from, std::int64_t count,
                                                T* to) noexcept {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) store(to + i, _mm256_loadu_ps(from + i));
  return i;
}

/// Elements `at` to `at` + 8 n - 1, whose sums stay in registers over all rows.
template <class T, int n, bool scaled>
TENON_CPU_AOTI_AVX2 inline void add_block(const T* const* rows, const float* factors,
                                          std::int64_t num_rows, std::int64_t at,
                                          float* sums) noexcept {
  __m256 sum[n];
  TENON_CPU_AOTI_UNROLL
  for (int v = 0; v < n; ++v) sum[v] = _mm256_loadu_ps(sums + at + 8 * v);
  for (std::int64_t r = 0; r < num_rows; ++r) {
    const T* const row = rows[r] + at;
    TENON_CPU_AOTI_UNROLL
    for (int v = 0; v < n; ++v) {
      if constexpr (scaled) {
        sum[v] =
            _mm256_fmadd_ps(_mm256_broadcast_ss(factors + r), eight_floats(row + 8 * v), sum[v]);
      } else {
        sum[v] = _mm256_add_ps(sum[v], eight_floats(row + 8 * v));
      }
    }
  }
  TENON_CPU_AOTI_UNROLL
  for (int v = 0; v < n; ++v) _mm256_storeu_ps(sums + at + 8 * v, sum[v]);
}

template <class T, bool scaled>
TENON_CPU_AOTI_AVX2 std::int64_t add_vectors(const T* const* rows, const float* factors,
                                             std::int64_t num_rows, std::int64_t count,
                                             float* sums) noexcept {
  std::int64_t i = 0;
  for (; i + 64 <= count; i += 64) add_block<T, 8, scaled>(rows, factors, num_rows, i, sums);
  for (; i + 8 <= count; i += 8) add_block<T, 1, scaled>(rows, factors, num_rows, i, sums);
  return i;
}

// Sums of rows with vectors of 16 elements: a row of 256 elements stays in registers.

template <class T>
TENON_CPU_AOTI_AVX512 inline __m512 load_wide(const T* from) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    return _mm512_loadu_ps(from);
  } else {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    if constexpr (std::is_same_v<T, Half>) return _mm512_cvtph_ps(words);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16));
  }
}

template <class T, int n, bool scaled>
TENON_CPU_AOTI_AVX512 inline void add_wide_block(const T* const* rows, const float* factors,
                                                 std::int64_t num_rows, std::int64_t at,
                                                 float* sums) noexcept {
  __m512 sum[n];
  TENON_CPU_AOTI_UNROLL
  for (int v = 0; v < n; ++v) sum[v] = _mm512_loadu_ps(sums + at + 16 * v);
  for (std::int64_t r = 0; r < num_rows; ++r) {
    const T* const row = rows[r] + at;
    TENON_CPU_AOTI_UNROLL
    for (int v = 0; v < n; ++v) {
      if constexpr (scaled) {
        sum[v] = _mm512_fmadd_ps(_mm512_set1_ps(factors[r]), load_wide(row + 16 * v), sum[v]);
      } else {
        sum[v] = _mm512_add_ps(sum[v], load_wide(row + 16 * v));
      }
    }
  }
  TENON_CPU_AOTI_UNROLL
  for (int v = 0; v < n; ++v) _mm512_storeu_ps(sums + at + 16 * v, sum[v]);
}

template <class T, bool scaled>
TENON_CPU_AOTI_AVX512 std::int64_t add_wide_vectors(const T* const* rows, const float* factors,
                                                    std::int64_t num_rows, std::int64_t count,
                                                    float* sums) noexcept {
  std::int64_t i = 0;
  for (; i + 256 <= count; i += 256) {
    add_wide_block<T, 16, scaled>(rows, factors, num_rows, i, sums);
  }
  for (; i + 64 <= count; i += 64) add_wide_block<T, 4, scaled>(rows, factors, num_rows, i, sums);
  for (; i + 16 <= count; i += 16) add_wide_block<T, 1, scaled>(rows, factors, num_rows, i, sums);
  if (i + 8 <= count) {
    add_block<T, 1, scaled>(rows, factors, num_rows, i, sums);
    i += 8;
  }
  return i;
}

TENON_CPU_AOTI_AVX2 std::int64_t divide_vectors(float* row, std::int64_t count,
                                                float divisor) noexcept {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(row + i, _mm256_div_ps(_mm256_loadu_ps(row + i), _mm256_set1_ps(divisor)));
  }
  return i;
}

template <class T, int n>
TENON_CPU_AOTI_AVX2 inline void take_block(const T* const* rows, const std::int32_t* place_of,
                                           std::int64_t num_rows, std::int64_t at, float* best,
                                           std::int32_t* places) noexcept {
  __m256 most[n];
  __m256 place[n];  // Whole numbers, moved by instructions for floats.
  auto* const place_bits = reinterpret_cast<float*>(places + at);
  TENON_CPU_AOTI_UNROLL
  for (int v = 0; v < n; ++v) {
    most[v] = _mm256_loadu_ps(best + at + 8 * v);
    place[v] = _mm256_loadu_ps(place_bits + 8 * v);
  }
  for (std::int64_t r = 0; r < num_rows; ++r) {
    const __m256 here = _mm256_castsi256_ps(_mm256_set1_epi32(place_of[r]));
    TENON_CPU_AOTI_UNROLL
    for (int v = 0; v < n; ++v) {
      const __m256 value = eight_floats(rows[r] + at + 8 * v);
      const __m256 takes = _mm256_or_ps(_mm256_cmp_ps(value, most[v], _CMP_GT_OQ),
                                        _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
      most[v] = _mm256_blendv_ps(most[v], value, takes);
      place[v] = _mm256_blendv_ps(place[v], here, takes);
    }
  }
  TENON_CPU_AOTI_UNROLL
  for (int v = 0; v < n; ++v) {
    _mm256_storeu_ps(best + at + 8 * v, most[v]);
    _mm256_storeu_ps(place_bits + 8 * v, place[v]);
  }
}

template <class T>
TENON_CPU_AOTI_AVX2 std::int64_t take_vectors(const T* const* rows, const std::int32_t* place_of,
                                              std::int64_t num_rows, std::int64_t count,
                                              float* best, std::int32_t* places) noexcept {
  std::int64_t i = 0;
  for (; i + 32 <= count; i += 32) take_block<T, 4>(rows, place_of, num_rows, i, best, places);
  for (; i + 8 <= count; i += 8) take_block<T, 1>(rows, place_of, num_rows, i, best, places);
  return i;
}

template <class T>
TENON_CPU_AOTI_AVX512 inline void store_wide(T* to, __m512 x) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    _mm512_storeu_ps(to, x);
  } else {
    store(to, _mm512_castps512_ps256(x));
    store(to + 8, _mm512_extractf32x8_ps(x, 1));
  }
}

/// `largest_of_rows` for the elements `at` to `at` + 16 n - 1.
template <class T, int n>
TENON_CPU_AOTI_AVX512 inline void largest_block(const T* const* rows, const std::int32_t* place_of,
                                                std::int64_t num_rows, std::int64_t at,
                                                std::int32_t first, T* out,
                                                std::int64_t* places) noexcept {
  __m512 most[n];
  __m512i place[n];
  TENON_CPU_AOTI_UNROLL
  for (int v = 0; v < n; ++v) {
    most[v] = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
    place[v] = _mm512_set1_epi32(first);
  }
  for (std::int64_t r = 0; r < num_rows; ++r) {
    const __m512i here = _mm512_set1_epi32(place_of[r]);
    TENON_CPU_AOTI_UNROLL
    for (int v = 0; v < n; ++v) {
      const __m512 value = load_wide(rows[r] + at + 16 * v);
      const auto takes = static_cast<__mmask16>(_mm512_cmp_ps_mask(value, most[v], _CMP_GT_OQ) |
                                                _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q));
      most[v] = _mm512_mask_mov_ps(most[v], takes, value);
      place[v] = _mm512_mask_mov_epi32(place[v], takes, here);
    }
  }
  TENON_CPU_AOTI_UNROLL
  for (int v = 0; v < n; ++v) {
    store_wide(out + at + 16 * v, most[v]);
    std::int64_t* const to = places + at + 16 * v;
    _mm512_storeu_si512(to, _mm512_cvtepi32_epi64(_mm512_castsi512_si256(place[v])));
    _mm512_storeu_si512(to + 8, _mm512_cvtepi32_epi64(_mm512_extracti32x8_epi32(place[v], 1)));
  }
}

template <class T>
TENON_CPU_AOTI_AVX512 std::int64_t largest_vectors(const T* const* rows,
                                                   const std::int32_t* place_of,
                                                   std::int64_t num_rows, std::int64_t count,
                                                   std::int32_t first, T* out,
                                                   std::int64_t* places) noexcept {
  std::int64_t i = 0;
  for (; i + 64 <= count; i += 64) {
    largest_block<T, 4>(rows, place_of, num_rows, i, first, out, places);
  }
  for (; i + 16 <= count; i += 16) {
    largest_block<T, 1>(rows, place_of, num_rows, i, first, out, places);
  }
  return i;
}

TENON_CPU_AOTI_AVX2 std::int64_t widen_vectors(const std::int32_t* from, std::int64_t count,
                                               std::int64_t* to) noexcept {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_cvtepi32_epi64(four));
  }
  return i;
}

#else

template <class... Arguments>
constexpr std::int64_t widen_vectors(Arguments...) noexcept {
  return 0;
}

template <class... Arguments>
constexpr std::int64_t narrow_vectors(Arguments...) noexcept {
  return 0;
}

template <class T, bool scaled>
constexpr std::int64_t add_vectors(const T* const*, const float*, std::int64_t, std::int64_t,
                                   float*) noexcept {
  return 0;
}

template <class T, bool scaled>
constexpr std::int64_t add_wide_vectors(const T* const*, const float*, std::int64_t, std::int64_t,
                                        float*) noexcept {
  return 0;
}

template <class... Arguments>
constexpr std::int64_t divide_vectors(Arguments...) noexcept {
  return 0;
}

template <class... Arguments>
constexpr std::int64_t take_vectors(Arguments...) noexcept {
  return 0;
}

template <class... Arguments>
constexpr std::int64_t largest_vectors(Arguments...) noexcept {
  return 0;
}

#endif

}  // namespace

template <class T>
void widen_row(const T* from, std::int64_t count, float* to) noexcept {
  std::int64_t i = has_vectors() ? widen_vectors(from, count, to) : 0;
  for (; i < count; ++i) to[i] = widen(from[i]);
}

template <class T>
void narrow_row(const float* from, std::int64_t count, T* to) noexcept {
  std::int64_t i = has_vectors() ? narrow_vectors(from, count, to) : 0;
  for (; i < count; ++i) to[i] = narrow<T>(from[i]);
}

template <class T>
void add_rows(const T* const* rows, const float* factors, std::int64_t num_rows, std::int64_t count,
              float* sums) noexcept {
  std::int64_t done = 0;
  if (vector_level() >= VectorLevel::avx512) {
    done = factors ? add_wide_vectors<T, true>(rows, factors, num_rows, count, sums)
                   : add_wide_vectors<T, false>(rows, factors, num_rows, count, sums);
  } else if (has_vectors()) {
    done = factors ? add_vectors<T, true>(rows, factors, num_rows, count, sums)
                   : add_vectors<T, false>(rows, factors, num_rows, count, sums);
  }
  if (done == count) return;
  for (std::int64_t r = 0; r < num_rows; ++r) {
    for (std::int64_t i = done; i < count; ++i) {
      sums[i] += factors ? factors[r] * widen(rows[r][i]) : widen(rows[r][i]);
    }
  }
}

void divide_row(float* row, std::int64_t count, float divisor) noexcept {
  std::int64_t i = has_vectors() ? divide_vectors(row, count, divisor) : 0;
  for (; i < count; ++i) row[i] /= divisor;
}

template <class T>
void take_most(const T* const* rows, const std::int32_t* place_of, std::int64_t num_rows,
               std::int64_t count, float* best, std::int32_t* places) noexcept {
  const std::int64_t done =
      has_vectors() ? take_vectors(rows, place_of, num_rows, count, best, places) : 0;
  if (done == count) return;
  for (std::int64_t r = 0; r < num_rows; ++r) {
    for (std::int64_t i = done; i < count; ++i) {
      const float value = widen(rows[r][i]);
      if (!(value > best[i] || value != value)) continue;
      best[i] = value;
      places[i] = place_of[r];
    }
  }
}

void widen_row(const std::int32_t* from, std::int64_t count, std::int64_t* to) noexcept {
  std::int64_t i = has_vectors() ? widen_vectors(from, count, to) : 0;
  for (; i < count; ++i) to[i] = from[i];
}

bool has_largest_of_rows() noexcept { return vector_level() >= VectorLevel::avx512; }

template <class T>
void largest_of_rows(const T* const* rows, const std::int32_t* place_of, std::int64_t num_rows,
                     std::int64_t count, std::int32_t first, T* out,
                     std::int64_t* places) noexcept {
  std::int64_t i = has_largest_of_rows()
                       ? largest_vectors(rows, place_of, num_rows, count, first, out, places)
                       : 0;
  for (; i < count; ++i) {
    float best = -std::numeric_limits<float>::infinity();
    places[i] = first;
    for (std::int64_t r = 0; r < num_rows; ++r) {
      const float value = widen(rows[r][i]);
      if (!(value > best || value != value)) continue;
      best = value;
      places[i] = place_of[r];
    }
    out[i] = narrow<T>(best);
  }
}

#define TENON_ROWS_OF(T)                                                                          \
  template void widen_row(const T*, std::int64_t, float*) noexcept;                               \
  template void narrow_row(const float*, std::int64_t, T*) noexcept;                              \
  template void add_rows(const T* const*, const float*, std::int64_t, std::int64_t,               \
                         float*) noexcept;                                                        \
  template void take_most(const T* const*, const std::int32_t*, std::int64_t, std::int64_t,       \
                          float*, std::int32_t*) noexcept;                                        \
  template void largest_of_rows(const T* const*, const std::int32_t*, std::int64_t, std::int64_t, \
                                std::int32_t, T*, std::int64_t*) noexcept;
TENON_ROWS_OF(float)
TENON_ROWS_OF(BFloat16)
TENON_ROWS_OF(Half)
#undef TENON_ROWS_OF

}  // namespace tenon::cpu_aoti
