// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/abi/version.h"
#include "tenon/host/platform/file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Reads from `offset` of an open file into all of `to`: a read that is interrupted or cut short is
/// continued. Returns the number of bytes, fewer than `to` has where the file ends; -1, with
/// `errno` set, when a read fails.
[[nodiscard]] inline std::ptrdiff_t read_at(int descriptor, std::span<std::byte> to,
                                            std::uint64_t offset) noexcept {
  std::size_t done = 0;
  while (done < to.size()) {
    const std::ptrdiff_t size =
        platform::pread(descriptor, to.data() + done, to.size() - done, offset + done);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return size;
    if (size == 0) break;
    done += static_cast<std::size_t>(size);
  }
  return static_cast<std::ptrdiff_t>(done);
}

}}}  // namespace tenon::TENON_RELEASE::host
