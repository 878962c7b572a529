// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>

namespace tenon::host {

/// Writes all of `from` at `offset` of an open file: a write that is interrupted or cut short is
/// continued. Returns false, with `errno` set, when a write fails.
[[nodiscard]] inline bool write_at(int descriptor, std::span<const std::byte> from,
                                   ::off_t offset) noexcept {
  while (!from.empty()) {
    const ::ssize_t size = ::pwrite(descriptor, from.data(), from.size(), offset);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    from = from.subspan(static_cast<std::size_t>(size));
    offset += size;
  }
  return true;
}

}  // namespace tenon::host
