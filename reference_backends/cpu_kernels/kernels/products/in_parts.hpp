// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "parallel.hpp"
#include "tenon/aoti/shims/call.hpp"

namespace tenon::cpu_aoti {

/// Weights of as many bytes do not fit into the second-level cache.
inline constexpr std::int64_t large_bytes = 1 << 20;

/// The number of bytes that a product of `rows` rows reads when its weights have `nbytes`: kernels
/// read them once for four rows. The largest number when it does not fit.
[[nodiscard]] constexpr std::int64_t bytes_read(std::int64_t nbytes, std::int64_t rows) noexcept {
  const std::int64_t times = rows < 4 ? 1 : rows / 4;
  std::int64_t out = 0;
  return __builtin_mul_overflow(nbytes, times, &out) ? std::numeric_limits<std::int64_t>::max()
                                                     : out;
}

/// The number of columns of `nbytes` each, a multiple of `step`, that stay in the second-level
/// cache while several rows are multiplied with them.
[[nodiscard]] constexpr std::int64_t columns_in_cache(std::int64_t nbytes,
                                                      std::int64_t step) noexcept {
  constexpr std::int64_t most_bytes = 1 << 17;
  return std::max<std::int64_t>(most_bytes / std::max<std::int64_t>(nbytes, 1) / step, 1) * step;
}

/// Calls `work(begin, end)` for parts of [0, count), on as many threads as a model may use when
/// `cost`, the number of bytes to read, is worth it, else on the calling thread. Each part but the
/// last is a multiple of `step`. Of a run that can be cancelled large parts are divided further,
/// and none begins once it was: the caller looks at the flag then.
template <class Work>
void in_parts(std::int64_t count, std::int64_t step, std::int64_t cost, const Work& work) {
  // Below it, waking threads takes longer than the work.
  constexpr std::int64_t least_bytes = 1 << 18;
  // About a millisecond.
  constexpr std::int64_t most_bytes = 1 << 23;
  const std::int64_t steps = (count + step - 1) / step;
  const std::int64_t threads = num_threads();
  const CancelFlag cancelled = aoti::cancel_flag();
  const std::int64_t block = cancelled.exists() && cost > most_bytes
                                 ? std::max<std::int64_t>(steps / (cost / most_bytes), 1) * step
                                 : count;
  const auto work_on = [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end && !cancelled.is_set(); begin += block) {
      work(begin, std::min(begin + block, end));
    }
  };
  if (cost >= least_bytes && threads > 1 && steps > 1) {
    const std::int64_t each = (steps + threads - 1) / threads * step;
    in_parallel(threads, [&](std::int64_t part) {
      const std::int64_t begin = part * each;
      work_on(begin, std::min(begin + each, count));
    });
    return;
  }
  work_on(0, count);
}

}  // namespace tenon::cpu_aoti
