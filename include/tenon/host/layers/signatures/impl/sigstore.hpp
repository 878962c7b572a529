// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/signatures/sigstore.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/json.hpp"
#include "tenon/host/layers/discovery/impl/hand_written_json.hpp"
#include "tenon/host/layers/signatures/impl/base64.hpp"
#include "tenon/host/layers/signatures/impl/sodium.hpp"
#include "tenon/host/layers/signatures/minisign.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

inline constexpr std::string_view bundle_type = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// The first bytes of an Ed25519 key in DER (RFC 8410); 32 follow.
inline constexpr std::array<std::uint8_t, 12> ed25519_prefix{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                             0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

/// Of a public key in DER that is not Ed25519, for messages.
inline std::string key_kind(std::span<const std::uint8_t> der) {
  const struct {
    std::vector<std::uint8_t> id;
    std::string_view name;
  } kinds[] = {
      {{0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07}, "ECDSA P-256"},
      {{0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01}, "ECDSA"},
      {{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01}, "RSA"},
  };
  for (const auto& [id, name] : kinds) {
    const bool has_it = std::search(der.begin(), der.end(), id.begin(), id.end()) != der.end();
    if (has_it) return concat("an ", name, " key");
  }
  return concat(der.size(), " bytes of another kind");
}

/// Turns JSON into a bundle.
class BundleReader {
 public:
  [[nodiscard]] static Result<SigstoreBundle> read(const JsonAt& root) {
    TENON_RETURN_IF_ERROR(check_keys(
        root, {"mediaType", "verificationMaterial", "messageSignature", "dsseEnvelope"}));
    TENON_TRY(const JsonAt type, root.member("mediaType", bundle_type));
    TENON_RETURN_IF_ERROR(check_is(type, bundle_type));
    SigstoreBundle out;
    TENON_TRY(const JsonAt material, root.member("verificationMaterial"));
    TENON_TRY(out.hint, read_hint(material));
    if (const auto statement = root.find("dsseEnvelope")) {
      return statement->not_supported("is not checked, expected messageSignature");
    }
    TENON_TRY(const JsonAt message, root.member("messageSignature"));
    TENON_RETURN_IF_ERROR(read_message(message, out));
    return out;
  }

 private:
  static Result<std::string> read_hint(const JsonAt& at) {
    TENON_RETURN_IF_ERROR(check_keys(at, {"publicKey", "certificate", "x509CertificateChain",
                                          "tlogEntries", "timestampVerificationData"}));
    for (const std::string_view key : {"certificate", "x509CertificateChain"}) {
      if (const auto found = at.find(key)) {
        return found->not_supported("is not checked, expected publicKey");
      }
    }
    TENON_TRY(const JsonAt key, at.member("publicKey"));
    TENON_RETURN_IF_ERROR(check_keys(key, {"hint"}));
    TENON_TRY(const JsonAt hint, key.member("hint", "the SHA-256 of the key in base64"));
    return printable_text(hint);
  }

  static Status read_message(const JsonAt& at, SigstoreBundle& out) {
    TENON_RETURN_IF_ERROR(check_keys(at, {"messageDigest", "signature"}));
    TENON_TRY(const JsonAt digest, at.member("messageDigest"));
    TENON_RETURN_IF_ERROR(check_keys(digest, {"algorithm", "digest"}));
    TENON_TRY(const JsonAt algorithm, digest.member("algorithm"));
    TENON_RETURN_IF_ERROR(check_is(algorithm, "SHA2_256"));
    TENON_TRY(const JsonAt hash_at, digest.member("digest"));
    TENON_TRY(const auto hash, read_bytes(hash_at));
    if (hash.size() != out.digest.bytes.size()) {
      return hash_at.wrong("has ", hash.size(), " bytes, expected ", out.digest.bytes.size());
    }
    std::ranges::copy(hash, out.digest.bytes.begin());
    TENON_TRY(const JsonAt signature, at.member("signature"));
    TENON_TRY(out.bytes, read_bytes(signature));
    return ok();
  }

  static Status check_is(const JsonAt& at, std::string_view expected) {
    TENON_TRY(const std::string_view text, at.characters());
    if (text == expected) return ok();
    return at.wrong("is ", host::quoted(text), ", expected '", expected, "'");
  }

  static Result<std::vector<std::uint8_t>> read_bytes(const JsonAt& at) {
    TENON_TRY(const std::string_view text, at.characters());
    if (auto bytes = from_base64(text)) return *std::move(bytes);
    return at.wrong("expected base64, found ", host::quoted(text));
  }
};

}  // namespace detail

Result<SigstoreKey> parse_sigstore_key(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::string_view next = detail::take_line(text);
    if (!next.starts_with("-----")) line += next;
  }
  const auto wrong = [](const auto& found) {
    return error(Error::InvalidArgument, "a public key of sigstore: expected an Ed25519 key of ",
                 detail::ed25519_prefix.size() + SigstoreKey().bytes.size(),
                 " bytes in base64, found ", found);
  };
  const auto der = detail::from_base64(line);
  if (!der) return wrong(quoted(line));
  SigstoreKey out;
  if (der->size() != detail::ed25519_prefix.size() + out.bytes.size() ||
      !std::ranges::equal(detail::ed25519_prefix,
                          std::span(*der).first(detail::ed25519_prefix.size()))) {
    return wrong(detail::key_kind(*der));
  }
  std::ranges::copy(std::span(*der).last(out.bytes.size()), out.bytes.begin());
  out.hint = detail::to_base64(sha256_of(std::as_bytes(std::span(*der))).bytes);
  return out;
}

Result<SigstoreBundle> parse_sigstore_bundle(std::string_view text) {
  JsonLimits limits;
  limits.bytes = max_signature_size;
  TENON_TRY(const auto json, parse_json(text, limits));
  return detail::BundleReader::read(JsonAt(json, "", Error::InvalidArgument));
}

Status verify_sigstore(std::span<const std::byte> bytes, const SigstoreBundle& bundle,
                       const SigstoreKey& key) {
  TENON_TRY(const detail::Sodium* const sodium, detail::Sodium::loaded());
  constexpr std::string_view changed = "the file is not what was signed";
  if (const Sha256 found = sha256_of(bytes); found != bundle.digest) {
    return error(Error::AccessFailed, changed, ": its SHA-256 is ", found.to_hex(), ", expected ",
                 bundle.digest.to_hex());
  }
  constexpr std::size_t size = 64;
  if (bundle.bytes.size() != size) {
    return error(Error::AccessFailed, "the signature has ", bundle.bytes.size(),
                 " bytes, expected the ", size, " of Ed25519");
  }
  const auto signature = std::span(bundle.bytes).first<size>();
  // A bundle does not say which of the two it is. A signature of one kind is none of the other.
  if (sodium->verify(signature, bytes, key.bytes) ||
      sodium->verify_prehashed(signature, bytes, key.bytes)) {
    return ok();
  }
  return error(Error::AccessFailed, changed);
}

}}}  // namespace tenon::TENON_RELEASE::host
