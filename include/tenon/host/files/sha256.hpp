// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"

/// SHA-256 of files, and as text.
namespace tenon::host {

/// Reads 64 hexadecimal digits of either case. InvalidArgument says what was found instead.
[[nodiscard]] TENON_API Result<Sha256> parse_sha256(std::string_view text);

/// Hashes the whole file behind `descriptor`, from its beginning; the position of the descriptor is
/// not used. AccessFailed when it cannot be read.
[[nodiscard]] TENON_API Result<Sha256> sha256_of_file(int descriptor);

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "tenon/host/files/quoted.hpp"
#include "tenon/host/platform/file.hpp"

namespace tenon::host {

TENON_API Result<Sha256> parse_sha256(std::string_view text) {
  const auto value = [](char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
  };
  Sha256 out;
  if (text.size() != 2 * out.bytes.size()) {
    return error(Error::InvalidArgument, "a SHA-256 has 64 hexadecimal digits, found ", text.size(),
                 " characters: ", host::quoted(text));
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int digit = value(text[i]);
    if (digit < 0) {
      return error(Error::InvalidArgument, "a SHA-256 has 64 hexadecimal digits, found ",
                   host::quoted(text.substr(i, 1)), " at position ", i);
    }
    out.bytes[i / 2] = static_cast<std::uint8_t>(out.bytes[i / 2] << 4 | digit);
  }
  return out;
}

TENON_API Result<Sha256> sha256_of_file(int descriptor) {
  constexpr std::size_t piece = 256 * 1024;
  const auto buffer = std::make_unique<std::byte[]>(piece);
  Sha256Hasher hasher;
  for (std::uint64_t offset = 0;;) {
    const std::ptrdiff_t size = platform::pread(descriptor, buffer.get(), piece, offset);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      return error(Error::AccessFailed, "cannot read the file to hash it: ", std::strerror(errno));
    }
    if (size == 0) return hasher.finish();
    hasher.update({buffer.get(), static_cast<std::size_t>(size)});
    offset += static_cast<std::uint64_t>(size);
  }
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
