// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>

#include "arguments.hpp"

// Narrow floats as their bits, for nvcc and the host's compiler alike.
namespace tenon::cuda_aoti::kernels {

TENON_HOST_DEVICE float float_of_bits(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

TENON_HOST_DEVICE std::uint32_t bits_of_float(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

TENON_HOST_DEVICE float bfloat16_to_float(std::uint16_t bits) {
  return float_of_bits(static_cast<std::uint32_t>(bits) << 16);
}

/// Rounds to nearest even.
TENON_HOST_DEVICE std::uint16_t float_to_bfloat16(float value) {
  if (value != value) return 0x7fc0;
  std::uint32_t bits = bits_of_float(value);
  bits += 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<std::uint16_t>(bits >> 16);
}

/// Exact. The scaling by 2^112 moves the exponent's bias and makes subnormal numbers right too.
TENON_HOST_DEVICE float half_to_float(std::uint16_t bits) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#else
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t rest = static_cast<std::uint32_t>(bits & 0x7fffu) << 13;
  if (rest >= 0x7c00u << 13) return float_of_bits(sign | 0x7f800000u | (rest & 0x7fffffu));
  return float_of_bits(sign | bits_of_float(float_of_bits(rest) * 0x1p112f));
#endif
}

}  // namespace tenon::cuda_aoti::kernels
