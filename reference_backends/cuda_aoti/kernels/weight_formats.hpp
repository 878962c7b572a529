// SPDX-License-Identifier: MIT
#pragma once

#include "floats.hpp"

// The quantised weights that ExecuTorch's CUDA exporter and PyTorch write, and how 32 of them
// become float32. Layouts: executorch backends/cuda (coalesced_int4_tensor.py, dp4a_planar_int5 and
// int6_tensor.py, runtime/shims/int8_plain_mm.h); pytorch aten/src/ATen/native/cuda/int4mm.cu.
// Kernels and the tests on the host run the same functions.
namespace tenon::cuda_aoti::kernels {

/// Bytes that are loaded with one instruction.
struct alignas(16) Words4 {
  std::uint32_t word[4];
};

/// Index of (row, column) in a matrix without gaps.
TENON_HOST_DEVICE std::int64_t place(std::int64_t row, std::int64_t width, std::int64_t column) {
  return row * width + column;
}

template <class T>
TENON_HOST_DEVICE T element(const void* data, std::int64_t at) {
  return static_cast<const T*>(data)[at];
}

TENON_HOST_DEVICE Words4 load_words(const void* data, std::int64_t byte) {
  return *reinterpret_cast<const Words4*>(static_cast<const unsigned char*>(data) + byte);
}

TENON_HOST_DEVICE std::uint32_t load_word(const void* data, std::int64_t byte) {
  return *reinterpret_cast<const std::uint32_t*>(static_cast<const unsigned char*>(data) + byte);
}

/// Weight = scale * (number - zero).
struct Scaling {
  float scale;
  float zero;
};

/// Scale and zero of the group of weight `k`: codes of 8 bits times a step for each 256 weights.
template <class Code>
TENON_HOST_DEVICE float coded(const void* codes, const void* steps, const Weights& weights,
                              std::int64_t column, std::int32_t k) {
  const std::int64_t group =
      place(column, weights.depth >> weights.group_shift, k >> weights.group_shift);
  const std::int64_t block = place(column, weights.depth >> 8, k >> 8);
  return static_cast<float>(element<Code>(codes, group)) *
         half_to_float(element<std::uint16_t>(steps, block));
}

/// Scale and zero of the group of weight `k`, both as codes of 8 bits.
TENON_HOST_DEVICE Scaling coded_scaling(const Weights& weights, std::int32_t column,
                                        std::int32_t k) {
  return {coded<std::uint8_t>(weights.scale, weights.scale_step, weights, column, k),
          coded<std::uint8_t>(weights.zero, weights.zero_step, weights, column, k)};
}

/// Weights `first` to `first + 32` of a column, from `scaling_at(k)` for each group and
/// `number(eight, i)` for weight 8 * eight + i. A group has at least eight weights.
template <class ScalingAt, class Number>
TENON_HOST_DEVICE void scale_chunk(const Weights& weights, std::int32_t first, ScalingAt scaling_at,
                                   Number number, float (&out)[weights_per_chunk]) {
  Scaling scaling{};
  TENON_UNROLL
  for (int eight = 0; eight < 4; ++eight) {
    if (eight == 0 || weights.group_shift < 5) scaling = scaling_at(first + eight * 8);
    TENON_UNROLL
    for (int i = 0; i < 8; ++i) {
      out[eight * 8 + i] = scaling.scale * (static_cast<float>(number(eight, i)) - scaling.zero);
    }
  }
}

/// low: uint8 [columns, depth / 2], the even weight in the lower four bits; scale and zero: uint8
/// codes [columns, depth / group] with float16 steps [columns, depth / 256].
struct Int4Plain {
  static TENON_HOST_DEVICE void chunk(const Weights& weights, std::int32_t column,
                                      std::int32_t chunk, float (&out)[weights_per_chunk]) {
    const Words4 low = load_words(weights.low, place(column, weights.depth / 2, chunk * 16));
    scale_chunk(
        weights, chunk * weights_per_chunk,
        [&](std::int32_t k) { return coded_scaling(weights, column, k); },
        [&](int eight, int i) {
          return static_cast<std::int32_t>(low.word[eight] >> (4 * i) & 0xfu);
        },
        out);
  }
};

/// As Int4Plain with a fifth bit. high: uint8 [columns, depth / 8]; a byte has those of eight
/// weights, of the even ones in its lower half and of the odd ones in its upper half.
struct Int5Plain {
  static TENON_HOST_DEVICE void chunk(const Weights& weights, std::int32_t column,
                                      std::int32_t chunk, float (&out)[weights_per_chunk]) {
    const Words4 low = load_words(weights.low, place(column, weights.depth / 2, chunk * 16));
    const std::uint32_t high = load_word(weights.high, place(column, weights.depth / 8, chunk * 4));
    scale_chunk(
        weights, chunk * weights_per_chunk,
        [&](std::int32_t k) { return coded_scaling(weights, column, k); },
        [&](int eight, int i) {
          const std::uint32_t four = low.word[eight] >> (4 * i) & 0xfu;
          const std::uint32_t fifth = high >> (8 * eight + (i & 1) * 4 + i / 2) & 1u;
          return static_cast<std::int32_t>(four | fifth << 4);
        },
        out);
  }
};

/// Numbers are stored with 32 added, without a zero. low as in Int4Plain; high: uint8 [columns,
/// depth / 4], for 32 weights four bytes of the even ones, then four of the odd ones, two bits
/// each; scale: int8 codes with float16 steps.
struct Int6Plain {
  static TENON_HOST_DEVICE void chunk(const Weights& weights, std::int32_t column,
                                      std::int32_t chunk, float (&out)[weights_per_chunk]) {
    const Words4 low = load_words(weights.low, place(column, weights.depth / 2, chunk * 16));
    const std::int64_t at = place(column, weights.depth / 4, chunk * 8);
    const std::uint32_t high[2] = {load_word(weights.high, at), load_word(weights.high, at + 4)};
    scale_chunk(
        weights, chunk * weights_per_chunk,
        [&](std::int32_t k) {
          return Scaling{coded<std::int8_t>(weights.scale, weights.scale_step, weights, column, k),
                         32.0f};
        },
        [&](int eight, int i) {
          const std::uint32_t four = low.word[eight] >> (4 * i) & 0xfu;
          const std::uint32_t two = high[i & 1] >> (8 * eight + i / 2 * 2) & 3u;
          return static_cast<std::int32_t>(four | two << 4);
        },
        out);
  }
};

/// low: int8 [columns, depth]; scale: bfloat16 and zero: int8 [columns, depth / group].
struct Int8Plain {
  static TENON_HOST_DEVICE void chunk(const Weights& weights, std::int32_t column,
                                      std::int32_t chunk, float (&out)[weights_per_chunk]) {
    const std::int64_t at = place(column, weights.depth, chunk * weights_per_chunk);
    const Words4 words[2] = {load_words(weights.low, at), load_words(weights.low, at + 16)};
    scale_chunk(
        weights, chunk * weights_per_chunk,
        [&](std::int32_t k) {
          const std::int64_t group =
              place(column, weights.depth >> weights.group_shift, k >> weights.group_shift);
          return Scaling{bfloat16_to_float(element<std::uint16_t>(weights.scale, group)),
                         static_cast<float>(element<std::int8_t>(weights.zero, group))};
        },
        [&](int eight, int i) {
          const std::uint32_t word = words[eight / 2].word[eight % 2 * 2 + i / 4];
          return static_cast<std::int32_t>(static_cast<std::int8_t>(word >> (8 * (i % 4)) & 0xffu));
        },
        out);
  }
};

/// low: int32 [columns / 8, depth / (inner * 16), 32, inner / 2], the order in which tensor cores
/// take it; scale: bfloat16 [depth / group, columns, 2], the second of each pair is the value of
/// the number 8 (weight = (number - 8) * scale + second).
struct Int4Packed {
  /// Bits by which the number of weight `k` of a pair of tiles (32 weights) is shifted in its word;
  /// the word is `k / 2 % 4` of the column's four.
  static TENON_HOST_DEVICE int shift(int k) { return 4 * (k % 2 * 4 + k / 8); }

  /// Of the group of weight `k`; the zero is the value of the number 8.
  static TENON_HOST_DEVICE Scaling scaling(const Weights& weights, std::int32_t column,
                                           std::int32_t k) {
    const std::uint32_t pair = element<std::uint32_t>(
        weights.scale, place(k >> weights.group_shift, weights.columns, column));
    return {bfloat16_to_float(static_cast<std::uint16_t>(pair & 0xffffu)),
            bfloat16_to_float(static_cast<std::uint16_t>(pair >> 16))};
  }
  /// Weight `k` of a pair of tiles, out of its word.
  static TENON_HOST_DEVICE float weight(std::uint32_t word, int k, const Scaling& scaling) {
    const auto number = static_cast<std::int32_t>(word >> shift(k) & 0xfu);
    return static_cast<float>(number - 8) * scaling.scale + scaling.zero;
  }

  static TENON_HOST_DEVICE void chunk(const Weights& weights, std::int32_t column,
                                      std::int32_t chunk, float (&out)[weights_per_chunk]) {
    const std::int32_t pairs = weights.inner_k_tiles / 2;
    const std::int64_t tile =
        place(column / 8, weights.depth / (weights.inner_k_tiles * 16), chunk / pairs);
    std::uint32_t words[4];
    TENON_UNROLL
    for (int i = 0; i < 4; ++i) {
      const std::int64_t lane = tile * 32 + column % 8 * 4 + i;
      words[i] = element<std::uint32_t>(weights.low, lane * pairs + chunk % pairs);
    }
    const Scaling of_group = scaling(weights, column, chunk * weights_per_chunk);
    TENON_UNROLL
    for (int k = 0; k < weights_per_chunk; ++k) out[k] = weight(words[k / 2 % 4], k, of_group);
  }
};

}  // namespace tenon::cuda_aoti::kernels
