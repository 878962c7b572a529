// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/elements.hpp"
#include "kernels/vectors/rows.hpp"

/// The loops of all poolings: windows over up to three spatial dimensions.
namespace tenon::cpu_aoti {

/// The input elements of one element of the result, along one dimension, and the number of
/// positions with those in the padding.
struct Window {
  std::int64_t first, end, step, padded;
};

/// One spatial dimension. Without a kernel it is adaptive: windows of nearly equal size cover it.
struct Axis {
  std::int64_t in = 1, out = 1;
  std::int64_t kernel = 0, stride = 1, padding = 0, dilation = 1;

  [[nodiscard]] Window window(std::int64_t o) const noexcept {
    std::int64_t first = kernel == 0 ? o * in / out : o * stride - padding;
    if (kernel == 0) {
      const std::int64_t covered = ((o + 1) * in + out - 1) / out - first;
      return {first, first + covered, 1, covered};
    }
    const std::int64_t padded = std::min(first + kernel, in + padding) - first;
    const std::int64_t end = std::min(first + (kernel - 1) * dilation + 1, in);
    if (first < 0) first += (-first + dilation - 1) / dilation * dilation;
    return {first, end, dilation, padded};
  }
};

using Strides = std::array<std::int64_t, 5>;

/// A pooling over batch, channels and three spatial dimensions; missing ones have size 1.
struct Pooling {
  std::int64_t batch = 1, channels = 1;
  std::array<Axis, 3> axes;
  Strides in_strides{}, out_strides{}, index_strides{};
  std::int64_t divisor = 0;     ///< Of averages; 0 for the number of elements.
  bool counts_padding = false;  ///< In that number.
};

/// Sums and divides. Sums of whole numbers wrap around, and their quotients are cut off.
template <class T>
struct Average {
  using Element = T;
  static constexpr bool is_whole = std::is_integral_v<Wide<T>>;
  struct Best {
    std::conditional_t<is_whole, std::uint64_t, Wide<T>> sum;
  };
  static void start(Best& best, std::int64_t) noexcept { best.sum = 0; }
  static void take(Best& best, T value, std::int64_t) noexcept {
    best.sum += static_cast<decltype(best.sum)>(widen(value));
  }
  static T finish(const Best& best, std::int64_t count) noexcept {
    if constexpr (is_whole) {
      // The processor raises an exception when it divides the smallest number by -1.
      if (count == -1) return static_cast<T>(0 - best.sum);
      return static_cast<T>(static_cast<std::int64_t>(best.sum) / count);
    } else {
      return narrow<T>(best.sum / static_cast<Wide<T>>(count));
    }
  }
};

/// The largest element and its index in the image. NaN is the largest.
template <class T>
struct Most {
  using Element = T;
  struct Best {
    Wide<T> value;
    std::int64_t place;
  };
  static void start(Best& best, std::int64_t place) noexcept {
    using Limits = std::numeric_limits<Wide<T>>;
    best = {Limits::has_infinity ? -Limits::infinity() : Limits::lowest(), place};
  }
  static void take(Best& best, T element, std::int64_t place) noexcept {
    const Wide<T> value = widen(element);
    if (value > best.value || value != value) best = {value, place};
  }
  static T finish(const Best& best, std::int64_t) noexcept { return narrow<T>(best.value); }
};

/// The divisor of an average of `count` elements.
[[nodiscard]] inline std::int64_t divisor_of(const Pooling& p, const std::array<Window, 3>& windows,
                                             std::int64_t count) noexcept {
  if (p.divisor != 0) return p.divisor;
  return p.counts_padding ? windows[0].padded * windows[1].padded * windows[2].padded : count;
}

/// One element of the result for `lanes` channels, which are adjacent if there are several.
template <class Kind, bool several, class T = typename Kind::Element>
void pool_position(const Pooling& p, const std::array<Window, 3>& windows, const T* in, T* out,
                   std::int64_t* indices, typename Kind::Best* lane_best) {
  const std::int64_t lanes = several ? p.channels : 1;
  // In registers, where there is one.
  typename Kind::Best only;
  typename Kind::Best* const best = several ? lane_best : &only;
  const auto& [z, y, x] = windows;
  const std::int64_t height = p.axes[1].in;
  const std::int64_t width = p.axes[2].in;
  std::int64_t count = 0;
  for (std::int64_t c = 0; c < lanes; ++c) {
    Kind::start(best[c], (z.first * height + y.first) * width + x.first);
  }
  for (std::int64_t d = z.first; d < z.end; d += z.step) {
    for (std::int64_t h = y.first; h < y.end; h += y.step) {
      const T* row = in + d * p.in_strides[2] + h * p.in_strides[3];
      const std::int64_t place = (d * height + h) * width;
      for (std::int64_t w = x.first; w < x.end; w += x.step) {
        const T* at = row + w * p.in_strides[4];
        for (std::int64_t c = 0; c < lanes; ++c) Kind::take(best[c], at[c], place + w);
        ++count;
      }
    }
  }
  count = divisor_of(p, windows, count);
  for (std::int64_t c = 0; c < lanes; ++c) {
    out[c] = Kind::finish(best[c], count);
    if constexpr (requires { best->place; }) indices[c] = best[c].place;
  }
}

/// Calls `visit` for each row of the results of each of `channels` channels, with the windows of
/// the two outer dimensions and the offsets of its image, its first result and its first index.
template <class Visit>
void for_rows(const Pooling& p, std::int64_t channels, const Visit& visit) {
  for (std::int64_t image = 0; image < p.batch * channels; ++image) {
    const std::int64_t n = image / channels;
    const std::int64_t c = image % channels;
    const auto start = [&](const Strides& strides) { return n * strides[0] + c * strides[1]; };
    std::array<Window, 3> windows{};
    for (std::int64_t d = 0; d < p.axes[0].out; ++d) {
      windows[0] = p.axes[0].window(d);
      for (std::int64_t h = 0; h < p.axes[1].out; ++h) {
        windows[1] = p.axes[1].window(h);
        const auto at = [&](const Strides& strides) {
          return start(strides) + d * strides[2] + h * strides[3];
        };
        visit(windows, start(p.in_strides), at(p.out_strides), at(p.index_strides));
      }
    }
  }
}

/// Calls `visit` for each result, with the windows of all three dimensions.
template <class Visit>
void for_results(const Pooling& p, std::int64_t channels, const Visit& visit) {
  for_rows(p, channels,
           [&](std::array<Window, 3> windows, std::int64_t image, std::int64_t result,
               std::int64_t index) {
             for (std::int64_t w = 0; w < p.axes[2].out; ++w) {
               windows[2] = p.axes[2].window(w);
               visit(windows, image, result + w * p.out_strides[4], index + w * p.index_strides[4]);
             }
           });
}

template <class Kind, bool several, class T = typename Kind::Element>
void pool_all(const Pooling& p, const T* in, T* out, std::int64_t* indices,
              typename Kind::Best* best) {
  for_results(p, several ? 1 : p.channels,
              [&](const std::array<Window, 3>& windows, std::int64_t image, std::int64_t result,
                  std::int64_t index) {
                pool_position<Kind, several>(p, windows, in + image, out + result,
                                             indices ? indices + index : nullptr, best);
              });
}

/// True where `pool_rows` computes a pooling of floats: adjacent channels, enough for vectors, and
/// images whose indices have 31 bits.
[[nodiscard]] inline bool has_rows(const Pooling& p) noexcept {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return p.channels >= 8 && p.in_strides[1] == 1 && p.out_strides[1] == 1 &&
         p.axes[0].in <= most / p.axes[1].in / p.axes[2].in;
}

/// As `pool_all`, for rows of adjacent channels. `row` has place for a row of sums, and `places`
/// for one of indices, which averages do not use.
template <class Kind, class T = typename Kind::Element>
void pool_rows(const Pooling& p, const T* in, T* out, std::int64_t* indices, float* row,
               std::int32_t* places) {
  constexpr bool is_most = std::is_same_v<Kind, Most<T>>;
  const std::int64_t height = p.axes[1].in;
  const std::int64_t width = p.axes[2].in;
  for_results(
      p, 1,
      [&](const std::array<Window, 3>& windows, std::int64_t image, std::int64_t result,
          std::int64_t index) {
        const auto& [z, y, x] = windows;
        const auto first =
            static_cast<std::int32_t>((z.first * height + y.first) * width + x.first);
        float* best = row;
        if constexpr (std::is_same_v<T, float>) best = out + result;
        std::int64_t count = 0;
        std::array<const T*, most_rows> rows;
        std::array<std::int32_t, most_rows> place_of;
        std::int64_t collected = 0;
        const auto start = [&] {
          if constexpr (is_most) std::fill_n(places, p.channels, first);
          std::fill_n(best, p.channels, is_most ? -std::numeric_limits<float>::infinity() : 0.0f);
        };
        const auto take = [&] {
          if (count == 0) start();
          if constexpr (is_most) {
            take_most(rows.data(), place_of.data(), collected, p.channels, best, places);
          } else {
            add_rows(rows.data(), nullptr, collected, p.channels, best);
          }
          count += std::exchange(collected, 0);
        };
        for (std::int64_t d = z.first; d < z.end; d += z.step) {
          for (std::int64_t h = y.first; h < y.end; h += y.step) {
            for (std::int64_t w = x.first; w < x.end; w += x.step) {
              const auto at = static_cast<std::size_t>(collected++);
              rows[at] =
                  in + image + d * p.in_strides[2] + h * p.in_strides[3] + w * p.in_strides[4];
              place_of[at] = static_cast<std::int32_t>((d * height + h) * width + w);
              if (at + 1 == most_rows) take();
            }
          }
        }
        if constexpr (is_most) {
          if (count == 0 && has_largest_of_rows()) {
            largest_of_rows(rows.data(), place_of.data(), collected, p.channels, first,
                            out + result, indices + index);
            return;
          }
        }
        take();
        if constexpr (is_most) {
          widen_row(places, p.channels, indices + index);
        } else {
          divide_row(best, p.channels, static_cast<float>(divisor_of(p, windows, count)));
        }
        if constexpr (!std::is_same_v<T, float>) narrow_row(best, p.channels, out + result);
      });
}

}  // namespace tenon::cpu_aoti
