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

/// 32 weights of a column as they are in memory: their bits, and for each eight of them the code of
/// the scale and of the zero, with the steps. A kernel may load it long before it is unpacked. Each
/// format uses a part of it.
struct RawChunk {
  Words4 low[2];
  std::uint32_t high[2];
  std::uint32_t scale[4];
  std::uint32_t zero[4];
  std::uint16_t scale_step;
  std::uint16_t zero_step;
};

/// Calls `load_group(eight, group)` for the groups of 32 weights from `first` on of a column: for
/// each eight, unless all are of one group. A group has at least eight weights; `one_group` is for
/// kernels that serve groups of at least 32 apart.
template <bool one_group, class LoadGroup>
TENON_HOST_DEVICE void load_groups(const Weights& weights, std::int32_t column, std::int32_t first,
                                   LoadGroup load_group) {
  const std::int32_t groups = weights.depth >> weights.group_shift;
  load_group(0, place(column, groups, first >> weights.group_shift));
  if constexpr (!one_group) {
    if (weights.group_shift >= 5) return;
    TENON_UNROLL
    for (int eight = 1; eight < 4; ++eight) {
      load_group(eight, place(column, groups, (first + eight * 8) >> weights.group_shift));
    }
  }
}

/// The 32 weights from `scaling(eight)` for each group, and `number(eight, i)` for weight
/// 8 * eight + i.
template <class ScalingOf, class Number>
TENON_HOST_DEVICE void scale_chunk(const Weights& weights, ScalingOf scaling_of, Number number,
                                   float (&out)[weights_per_chunk]) {
  Scaling scaling{};
  TENON_UNROLL
  for (int eight = 0; eight < 4; ++eight) {
    if (eight == 0 || weights.group_shift < 5) scaling = scaling_of(eight);
    TENON_UNROLL
    for (int i = 0; i < 8; ++i) {
      out[eight * 8 + i] = scaling.scale * (static_cast<float>(number(eight, i)) - scaling.zero);
    }
  }
}

/// Loads the steps and codes of scales, and of zeros if the format has them.
template <class Code, bool one_group>
TENON_HOST_DEVICE void load_codes(const Weights& weights, std::int32_t column, std::int32_t chunk,
                                  bool has_zeros, RawChunk& raw) {
  const std::int32_t first = chunk * weights_per_chunk;
  const std::int64_t block = place(column, weights.depth >> 8, first >> 8);
  raw.scale_step = element<std::uint16_t>(weights.scale_step, block);
  if (has_zeros) raw.zero_step = element<std::uint16_t>(weights.zero_step, block);
  load_groups<one_group>(weights, column, first, [&](int eight, std::int64_t group) {
    raw.scale[eight] = static_cast<std::uint32_t>(element<Code>(weights.scale, group));
    if (has_zeros) raw.zero[eight] = element<std::uint8_t>(weights.zero, group);
  });
}

/// The weights of a super-block, which shares one step of its scales, and its chunks.
inline constexpr int super_block_shift = 8;
inline constexpr int super_block_chunks = (1 << super_block_shift) / weights_per_chunk;

/// Loads the codes of a super-block, one in each byte of two words. They belong to its 8 /
/// 2^(group_shift - 5) groups, and are aligned to 4 or to their size. Nothing is computed with them
/// here, as that would wait for the loads.
TENON_HOST_DEVICE void load_code_bytes(const void* codes, std::int64_t super_block,
                                       std::int32_t group_shift, std::uint32_t (&words)[4]) {
  switch (group_shift) {
    case 5:
      words[0] = element<std::uint32_t>(codes, 2 * super_block);
      words[1] = element<std::uint32_t>(codes, 2 * super_block + 1);
      return;
    case 6:
      words[0] = element<std::uint32_t>(codes, super_block);
      return;
    case 7:
      words[0] = element<std::uint16_t>(codes, super_block);
      return;
    default:
      words[0] = element<std::uint8_t>(codes, super_block);
  }
}

/// Scale and zero as codes of 8 bits times a step for each 256 weights.
TENON_HOST_DEVICE Scaling coded_scaling(const RawChunk& raw, int eight) {
  return {static_cast<float>(raw.scale[eight]) * half_to_float(raw.scale_step),
          static_cast<float>(raw.zero[eight]) * half_to_float(raw.zero_step)};
}

/// The numbers of 32 weights as bytes, four in a word, which an integer dot product takes.
struct PackedNumbers {
  std::uint32_t word[8];
};

/// The place of weight `i` of an eight in its two words of `PackedNumbers`, as bytes. Formats with
/// four bits in a word have the even weights first: two masks unpack all of them.
TENON_HOST_DEVICE constexpr int byte_of_weight(bool even_first, int i) {
  return even_first ? i % 2 * 4 + i / 2 : i;
}

/// The lower four bits of 32 weights, the even ones of each eight first.
TENON_HOST_DEVICE PackedNumbers four_bits(const Words4& low) {
  PackedNumbers out;
  TENON_UNROLL
  for (int eight = 0; eight < 4; ++eight) {
    out.word[2 * eight] = low.word[eight] & 0x0f0f0f0fu;
    out.word[2 * eight + 1] = low.word[eight] >> 4 & 0x0f0f0f0fu;
  }
  return out;
}

/// A format's `chunk`: 32 weights of a column, loaded and unpacked.
template <class Format>
struct Chunks {
  static constexpr bool has_codes = false;

  static TENON_HOST_DEVICE void chunk(const Weights& weights, std::int32_t column,
                                      std::int32_t chunk, float (&out)[weights_per_chunk]) {
    Format::unpack(weights, Format::load(weights, column, chunk), out);
  }

  /// Of the plain formats: their numbers, scaled.
  static TENON_HOST_DEVICE void unpack(const Weights& weights, const RawChunk& raw,
                                       float (&out)[weights_per_chunk]) {
    const PackedNumbers numbers = Format::numbers(raw);
    scale_chunk(
        weights, [&](int eight) { return Format::scaling(raw, eight); },
        [&](int eight, int i) {
          const int byte = byte_of_weight(Format::even_first, i);
          const std::uint32_t word = numbers.word[2 * eight + byte / 4];
          return static_cast<std::int32_t>(
              static_cast<std::int8_t>(word >> (8 * (byte % 4)) & 0xffu));
        },
        out);
  }
};

/// 128 + byte `which` of a word, which is below 128, as the bits of a float.
TENON_HOST_DEVICE float float_above_128(std::uint32_t word, int which) {
  constexpr std::uint32_t bits_of_128 = 0x43000000u;
#ifdef __CUDA_ARCH__
  return float_of_bits(__byte_perm(word, bits_of_128, 0x7044u | static_cast<unsigned>(which) << 8));
#else
  return float_of_bits(bits_of_128 | (word >> (8 * which) & 0xffu) << 16);
#endif
}

/// A plain format with codes; `Code` is the type of a scale's code. `Format::load_numbers` loads
/// the bits of 32 weights.
template <class Format, class Code, bool has_zeros>
struct CodedFormat : Chunks<Format> {
  static constexpr bool has_codes = true;

  template <bool one_group = false>
  static TENON_HOST_DEVICE RawChunk load(const Weights& weights, std::int32_t column,
                                         std::int32_t chunk) {
    RawChunk raw{};
    Format::load_numbers(weights, column, chunk, raw);
    load_codes<Code, one_group>(weights, column, chunk, has_zeros, raw);
    return raw;
  }

  /// Loads the steps and the codes of a super-block, for weights with `has_code_words`.
  static TENON_HOST_DEVICE void load_code_words(const Weights& weights, std::int32_t column,
                                                std::int32_t super_block, RawChunk& raw) {
    const std::int64_t at = place(column, weights.depth >> super_block_shift, super_block);
    raw.scale_step = element<std::uint16_t>(weights.scale_step, at);
    load_code_bytes(weights.scale, at, weights.group_shift, raw.scale);
    if (!has_zeros) return;
    raw.zero_step = element<std::uint16_t>(weights.zero_step, at);
    load_code_bytes(weights.zero, at, weights.group_shift, raw.zero);
  }

  /// The weights of a chunk of one group, whose numbers are below 128: two instructions each, and
  /// within 2^-16 of the scale of what `unpack` gives.
  static TENON_HOST_DEVICE void unpack_group(const RawChunk& raw, float (&out)[weights_per_chunk]) {
    const PackedNumbers numbers = Format::numbers(raw);
    const Scaling scaling = Format::scaling(raw, 0);
    const float offset = -(128.0f + scaling.zero) * scaling.scale;
    TENON_UNROLL
    for (int i = 0; i < weights_per_chunk; ++i) {
      const int byte = byte_of_weight(Format::even_first, i % 8);
      const std::uint32_t word = numbers.word[2 * (i / 8) + byte / 4];
      out[i] = float_above_128(word, byte % 4) * scaling.scale + offset;
    }
  }

  /// The chunk with the codes of its group, out of those words. It is the one of that number in the
  /// super-block.
  static TENON_HOST_DEVICE RawChunk with_codes(const Weights& weights, const RawChunk& raw,
                                               int chunk) {
    const int group = chunk >> (weights.group_shift - 5);
    const int shift = group % 4 * 8;
    const std::uint32_t scale = group < 4 ? raw.scale[0] : raw.scale[1];
    const std::uint32_t zero = group < 4 ? raw.zero[0] : raw.zero[1];
    RawChunk out = raw;
    out.scale[0] = static_cast<std::uint32_t>(
        static_cast<Code>(static_cast<std::uint8_t>(scale >> shift & 0xffu)));
    out.zero[0] = zero >> shift & 0xffu;
    return out;
  }
};

/// low: uint8 [columns, depth / 2], the even weight in the lower four bits; scale and zero: uint8
/// codes [columns, depth / group] with float16 steps [columns, depth / 256].
struct Int4Plain : CodedFormat<Int4Plain, std::uint8_t, true> {
  static TENON_HOST_DEVICE void load_numbers(const Weights& weights, std::int32_t column,
                                             std::int32_t chunk, RawChunk& raw) {
    raw.low[0] = load_words(weights.low, place(column, weights.depth / 2, chunk * 16));
  }
  static constexpr bool even_first = true;
  static TENON_HOST_DEVICE PackedNumbers numbers(const RawChunk& raw) {
    return four_bits(raw.low[0]);
  }
  static TENON_HOST_DEVICE Scaling scaling(const RawChunk& raw, int eight) {
    return coded_scaling(raw, eight);
  }
};

/// As Int4Plain with a fifth bit. high: uint8 [columns, depth / 8]; a byte has the bits of eight
/// weights, the even ones in its lower half and the odd ones in its upper half.
struct Int5Plain : CodedFormat<Int5Plain, std::uint8_t, true> {
  static TENON_HOST_DEVICE void load_numbers(const Weights& weights, std::int32_t column,
                                             std::int32_t chunk, RawChunk& raw) {
    raw.low[0] = load_words(weights.low, place(column, weights.depth / 2, chunk * 16));
    raw.high[0] = load_word(weights.high, place(column, weights.depth / 8, chunk * 4));
  }
  static constexpr bool even_first = true;
  static TENON_HOST_DEVICE PackedNumbers numbers(const RawChunk& raw) {
    PackedNumbers out = four_bits(raw.low[0]);
    TENON_UNROLL
    for (int i = 0; i < 8; ++i) {
      // Bits 0 to 3 to bits 4, 12, 20 and 28.
      const std::uint32_t fifth = raw.high[0] >> (4 * i) & 0xfu;
      out.word[i] |= fifth * 0x02040810u & 0x10101010u;
    }
    return out;
  }
  static TENON_HOST_DEVICE Scaling scaling(const RawChunk& raw, int eight) {
    return coded_scaling(raw, eight);
  }
};

/// Numbers are stored with 32 added, without a zero. low as in Int4Plain; high: uint8 [columns,
/// depth / 4], for 32 weights four bytes of the even ones, then four of the odd ones, two bits
/// each; scale: int8 codes with float16 steps.
struct Int6Plain : CodedFormat<Int6Plain, std::int8_t, false> {
  static TENON_HOST_DEVICE void load_numbers(const Weights& weights, std::int32_t column,
                                             std::int32_t chunk, RawChunk& raw) {
    raw.low[0] = load_words(weights.low, place(column, weights.depth / 2, chunk * 16));
    const std::int64_t at = place(column, weights.depth / 4, chunk * 8);
    raw.high[0] = load_word(weights.high, at);
    raw.high[1] = load_word(weights.high, at + 4);
  }
  static constexpr bool even_first = true;
  static TENON_HOST_DEVICE PackedNumbers numbers(const RawChunk& raw) {
    PackedNumbers out = four_bits(raw.low[0]);
    TENON_UNROLL
    for (int i = 0; i < 8; ++i) {
      // Pairs of bits at 0 and 4 to bits 4 and 20, at 2 and 6 to bits 12 and 28.
      const std::uint32_t pairs = raw.high[i % 2] >> (8 * (i / 2));
      const std::uint32_t spread = (pairs & 0x33u) * 0x00010010u + (pairs & 0xccu) * 0x00400400u;
      out.word[i] |= spread & 0x30303030u;
    }
    return out;
  }
  static TENON_HOST_DEVICE Scaling scaling(const RawChunk& raw, int eight) {
    const auto code = static_cast<std::int32_t>(raw.scale[eight]);
    return {static_cast<float>(code) * half_to_float(raw.scale_step), 32.0f};
  }
};

/// low: int8 [columns, depth]; scale: bfloat16 and zero: int8 [columns, depth / group].
struct Int8Plain : Chunks<Int8Plain> {
  template <bool one_group = false>
  static TENON_HOST_DEVICE RawChunk load(const Weights& weights, std::int32_t column,
                                         std::int32_t chunk) {
    RawChunk raw{};
    const std::int64_t at = place(column, weights.depth, chunk * weights_per_chunk);
    raw.low[0] = load_words(weights.low, at);
    raw.low[1] = load_words(weights.low, at + 16);
    load_groups<one_group>(
        weights, column, chunk * weights_per_chunk, [&](int eight, std::int64_t group) {
          raw.scale[eight] = element<std::uint16_t>(weights.scale, group);
          raw.zero[eight] = static_cast<std::uint32_t>(element<std::int8_t>(weights.zero, group));
        });
    return raw;
  }
  static constexpr bool even_first = false;
  static TENON_HOST_DEVICE PackedNumbers numbers(const RawChunk& raw) {
    PackedNumbers out;
    TENON_UNROLL
    for (int i = 0; i < 8; ++i) out.word[i] = raw.low[i / 4].word[i % 4];
    return out;
  }
  static TENON_HOST_DEVICE Scaling scaling(const RawChunk& raw, int eight) {
    return {bfloat16_to_float(static_cast<std::uint16_t>(raw.scale[eight])),
            static_cast<float>(static_cast<std::int32_t>(raw.zero[eight]))};
  }
};

/// low: int32 [columns / 8, depth / (inner * 16), 32, inner / 2], the order in which tensor cores
/// take it; scale: bfloat16 [depth / group, columns, 2], the second of each pair is the value of
/// the number 8 (weight = (number - 8) * scale + second).
struct Int4Packed : Chunks<Int4Packed> {
  /// Bits by which the number of weight `k` of a pair of tiles (32 weights) is shifted in its word;
  /// the word is `k / 2 % 4` of the column's four.
  static TENON_HOST_DEVICE int shift(int k) { return 4 * (k % 2 * 4 + k / 8); }

  /// Scale and zero of the group of weight `k`, as one word.
  static TENON_HOST_DEVICE std::uint32_t load_scaling(const Weights& weights, std::int32_t column,
                                                      std::int32_t k) {
    return element<std::uint32_t>(weights.scale,
                                  place(k >> weights.group_shift, weights.columns, column));
  }
  /// The zero is the value of the number 8.
  static TENON_HOST_DEVICE Scaling scaling(std::uint32_t word) {
    return {bfloat16_to_float(static_cast<std::uint16_t>(word & 0xffffu)),
            bfloat16_to_float(static_cast<std::uint16_t>(word >> 16))};
  }
  /// Weight `k` of a pair of tiles, out of its word.
  static TENON_HOST_DEVICE float weight(std::uint32_t word, int k, const Scaling& scaling) {
    const auto number = static_cast<std::int32_t>(word >> shift(k) & 0xfu);
    return static_cast<float>(number - 8) * scaling.scale + scaling.zero;
  }

  static TENON_HOST_DEVICE RawChunk load(const Weights& weights, std::int32_t column,
                                         std::int32_t chunk) {
    RawChunk raw{};
    const std::int32_t pairs = weights.inner_k_tiles / 2;
    const std::int64_t tile =
        place(column / 8, weights.depth / (weights.inner_k_tiles * 16), chunk / pairs);
    TENON_UNROLL
    for (int i = 0; i < 4; ++i) {
      const std::int64_t lane = tile * 32 + column % 8 * 4 + i;
      raw.low[0].word[i] = element<std::uint32_t>(weights.low, lane * pairs + chunk % pairs);
    }
    raw.scale[0] = load_scaling(weights, column, chunk * weights_per_chunk);
    return raw;
  }
  static TENON_HOST_DEVICE void unpack(const Weights&, const RawChunk& raw,
                                       float (&out)[weights_per_chunk]) {
    const Scaling of_group = scaling(raw.scale[0]);
    TENON_UNROLL
    for (int k = 0; k < weights_per_chunk; ++k) {
      out[k] = weight(raw.low[0].word[k / 2 % 4], k, of_group);
    }
  }
};

}  // namespace tenon::cuda_aoti::kernels
