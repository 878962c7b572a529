// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "tenon/core/scalar_type.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

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

/// Files state sizes in 32 bits, and the boundary and the C interface in 64. This keeps the wide
/// copies at their addresses. Equal sizes share one copy. Any thread.
class WideSizes {
 public:
  /// Valid while this object lives.
  [[nodiscard]] const std::int64_t* keep(std::span<const std::int32_t> sizes) {
    const std::lock_guard lock(mutex_);
    return kept_.emplace(sizes.begin(), sizes.end()).first->data();
  }

 private:
  std::mutex mutex_;
  std::set<std::vector<std::int64_t>> kept_;
};

}}}  // namespace tenon::TENON_RELEASE::host
