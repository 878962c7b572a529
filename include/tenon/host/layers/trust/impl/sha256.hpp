// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/trust/sha256.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/platform/file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<Sha256> parse_sha256(std::string_view text) {
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

Result<Sha256> sha256_of_file(int descriptor) {
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

}}}  // namespace tenon::TENON_RELEASE::host
