// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/elements.hpp"

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

/// One element of the result for `lanes` channels, which are adjacent if there are several.
template <class Kind, bool several, class T = typename Kind::Element>
void pool_position(const Pooling& p, const std::array<Window, 3>& windows, const T* in, T* out,
                   std::int64_t* indices, typename Kind::Best* best) {
  const std::int64_t lanes = several ? p.channels : 1;
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
  if (p.divisor != 0) {
    count = p.divisor;
  } else if (p.counts_padding) {
    count = z.padded * y.padded * x.padded;
  }
  for (std::int64_t c = 0; c < lanes; ++c) {
    out[c] = Kind::finish(best[c], count);
    if constexpr (requires { best->place; }) indices[c] = best[c].place;
  }
}

template <class Kind, bool several, class T = typename Kind::Element>
void pool_all(const Pooling& p, const T* in, T* out, std::int64_t* indices,
              typename Kind::Best* best) {
  const std::int64_t channels = several ? 1 : p.channels;
  for (std::int64_t image = 0; image < p.batch * channels; ++image) {
    const std::int64_t n = image / channels;
    const std::int64_t c = image % channels;
    const auto start = [&](const Strides& strides) { return n * strides[0] + c * strides[1]; };
    std::array<Window, 3> windows;
    for (std::int64_t d = 0; d < p.axes[0].out; ++d) {
      windows[0] = p.axes[0].window(d);
      for (std::int64_t h = 0; h < p.axes[1].out; ++h) {
        windows[1] = p.axes[1].window(h);
        for (std::int64_t w = 0; w < p.axes[2].out; ++w) {
          windows[2] = p.axes[2].window(w);
          const auto at = [&](const Strides& strides) {
            return start(strides) + d * strides[2] + h * strides[3] + w * strides[4];
          };
          pool_position<Kind, several>(p, windows, in + start(p.in_strides),
                                       out + at(p.out_strides),
                                       indices ? indices + at(p.index_strides) : nullptr, best);
        }
      }
    }
  }
}

}  // namespace tenon::cpu_aoti
