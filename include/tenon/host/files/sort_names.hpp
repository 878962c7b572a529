// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

#include "tenon/core/api.hpp"

namespace tenon::host::detail {

/// Sorts names by their bytes. One function for all of them: each `std::sort` of another type is 3
/// to 7 KB of code that every application compiles.
TENON_API void sort_names(std::vector<std::string_view>& names);

}  // namespace tenon::host::detail

#if TENON_HOST_DEFINITIONS

#include <algorithm>

namespace tenon::host::detail {

TENON_COLD TENON_API void sort_names(std::vector<std::string_view>& names) {
  std::sort(names.begin(), names.end());
}

}  // namespace tenon::host::detail

#endif  // TENON_HOST_DEFINITIONS
