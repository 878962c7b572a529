// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

// Calls `copy(dense, strided)` with the byte offsets of each element, in C order, for as long as
// `dense` is below `end`.
template <class Copy>
void for_each_strided(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
                      std::size_t item_size, std::size_t end, const Copy& copy) {
  for (const std::int64_t size : sizes) {
    if (size == 0) return;
  }
  std::vector<std::int64_t> index(sizes.size(), 0);
  std::int64_t strided = 0;
  for (std::size_t dense = 0; dense < end; dense += item_size) {
    copy(dense, static_cast<std::size_t>(strided) * item_size);
    std::size_t i = sizes.size();
    while (i > 0) {
      --i;
      strided += strides[i];
      if (++index[i] < sizes[i]) break;
      strided -= strides[i] * sizes[i];
      index[i] = 0;
      if (i == 0) return;
    }
    if (sizes.empty()) return;
  }
}

}  // namespace detail

/// Copies a strided array to C order. `sizes` and `strides` (in elements) belong to `in`; `out`
/// holds all elements, of `item_size` bytes each, or only those in the first `nbytes` bytes.
inline void gather(std::byte* out, const std::byte* in, std::span<const std::int64_t> sizes,
                   std::span<const std::int64_t> strides, std::size_t item_size,
                   std::size_t nbytes = SIZE_MAX) {
  detail::for_each_strided(sizes, strides, item_size, nbytes,
                           [&](std::size_t dense, std::size_t strided) {
                             std::memcpy(out + dense, in + strided, item_size);
                           });
}

/// The inverse of `gather`: copies an array in C order to a strided one.
inline void scatter(std::byte* out, const std::byte* in, std::span<const std::int64_t> sizes,
                    std::span<const std::int64_t> strides, std::size_t item_size) {
  detail::for_each_strided(sizes, strides, item_size, SIZE_MAX,
                           [&](std::size_t dense, std::size_t strided) {
                             std::memcpy(out + strided, in + dense, item_size);
                           });
}

}}}  // namespace tenon::TENON_RELEASE::host
