// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/abi/version.h"
#include "tenon/host/platform/file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Writes all of `from` at `offset` of an open file: a write that is interrupted or cut short is
/// continued. Returns false, with `errno` set, when a write fails.
[[nodiscard]] inline bool write_at(int descriptor, std::span<const std::byte> from,
                                   std::uint64_t offset) noexcept {
  while (!from.empty()) {
    const std::ptrdiff_t size = platform::pwrite(descriptor, from.data(), from.size(), offset);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    from = from.subspan(static_cast<std::size_t>(size));
    offset += static_cast<std::uint64_t>(size);
  }
  return true;
}

}}}  // namespace tenon::TENON_RELEASE::host
