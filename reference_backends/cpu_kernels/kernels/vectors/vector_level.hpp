// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#if defined(__x86_64__)
// GCC's intrinsics initialise what need not be initialised with itself, and GCC warns of it where
// they are inlined (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
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
  avx2,      ///< AVX2, FMA and F16C, which x86-64-v3 has together
  avx512,    ///< AVX-512 F, BW, DQ and VL
  vnni,      ///< also sums of products of 8-bit numbers in 32 bits (AVX-512 VNNI)
  bfloat16,  ///< also sums of products of BFloat16 as floats (AVX-512 BF16)
};

/// The highest level of this processor.
[[nodiscard]] VectorLevel vector_level() noexcept;

#if defined(__x86_64__)
#define TENON_CPU_AOTI_AVX2 [[gnu::target("avx2,fma,f16c")]]
#define TENON_CPU_AOTI_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]]
#define TENON_CPU_AOTI_VNNI \
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]]
#define TENON_CPU_AOTI_BFLOAT16 \
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]]
#endif

// Unrolls a loop of known length, so that the elements of an array become registers. Clang does it
// unasked.
#if defined(__GNUC__) && !defined(__clang__)
#define TENON_CPU_AOTI_UNROLL _Pragma("GCC unroll 16")
#else
#define TENON_CPU_AOTI_UNROLL
#endif

}  // namespace tenon::cpu_aoti
