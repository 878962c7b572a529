// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tenon/core/result.hpp"

/// The files of minisign (https://jedisct1.github.io/minisign/): Ed25519 over a file, or over its
/// BLAKE2b-512.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The number of a key, as minisign stores it.
using MinisignKeyId = std::array<std::uint8_t, 8>;

/// As minisign prints it: 16 hexadecimal digits, upper case.
[[nodiscard]] std::string key_id_text(const MinisignKeyId& id);

/// A publisher's public key.
struct MinisignKey {
  MinisignKeyId id{};
  std::array<std::uint8_t, 32> bytes{};
};

/// The text of a signature, taken apart. Nothing of it is checked yet.
struct MinisignSignature {
  bool is_prehashed = false;  ///< 'ED', of the file's BLAKE2b-512; otherwise 'Ed', of the file.
  MinisignKeyId key_id{};
  std::array<std::uint8_t, 64> bytes{};
  std::string trusted_comment;                  ///< What the second signature covers as well.
  std::array<std::uint8_t, 64> global_bytes{};  ///< Over `bytes` and the trusted comment.
};

/// Longest text that is read as a signature, in bytes. minisign writes less than 10 KiB.
inline constexpr std::size_t max_signature_size = 16 * 1024;

/// Reads a public key: the second line of `minisign.pub`, or the whole text of that file.
///
/// threads: any. errors: InvalidArgument, with what was expected and found.
[[nodiscard]] Result<MinisignKey> parse_minisign_key(std::string_view text);

/// Reads the text of a `.minisig` file: exactly its four lines.
///
/// threads: any. errors: InvalidArgument, with the line, what was expected and found.
[[nodiscard]] Result<MinisignSignature> parse_minisign_signature(std::string_view text);

/// Checks both signatures of `signature` with `key`, whose id the caller has compared.
///
/// threads: any. errors: AccessFailed when `bytes` or the trusted comment are not what was signed;
/// NotSupported when libsodium cannot be loaded.
[[nodiscard]] Status verify_minisign(std::span<const std::byte> bytes,
                                     const MinisignSignature& signature, const MinisignKey& key);

}}}  // namespace tenon::TENON_RELEASE::host
