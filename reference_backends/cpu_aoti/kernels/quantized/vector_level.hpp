// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>

#include "openmp.hpp"

#if defined(__x86_64__)
// GCC's intrinsics initialise what need not be initialised with itself, and GCC warns of it where
// they are inlined (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

/// Vector code that is chosen when the plugin runs.
namespace tenon::cpu_aoti {

/// The instructions that the code of a kernel may use, in ascending order.
enum class VectorLevel : std::uint8_t {
  baseline,  ///< what the compiler may use in every file
  avx2,      ///< AVX2 and FMA
  avx512,    ///< AVX-512 F, BW, DQ and VL
  vnni,      ///< also sums of products of 8-bit numbers in 32 bits (AVX-512 VNNI)
};

/// The highest level of this processor.
[[nodiscard]] VectorLevel vector_level() noexcept;

#if defined(__x86_64__)
#define TENON_CPU_AOTI_AVX2 [[gnu::target("avx2,fma")]]
#define TENON_CPU_AOTI_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]]
#define TENON_CPU_AOTI_VNNI \
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]]
#endif

// Unrolls a loop of known length, so that the elements of an array become registers. Clang does it
// unasked.
#if defined(__GNUC__) && !defined(__clang__)
#define TENON_CPU_AOTI_UNROLL _Pragma("GCC unroll 16")
#else
#define TENON_CPU_AOTI_UNROLL
#endif

/// The number of bytes that a product of `rows` rows reads when its weights have `nbytes`: kernels
/// read them once for four rows. The largest number when it does not fit.
[[nodiscard]] constexpr std::int64_t bytes_read(std::int64_t nbytes, std::int64_t rows) noexcept {
  const std::int64_t times = rows < 4 ? 1 : rows / 4;
  std::int64_t out = 0;
  return __builtin_mul_overflow(nbytes, times, &out) ? std::numeric_limits<std::int64_t>::max()
                                                     : out;
}

/// Calls `work(begin, end)` for parts of [0, count), on as many threads as a model may use when
/// `cost`, the number of bytes to read, is worth it, else on the calling thread. Each part but the
/// last is a multiple of `step`.
template <class Work>
void in_parts(std::int64_t count, std::int64_t step, std::int64_t cost, const Work& work) {
#ifdef _OPENMP
  // Below it, waking threads takes longer than the work.
  constexpr std::int64_t least_bytes = 1 << 18;
  const std::int64_t steps = (count + step - 1) / step;
  const std::int64_t threads = ::omp_get_max_threads();
  if (cost >= least_bytes && threads > 1 && steps > 1) {
    const std::int64_t each = (steps + threads - 1) / threads * step;
    // All threads even where some get no part: GCC's runtime ends the threads that a smaller team
    // does not need, and creates them again for the next larger one.
#pragma omp parallel for schedule(static, 1)
    for (std::int64_t part = 0; part < threads; ++part) {
      const std::int64_t begin = part * each;
      const std::int64_t end = begin + each < count ? begin + each : count;
      if (begin < end) work(begin, end);
    }
    return;
  }
#else
  static_cast<void>(step);
  static_cast<void>(cost);
#endif
  work(0, count);
}

}  // namespace tenon::cpu_aoti
