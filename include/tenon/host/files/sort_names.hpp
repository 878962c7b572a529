// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/api.hpp"

namespace tenon::host::detail {

/// Moves `items[root]` of a heap down until neither of its children is larger.
template <class T>
TENON_COLD void sift_down(T* items, std::size_t root, std::size_t count) {
  for (std::size_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
    if (child + 1 < count && items[child] < items[child + 1]) ++child;
    if (!(items[root] < items[child])) return;
    std::swap(items[root], items[child]);
    root = child;
  }
}

/// Sorts lists that are short or mostly in order: a heap sort, unless they are in order already.
/// Each `std::sort` of another type is 3 to 7 KB of code that every application compiles, this one
/// is a tenth of it.
template <class T>
TENON_COLD void sort_list(T* items, std::size_t count) {
  std::size_t in_order = 1;
  while (in_order < count && !(items[in_order] < items[in_order - 1])) ++in_order;
  if (in_order >= count) return;
  for (std::size_t root = count / 2; root-- > 0;) sift_down(items, root, count);
  for (std::size_t last = count; --last > 0;) {
    std::swap(items[0], items[last]);
    sift_down(items, 0, last);
  }
}

/// Sorts names by their bytes.
TENON_API void sort_names(std::vector<std::string_view>& names);

}  // namespace tenon::host::detail

#if TENON_HOST_DEFINITIONS

namespace tenon::host::detail {

TENON_COLD TENON_API void sort_names(std::vector<std::string_view>& names) {
  sort_list(names.data(), names.size());
}

}  // namespace tenon::host::detail

#endif  // TENON_HOST_DEFINITIONS
