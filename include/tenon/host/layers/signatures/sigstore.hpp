// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"

/// The bundles of sigstore (https://docs.sigstore.dev/about/bundle/) that a key signed, as `cosign
/// sign-blob --key` writes them: Ed25519 or Ed25519ph over a file.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A publisher's public key.
struct SigstoreKey {
  std::string hint;  ///< What bundles call it: the SHA-256 of its DER form, in base64.
  std::array<std::uint8_t, 32> bytes{};
};

/// The text of a bundle, taken apart. Nothing of it is checked yet.
struct SigstoreBundle {
  std::string hint;                 ///< Of the key.
  Sha256 digest{};                  ///< Of the file.
  std::vector<std::uint8_t> bytes;  ///< The signature.
};

/// Reads a public key: the line of base64 of a PEM file, or its whole text.
///
/// threads: any. errors: InvalidArgument, with what was expected and found.
[[nodiscard]] Result<SigstoreKey> parse_sigstore_key(std::string_view text);

/// Reads a bundle, version 0.3, in JSON. The entries of logs and the timestamps in it are not
/// looked at: the key alone decides, and they could only add conditions.
///
/// threads: any. errors: NotSupported when it is signed in a way that is not checked: by a
/// certificate, or over a statement (DSSE); InvalidArgument when it is malformed. Both with the
/// place, what was expected and found.
[[nodiscard]] Result<SigstoreBundle> parse_sigstore_bundle(std::string_view text);

/// Checks `bundle` with `key`, whose hint the caller has compared.
///
/// threads: any. errors: AccessFailed when `bytes` are not what was signed; NotSupported when
/// libsodium cannot be loaded.
[[nodiscard]] Status verify_sigstore(std::span<const std::byte> bytes, const SigstoreBundle& bundle,
                                     const SigstoreKey& key);

}}}  // namespace tenon::TENON_RELEASE::host
