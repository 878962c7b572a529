// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/pooling_windows.hpp"

/// Poolings of images whose rows are contiguous, 16 results of a row at once.
namespace tenon::cpu_aoti {

/// True where `pool_lines` computes a pooling: contiguous rows, windows of one size, and images
/// whose indices have 31 bits.
[[nodiscard]] inline bool has_lines(const Pooling& p) noexcept {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return p.in_strides[4] == 1 && p.out_strides[4] == 1 && p.axes[2].kernel != 0 &&
         p.axes[0].in <= most / p.axes[1].in / p.axes[2].in;
}

/// Adjacent results of one row, in vectors of 16 bytes, which every processor has: at -O2 compilers
/// make none of a loop that selects.
template <class Kind>
class Line {
 public:
  static constexpr std::size_t size = 16;
  using Value = Wide<typename Kind::Element>;
  using Place = std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>;
  using Input = std::array<Value, size>;
  static constexpr bool is_most = std::is_same_v<Kind, Most<typename Kind::Element>>;
  /// An input that changes no result.
  static constexpr Value nothing = is_most ? -std::numeric_limits<Value>::infinity() : Value{0};

  /// Results are `step` elements of the input apart. Places of those outside of it wrap around.
  explicit Line(Place step) noexcept {
    for (std::size_t i = 0; i < size; ++i) {
      steps_[i / lanes][i % lanes] = static_cast<Place>(i) * step;
    }
  }

  void start() noexcept { std::fill_n(best_, vectors, Values{} + nothing); }
  void set_place(std::size_t i, Place place) noexcept { places_[i / lanes][i % lanes] = place; }

  /// The first of `input` is at `place`.
  void take(const Input& input, Place place) noexcept {
    for (std::size_t v = 0; v < vectors; ++v) {
      Values taken;
      std::memcpy(&taken, &input[v * lanes], sizeof taken);
      if constexpr (is_most) {
        const auto is_more = (taken > best_[v]) | (taken != taken);  // NaN is the largest.
        best_[v] = is_more ? taken : best_[v];
        places_[v] = is_more ? steps_[v] + place : places_[v];
      } else {
        best_[v] += taken;
      }
    }
  }

  [[nodiscard]] Value best(std::size_t i) const noexcept { return best_[i / lanes][i % lanes]; }
  [[nodiscard]] Place place(std::size_t i) const noexcept { return places_[i / lanes][i % lanes]; }

 private:
  static constexpr std::size_t nbytes = 16;
  static constexpr std::size_t lanes = nbytes / sizeof(Value);
  using Values [[gnu::vector_size(nbytes)]] = Value;
  using Places [[gnu::vector_size(nbytes)]] = Place;
  static constexpr std::size_t vectors = size / lanes;
  Values best_[vectors] = {};  // gcc ignores the attribute of an argument of std::array.
  Places places_[vectors] = {};
  Places steps_[vectors] = {};
};

/// As `pool_all`, one channel after the other.
template <class Kind, class T = typename Kind::Element>
void pool_lines(const Pooling& p, const T* in, T* out, std::int64_t* indices) {
  using Results = Line<Kind>;
  using Place = typename Results::Place;
  constexpr auto size = static_cast<std::int64_t>(Results::size);
  const Axis& axis = p.axes[2];
  Results results(static_cast<Place>(axis.stride));
  typename Results::Input values;
  const auto place_of = [&](std::int64_t d, std::int64_t h) {
    return (d * p.axes[1].in + h) * axis.in;
  };
  // Takes the elements of one row that are at one position of the windows of `count` results, the
  // first of them at `column`.
  const auto take = [&](const T* row, std::int64_t row_place, std::int64_t column,
                        std::int64_t count) {
    std::int64_t begin = 0;
    std::int64_t end = count;
    if (column < 0) begin = std::min(end, (axis.stride - 1 - column) / axis.stride);
    if (column + (end - 1) * axis.stride >= axis.in) {
      end = column >= axis.in ? 0 : (axis.in - 1 - column) / axis.stride + 1;
    }
    if (begin >= end) return;
    if (end - begin < size) values.fill(Results::nothing);
    const T* from = row + column + begin * axis.stride;
    for (std::int64_t i = begin; i < end; ++i, from += axis.stride) {
      values[static_cast<std::size_t>(i)] = widen(*from);
    }
    results.take(values, static_cast<Place>(row_place + column));
  };
  const auto compute = [&](std::array<Window, 3> windows, const T* image, std::int64_t begin,
                           std::int64_t count, T* to, std::int64_t* to_indices) {
    const auto& [z, y, x] = windows;
    results.start();
    for (std::int64_t i = 0; i < count && Results::is_most; ++i) {
      const std::int64_t first = place_of(z.first, y.first) + axis.window(begin + i).first;
      results.set_place(static_cast<std::size_t>(i), static_cast<Place>(first));
    }
    std::int64_t rows = 0;
    for (std::int64_t d = z.first; d < z.end; d += z.step) {
      for (std::int64_t h = y.first; h < y.end; h += y.step) {
        ++rows;
        const T* const row = image + d * p.in_strides[2] + h * p.in_strides[3];
        for (std::int64_t k = 0; k < axis.kernel; ++k) {
          take(row, place_of(d, h), begin * axis.stride - axis.padding + k * axis.dilation, count);
        }
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const auto lane = static_cast<std::size_t>(i);
      if constexpr (Results::is_most) {
        to[i] = narrow<T>(results.best(lane));
        to_indices[i] = static_cast<std::int64_t>(results.place(lane));
      } else {
        windows[2] = axis.window(begin + i);
        const std::int64_t columns = (x.end - x.first + x.step - 1) / x.step;
        to[i] = Kind::finish({results.best(lane)}, divisor_of(p, windows, rows * columns));
      }
    }
  };
  for_rows(p, p.channels,
           [&](const std::array<Window, 3>& windows, std::int64_t image, std::int64_t result,
               std::int64_t index) {
             for (std::int64_t begin = 0; begin < axis.out; begin += size) {
               compute(windows, in + image, begin, std::min(size, axis.out - begin),
                       out + result + begin, indices ? indices + index + begin : nullptr);
             }
           });
}

}  // namespace tenon::cpu_aoti
