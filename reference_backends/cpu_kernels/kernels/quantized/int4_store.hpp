// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/elements.hpp"
#include "kernels/quantized/weight_products.hpp"

namespace tenon::cpu_aoti {

/// Replaces the numbers of a row of a block that are not finite by PyTorch's formula, which applies
/// scale and zero to each weight: sums of a group may overflow, or multiply 0 by an infinite
/// number, where that does not.
template <int half, class T>
[[gnu::always_inline]] inline void correct_row(const Int4Weights& w, const float* x, float* out,
                                               std::int64_t column, bool pairs) noexcept {
  const std::uint8_t* const block = w.data + column * (w.inner / 2);
  for (int n = 0; n < 2 * half; ++n) {
    if (std::isfinite(out[n])) continue;
    const bool is_low = pairs ? n % 2 == 0 : n < half;
    const int d = pairs ? n / 2 : n % half;
    const T* const scales = static_cast<const T*>(w.scales) + (column + n) * 2;
    float sum = 0;
    for (std::int64_t k = 0; k < w.inner; ++k) {
      const T* const about = scales + k / w.group * w.columns * 2;
      const int q = block[k * half + d] >> (is_low ? 0 : 4) & 15;
      sum = std::fma(x[k], std::fma(static_cast<float>(q - 8), widen(about[0]), widen(about[1])),
                     sum);
    }
    out[n] = sum;
  }
}

/// Stores the numbers of a row of a block, after a correction of those that are not finite.
template <int half, class T>
[[gnu::always_inline]] inline void store_row(const Int4Weights& w, const float* x, float* total,
                                             float* out, std::int64_t column, bool pairs) noexcept {
  if (!std::all_of(total, total + 2 * half, [](float sum) { return std::isfinite(sum); })) {
    correct_row<half, T>(w, x, total, column, pairs);
  }
  std::copy_n(total, 2 * half, out + column);
}

}  // namespace tenon::cpu_aoti
