// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "tenon/abi/backend.h"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Bytes that a table of `stated` bytes shares with one of `known` bytes. A size that ends inside a
/// pointer counts without it: half a pointer is not usable.
[[nodiscard]] constexpr std::size_t shared_size(std::size_t stated, std::size_t known) noexcept {
  return (stated < known ? stated : known) / sizeof(void*) * sizeof(void*);
}

}  // namespace detail

/// The host's own full copy of a plugin's table: members that the plugin lacks, because it is older
/// or left them NULL, are stubs; members beyond those known here are dropped (TN-BCK-3).
/// InvalidArgument when one of the five required functions is missing.
[[nodiscard]] Result<tenon_backend_api> complete_api(const tenon_backend_api& theirs,
                                                     std::string_view id);

/// A plugin's extension table as the host knows it: `size` bytes of `Table`, the tail zero when the
/// plugin's is shorter. Members that a shorter table lacks read as NULL.
template <class Table>
[[nodiscard]] Table complete_table(const void* theirs) noexcept {
  Table full{};
  std::uint32_t size = 0;
  std::memcpy(&size, theirs, sizeof size);
  std::memcpy(&full, theirs, detail::shared_size(size, sizeof full));
  full.struct_size = sizeof full;
  return full;
}

}}}  // namespace tenon::TENON_RELEASE::host
