// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <CommonCrypto/CommonDigest.h>
#else
#include <sha2.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/host/quoted.hpp"

/// SHA-256 (FIPS 180-4), computed by libmd, or by CommonCrypto on macOS.
namespace tenon::host {

/// A hash.
struct Sha256 {
  std::array<std::uint8_t, 32> bytes{};

  /// 64 digits, lower case.
  [[nodiscard]] std::string to_hex() const {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    for (const std::uint8_t byte : bytes) {
      out.push_back(digits[byte >> 4]);
      out.push_back(digits[byte & 15]);
    }
    return out;
  }

  friend bool operator==(const Sha256&, const Sha256&) = default;
};

/// Reads 64 hexadecimal digits of either case. InvalidArgument says what was found instead.
[[nodiscard]] inline Result<Sha256> parse_sha256(std::string_view text) {
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

namespace detail {

/// Hashes bytes that come in pieces.
class Sha256Hasher {
 public:
#if defined(__APPLE__)
  Sha256Hasher() noexcept { CC_SHA256_Init(&state_); }
  void add(std::span<const std::byte> bytes) noexcept {
    CC_SHA256_Update(&state_, bytes.data(), static_cast<CC_LONG>(bytes.size()));
  }
  [[nodiscard]] Sha256 finish() noexcept {
    Sha256 out;
    CC_SHA256_Final(out.bytes.data(), &state_);
    return out;
  }

 private:
  CC_SHA256_CTX state_;
#else
  Sha256Hasher() noexcept { ::SHA256Init(&state_); }
  void add(std::span<const std::byte> bytes) noexcept {
    ::SHA256Update(&state_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  [[nodiscard]] Sha256 finish() noexcept {
    Sha256 out;
    ::SHA256Final(out.bytes.data(), &state_);
    return out;
  }

 private:
  SHA2_CTX state_;
#endif
};

}  // namespace detail

[[nodiscard]] inline Sha256 sha256_of(std::span<const std::byte> bytes) noexcept {
  detail::Sha256Hasher hasher;
  // In pieces, because CommonCrypto counts in 32 bits.
  constexpr std::size_t piece = std::size_t{1} << 30;
  for (; bytes.size() > piece; bytes = bytes.subspan(piece)) hasher.add(bytes.first(piece));
  hasher.add(bytes);
  return hasher.finish();
}

/// Hashes the whole file behind `descriptor`, from its beginning; the position of the descriptor is
/// neither used nor moved. AccessFailed when it cannot be read.
[[nodiscard]] inline Result<Sha256> sha256_of_file(int descriptor) {
  constexpr std::size_t piece = 256 * 1024;
  const auto buffer = std::make_unique<std::byte[]>(piece);
  detail::Sha256Hasher hasher;
  for (::off_t offset = 0;;) {
    const ::ssize_t size = ::pread(descriptor, buffer.get(), piece, offset);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      return error(Error::AccessFailed, "cannot read the file to hash it: ", std::strerror(errno));
    }
    if (size == 0) return hasher.finish();
    hasher.add({buffer.get(), static_cast<std::size_t>(size)});
    offset += size;
  }
}

}  // namespace tenon::host
