// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/vectors/vector_level.hpp"

#if defined(__x86_64__)

namespace tenon::cpu_aoti {

/// Has the processor fetch `count` elements from memory, at least one. Always inlined, as all that
/// do nothing else must be: gcc takes them for functions without effects and drops their calls.
template <class T>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline void prefetch(const T* from,
                                                                std::int64_t count) noexcept {
  constexpr std::int64_t in_line = 64 / sizeof(T);
  for (std::int64_t i = 0; i < count; i += in_line) {
    _mm_prefetch(reinterpret_cast<const char*>(from + i), _MM_HINT_T0);
  }
  // They may end in one more line than they would fill.
  _mm_prefetch(reinterpret_cast<const char*>(from + count - 1), _MM_HINT_T0);
}

/// Fetches the line that comes 2 KiB after `from`, which may be after the last weight: fetching
/// does not fault. For weights that are read in order, because processors do not look ahead into
/// the next page.
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline void prefetch_ahead(const void* from) noexcept {
  constexpr std::uintptr_t distance = 2048;
  const auto place = reinterpret_cast<std::uintptr_t>(from) + distance;
  _mm_prefetch(reinterpret_cast<const char*>(place), _MM_HINT_T0);
}

}  // namespace tenon::cpu_aoti

#endif
