// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "tenon/core/scalar_type.hpp"

namespace tenon::inline TENON_RELEASE::host {

/// Shape of a tensor as a file states it. The spans point into the file.
struct StoredTensorLayout {
  ScalarType scalar_type = ScalarType::Byte;
  std::span<const std::int32_t> sizes;
  std::span<const std::uint8_t> dim_order;  ///< From the outermost dimension to the innermost.

  [[nodiscard]] std::uint64_t numel() const noexcept {
    std::uint64_t numel = 1;
    for (const auto size : sizes) numel *= static_cast<std::uint64_t>(size);
    return numel;
  }
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return numel() * size_of(scalar_type); }
};

}  // namespace tenon::inline TENON_RELEASE::host
