// SPDX-License-Identifier: MIT
#include "strided.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tenon::run {
namespace {

// Calls `copy(dense, strided)` with the byte offsets of each element, in C order.
template <class Copy>
void for_each(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
              std::size_t item_size, const Copy& copy) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return;
  std::vector<std::int64_t> index(sizes.size(), 0);
  std::int64_t strided = 0;
  for (std::size_t dense = 0;; dense += item_size) {
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

}  // namespace

void gather(std::byte* out, const std::byte* in, std::span<const std::int64_t> sizes,
            std::span<const std::int64_t> strides, std::size_t item_size) {
  for_each(sizes, strides, item_size, [&](std::size_t dense, std::size_t strided) {
    std::memcpy(out + dense, in + strided, item_size);
  });
}

void scatter(std::byte* out, const std::byte* in, std::span<const std::int64_t> sizes,
             std::span<const std::int64_t> strides, std::size_t item_size) {
  for_each(sizes, strides, item_size, [&](std::size_t dense, std::size_t strided) {
    std::memcpy(out + strided, in + dense, item_size);
  });
}

}  // namespace tenon::run
