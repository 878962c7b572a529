// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE {

/// Bytes of an untrusted file. Nothing here reads outside them: a number that is not
/// inside reads as 0 and a part is cut at the end, so a forgotten check cannot over-read.
class FileBytes {
 public:
  FileBytes() = default;
  explicit FileBytes(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  [[nodiscard]] std::uint64_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// Whether `size` bytes at `offset` are inside; no sum that could overflow is made.
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t size) const noexcept {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }

  /// The bytes from `offset` on, at most `size` of them.
  [[nodiscard]] FileBytes part(std::uint64_t offset,
                               std::uint64_t size = UINT64_MAX) const noexcept {
    if (offset > bytes_.size()) offset = bytes_.size();
    if (size > bytes_.size() - offset) size = bytes_.size() - offset;
    return FileBytes(
        bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)));
  }

  template <std::unsigned_integral Number>
  [[nodiscard]] Number little_endian(std::uint64_t offset) const noexcept {
    if (!holds(offset, sizeof(Number))) return 0;
    if constexpr (std::endian::native == std::endian::little) {
      // Compilers do not see a load in the loop below when they are asked for small code.
      Number value;
      std::memcpy(&value, bytes_.data() + static_cast<std::size_t>(offset), sizeof value);
      return value;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) value |= byte_at(offset + i) << (8 * i);
    return static_cast<Number>(value);
  }

  template <std::unsigned_integral Number>
  [[nodiscard]] Number big_endian(std::uint64_t offset) const noexcept {
    if (!holds(offset, sizeof(Number))) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) value = value << 8 | byte_at(offset + i);
    return static_cast<Number>(value);
  }

  [[nodiscard]] std::uint8_t u8(std::uint64_t offset) const noexcept {
    return little_endian<std::uint8_t>(offset);
  }
  [[nodiscard]] std::uint16_t u16(std::uint64_t offset) const noexcept {
    return little_endian<std::uint16_t>(offset);
  }
  [[nodiscard]] std::uint32_t u32(std::uint64_t offset) const noexcept {
    return little_endian<std::uint32_t>(offset);
  }
  [[nodiscard]] std::uint64_t u64(std::uint64_t offset) const noexcept {
    return little_endian<std::uint64_t>(offset);
  }

  /// All the bytes as characters.
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

  /// The characters at `offset` up to a NUL, or nothing when no NUL is among the next `limit`.
  [[nodiscard]] std::optional<std::string_view> c_string(std::uint64_t offset,
                                                         std::uint64_t limit) const noexcept {
    const auto characters = part(offset, limit).text();
    const auto end = characters.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    return characters.substr(0, end);
  }

 private:
  [[nodiscard]] std::uint64_t byte_at(std::uint64_t offset) const noexcept {
    return std::to_integer<std::uint64_t>(bytes_[static_cast<std::size_t>(offset)]);
  }

  std::span<const std::byte> bytes_;
};

}}  // namespace tenon::TENON_RELEASE
