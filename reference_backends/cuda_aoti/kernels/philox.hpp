// SPDX-License-Identifier: MIT
#pragma once

#include "floats.hpp"

namespace tenon::cuda_aoti::kernels {

/// Four random words.
struct RandomWords {
  std::uint32_t word[4];
};

/// Philox4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a
/// block cipher over a counter, so that each thread computes its numbers independently.
TENON_HOST_DEVICE RandomWords philox(RandomWords x, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = static_cast<std::uint64_t>(0xD2511F53u) * x.word[0];
    const std::uint64_t b = static_cast<std::uint64_t>(0xCD9E8D57u) * x.word[2];
    x = {{static_cast<std::uint32_t>(b >> 32) ^ x.word[1] ^ key0, static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ x.word[3] ^ key1, static_cast<std::uint32_t>(a)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return x;
}

/// Block `at` of the numbers of `seed`.
TENON_HOST_DEVICE RandomWords random_block(std::uint64_t seed, std::uint64_t at) {
  const RandomWords counter{
      {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at >> 32), 0, 0}};
  return philox(counter, static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

TENON_HOST_DEVICE std::uint64_t random_long(const RandomWords& words, int half) {
  return static_cast<std::uint64_t>(words.word[2 * half]) << 32 | words.word[2 * half + 1];
}

// The upper bits as a fraction: as many as the type has digits, so every value is exact and
// below 1.

TENON_HOST_DEVICE float uniform_float(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

TENON_HOST_DEVICE double uniform_double(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

TENON_HOST_DEVICE std::uint16_t uniform_bfloat16(std::uint32_t word) {
  return static_cast<std::uint16_t>(bits_of_float(static_cast<float>(word >> 24) * 0x1p-8f) >> 16);
}

TENON_HOST_DEVICE std::uint16_t uniform_half(std::uint32_t word) {
  const std::uint32_t bits = bits_of_float(static_cast<float>(word >> 21) * 0x1p-11f);
  return bits == 0
             ? std::uint16_t{0}
             : static_cast<std::uint16_t>(((bits >> 23) - 112u) << 10 | (bits >> 13 & 0x3ffu));
}

/// `range` above 0. A range that is not a power of two favours low numbers by less than range /
/// 2^64.
TENON_HOST_DEVICE std::int64_t uniform_integer(std::uint64_t bits, std::int64_t low,
                                               std::uint64_t range) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + bits % range);
}

/// Elements from one counter block.
TENON_HOST_DEVICE int rand_per_block(std::int32_t scalar_type) { return scalar_type == 7 ? 2 : 4; }
inline constexpr int randint_per_block = 2;

/// Writes elements [first, first + count) of `out`, which come from one block.
TENON_HOST_DEVICE void write_uniform(const RandomWords& words, std::int32_t scalar_type, void* out,
                                     std::int64_t first, int count) {
  for (int i = 0; i < count; ++i) {
    switch (scalar_type) {
      case 5:
        static_cast<std::uint16_t*>(out)[first + i] = uniform_half(words.word[i]);
        break;
      case 6:
        static_cast<float*>(out)[first + i] = uniform_float(words.word[i]);
        break;
      case 7:
        static_cast<double*>(out)[first + i] = uniform_double(random_long(words, i));
        break;
      default:
        static_cast<std::uint16_t*>(out)[first + i] = uniform_bfloat16(words.word[i]);
    }
  }
}

/// Writes integers [first, first + count) of `out`; `scalar_type` is PyTorch's number of uint8,
/// int8, int16, int32 or int64.
TENON_HOST_DEVICE void write_integers(const RandomWords& words, std::int32_t scalar_type,
                                      std::int64_t low, std::uint64_t range, void* out,
                                      std::int64_t first, int count) {
  for (int i = 0; i < count; ++i) {
    const std::int64_t value = uniform_integer(random_long(words, i), low, range);
    switch (scalar_type) {
      case 0:
      case 1:
        static_cast<std::uint8_t*>(out)[first + i] = static_cast<std::uint8_t>(value);
        break;
      case 2:
        static_cast<std::int16_t*>(out)[first + i] = static_cast<std::int16_t>(value);
        break;
      case 3:
        static_cast<std::int32_t*>(out)[first + i] = static_cast<std::int32_t>(value);
        break;
      default:
        static_cast<std::int64_t*>(out)[first + i] = value;
    }
  }
}

}  // namespace tenon::cuda_aoti::kernels
