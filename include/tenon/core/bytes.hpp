// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE {

/// A view of read-only bytes.
using Bytes = std::span<const std::byte>;

/// The bytes as text. Nothing is assumed about a terminating NUL.
[[nodiscard]] inline std::string_view as_text(Bytes bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The number stored little-endian at `offset`, or nothing when it does not end within the bytes.
/// No alignment is needed.
template <class T>
  requires std::integral<T> || std::floating_point<T>
[[nodiscard]] std::optional<T> read_le(Bytes bytes, std::size_t offset = 0) noexcept {
  static_assert(std::endian::native == std::endian::little, "programs are little-endian");
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}}  // namespace tenon::TENON_RELEASE
