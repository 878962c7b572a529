// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>

#include "parallel.hpp"

namespace tenon::cpu_aoti {

/// The number of bytes that a product of `rows` rows reads when its weights have `nbytes`: kernels
/// read them once for four rows. The largest number when it does not fit.
[[nodiscard]] constexpr std::int64_t bytes_read(std::int64_t nbytes, std::int64_t rows) noexcept {
  const std::int64_t times = rows < 4 ? 1 : rows / 4;
  std::int64_t out = 0;
  return __builtin_mul_overflow(nbytes, times, &out) ? std::numeric_limits<std::int64_t>::max()
                                                     : out;
}

/// Calls `work(begin, end)` for parts of [0, count), on as many threads as a model may use when
/// `cost`, the number of bytes to read, is worth it, else on the calling thread. Each part but the
/// last is a multiple of `step`.
template <class Work>
void in_parts(std::int64_t count, std::int64_t step, std::int64_t cost, const Work& work) {
  // Below it, waking threads takes longer than the work.
  constexpr std::int64_t least_bytes = 1 << 18;
  const std::int64_t steps = (count + step - 1) / step;
  const std::int64_t threads = num_threads();
  if (cost >= least_bytes && threads > 1 && steps > 1) {
    const std::int64_t each = (steps + threads - 1) / threads * step;
    in_parallel(threads, [&](std::int64_t part) {
      const std::int64_t begin = part * each;
      const std::int64_t end = begin + each < count ? begin + each : count;
      if (begin < end) work(begin, end);
    });
    return;
  }
  work(0, count);
}

}  // namespace tenon::cpu_aoti
