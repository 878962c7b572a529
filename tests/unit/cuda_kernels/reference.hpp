// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "arguments.hpp"
#include "tenon/core/scalar_type.hpp"

/// Reference implementations of the CUDA kernels on the CPU, and inputs for them. Shares no code
/// with the kernels.
namespace kernel_reference {

using tenon::BFloat16;
using tenon::ScalarType;

/// Pseudo-random numbers, the same in every run.
struct Numbers {
  std::uint64_t state = 88172645463325252u;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  }
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>((next() >> 11) % static_cast<std::uint64_t>(end));
  }
  /// In [-1, 1).
  double uniform() { return static_cast<double>(next() >> 11) / 4503599627370496.0 - 1; }
};

enum class Format { int4_packed, int4, int5, int6, int8 };
inline constexpr Format formats[] = {Format::int4_packed, Format::int4, Format::int5, Format::int6,
                                     Format::int8};

inline const char* name_of(Format format) {
  constexpr const char* names[] = {"int4pack", "int4", "int5", "int6", "int8"};
  return names[static_cast<int>(format)];
}

template <class T>
void append(std::vector<unsigned char>& bytes, T value) {
  unsigned char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.insert(bytes.end(), raw, raw + sizeof(T));
}

/// A quantised weight: its numbers, their values, and the bytes of its format.
struct Weight {
  Format format;
  int columns, depth, group;
  int inner_k_tiles = 0;
  std::vector<int> number;          ///< [columns, depth], unsigned except for int8.
  std::vector<double> scale, zero;  ///< [columns, depth / group]
  std::vector<unsigned char> low, high, scale_bytes, scale_step, zero_bytes, zero_step;

  int at(int column, int k) const {
    return number[static_cast<std::size_t>(column) * static_cast<std::size_t>(depth) +
                  static_cast<std::size_t>(k)];
  }
  double value(int column, int k) const {
    const auto g = static_cast<std::size_t>(column) * static_cast<std::size_t>(depth / group) +
                   static_cast<std::size_t>(k / group);
    if (format == Format::int4_packed) return (at(column, k) - 8) * scale[g] + zero[g];
    return scale[g] * (at(column, k) - zero[g]);
  }
};

/// Powers of two from 2^-10 on, as float16: exact, and easy to write as bits.
inline std::uint16_t half_power(int exponent) {
  return static_cast<std::uint16_t>((exponent + 15) << 10);
}

inline std::uint16_t bfloat16(double value) {
  return BFloat16::from_float(static_cast<float>(value)).bits;
}

inline void pack_numbers(Weight& w) {
  const auto put = [](std::vector<unsigned char>& bytes, int at, int value, int bit) {
    auto& byte = bytes[static_cast<std::size_t>(at)];
    byte = static_cast<unsigned char>(byte | value << bit);
  };
  const auto size = static_cast<std::size_t>(w.columns * w.depth);
  w.low.assign(w.format == Format::int8 ? size : size / 2, 0);
  w.high.assign(w.format == Format::int5 ? size / 8 : w.format == Format::int6 ? size / 4 : 0, 0);
  for (int n = 0; n < w.columns; ++n) {
    for (int k = 0; k < w.depth; ++k) {
      const int number = w.at(n, k);
      const int flat = n * w.depth + k;
      switch (w.format) {
        case Format::int8:
          w.low[static_cast<std::size_t>(flat)] = static_cast<unsigned char>(number);
          break;
        case Format::int4_packed: {
          // [n / 8][k / (16 inner)][n % 8 * 4 + lane][word of the lane], numbers of a word in the
          // order 0 8 16 24 1 9 17 25 from twice the lane on.
          const int depth_tile = k / (16 * w.inner_k_tiles);
          const int within = k % (16 * w.inner_k_tiles);
          const int lane = k % 8 / 2;
          const int tile = n / 8 * (w.depth / (16 * w.inner_k_tiles)) + depth_tile;
          const int word = (tile * 32 + n % 8 * 4 + lane) * (w.inner_k_tiles / 2) + within / 32;
          const int nibble = within % 32 / 8 + k % 2 * 4;
          put(w.low, word * 4 + nibble / 2, number, nibble % 2 * 4);
          break;
        }
        default:
          put(w.low, flat / 2, number & 15, k % 2 * 4);
          if (w.format == Format::int5) {
            put(w.high, flat / 8, number >> 4, k % 2 * 4 + k % 8 / 2);
          } else if (w.format == Format::int6) {
            const int chunk = n * (w.depth / 32) + k / 32;
            put(w.high, chunk * 8 + k % 2 * 4 + k % 32 / 8, number >> 4, k % 8 / 2 * 2);
          }
      }
    }
  }
}

inline Weight make_weight(Format format, int columns, int depth, int group, int inner_k_tiles,
                          std::uint64_t seed) {
  Weight w{format, columns, depth, group};
  w.inner_k_tiles = inner_k_tiles;
  Numbers numbers{seed * 0x9E3779B97F4A7C15u + 1};
  for (int i = 0; i < 8; ++i) numbers.next();
  const int range = format == Format::int8   ? 256
                    : format == Format::int5 ? 32
                    : format == Format::int6 ? 64
                                             : 16;
  for (int i = 0; i < columns * depth; ++i) {
    const auto drawn = static_cast<int>(numbers.below(range));
    w.number.push_back(format == Format::int8 ? drawn - 128 : drawn);
  }
  pack_numbers(w);
  const int groups = depth / group;
  w.scale.resize(static_cast<std::size_t>(columns * groups));
  w.zero.resize(w.scale.size());
  const bool coded = format == Format::int4 || format == Format::int5 || format == Format::int6;
  std::vector<int> scale_steps, zero_steps;
  if (coded) {
    for (int i = 0; i < columns * depth / 256; ++i) {
      scale_steps.push_back(static_cast<int>(numbers.below(4)) - 10);
      zero_steps.push_back(static_cast<int>(numbers.below(3)) - 5);
      append(w.scale_step, half_power(scale_steps.back()));
      append(w.zero_step, half_power(zero_steps.back()));
    }
  }
  for (int n = 0; n < columns; ++n) {
    for (int g = 0; g < groups; ++g) {
      const auto i = static_cast<std::size_t>(n * groups + g);
      if (coded) {
        const auto block = static_cast<std::size_t>(n * (depth / 256) + g * group / 256);
        const bool is_signed = format == Format::int6;
        const auto scale = static_cast<int>(numbers.below(256)) - (is_signed ? 128 : 0);
        const auto zero = static_cast<int>(numbers.below(256));
        w.scale[i] = std::ldexp(scale, scale_steps[block]);
        w.zero[i] = is_signed ? 32 : std::ldexp(zero, zero_steps[block]);
        w.scale_bytes.push_back(static_cast<unsigned char>(scale));
        w.zero_bytes.push_back(static_cast<unsigned char>(zero));
      } else {
        const std::uint16_t scale = bfloat16(0.01 * (1.5 + numbers.uniform()));
        w.scale[i] = double{BFloat16{scale}.to_float()};
        if (format == Format::int8) {
          const auto zero = static_cast<int>(numbers.below(256)) - 128;
          w.zero[i] = zero;
          append(w.scale_bytes, scale);
          w.zero_bytes.push_back(static_cast<unsigned char>(zero));
        } else {
          w.zero[i] = double{BFloat16{bfloat16(0.1 * numbers.uniform())}.to_float()};
        }
      }
    }
  }
  if (format == Format::int4_packed) {
    for (int g = 0; g < groups; ++g) {
      for (int n = 0; n < columns; ++n) {
        const auto i = static_cast<std::size_t>(n * groups + g);
        append(w.scale_bytes, bfloat16(w.scale[i]));
        append(w.scale_bytes, bfloat16(w.zero[i]));
      }
    }
  }
  return w;
}

/// The product, and the sum of the magnitudes, which bounds the error of rounding.
struct Product {
  double value, magnitude;
};

inline Product product(const std::vector<double>& self, const Weight& weight, int row, int column) {
  Product sum{0, 0};
  for (int k = 0; k < weight.depth; ++k) {
    const double term =
        self[static_cast<std::size_t>(row * weight.depth + k)] * weight.value(column, k);
    sum.value += term;
    sum.magnitude += std::abs(term);
  }
  return sum;
}

/// The bytes at the pointers that a kernel gets, on the CPU or, with other pointers, on a GPU.
inline tenon::cuda_aoti::kernels::Weights arguments(const Weight& w) {
  return {w.low.data(),
          w.high.data(),
          w.scale_bytes.data(),
          w.scale_step.data(),
          w.zero_bytes.data(),
          w.zero_step.data(),
          w.columns,
          w.depth,
          std::countr_zero(static_cast<unsigned>(w.group)),
          w.inner_k_tiles};
}

/// NaN is the largest number.
template <class T>
bool less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
  return a < b;
}

/// Places of a row's elements in stable order.
template <class T>
std::vector<std::int64_t> sorted_places(const std::vector<T>& row, bool descending) {
  std::vector<std::int64_t> places(row.size());
  std::iota(places.begin(), places.end(), std::int64_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) {
    const T x = row[static_cast<std::size_t>(a)];
    const T y = row[static_cast<std::size_t>(b)];
    return descending ? less(y, x) : less(x, y);
  });
  return places;
}

}  // namespace kernel_reference
