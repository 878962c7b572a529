// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE {

/// Limits of the cost of one JSON text. A value of JSON takes up to 50 times its text in memory.
struct JsonLimits {
  std::uint64_t bytes = std::uint64_t{16} << 20;  ///< Of the text.
  std::uint64_t values = 1'000'000;               ///< Objects, arrays, texts, numbers; not keys.
  std::size_t depth = 16;                         ///< Objects and arrays in each other.
};

}}  // namespace tenon::TENON_RELEASE
