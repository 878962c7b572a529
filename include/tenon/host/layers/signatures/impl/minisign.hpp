// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/signatures/minisign.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/host/layers/signatures/impl/base64.hpp"
#include "tenon/host/layers/signatures/impl/sodium.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

inline constexpr std::string_view untrusted_prefix = "untrusted comment: ";
inline constexpr std::string_view trusted_prefix = "trusted comment: ";

/// Reads pieces of a line of base64 in their order.
class MinisignBytes {
 public:
  explicit MinisignBytes(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}
  template <std::size_t Size>
  void take(std::array<std::uint8_t, Size>& out) {
    std::copy_n(bytes_.begin() + at_, Size, out.begin());
    at_ += static_cast<std::ptrdiff_t>(Size);
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::ptrdiff_t at_ = 0;
};

inline Result<MinisignBytes> minisign_bytes(std::string_view line, std::size_t size,
                                            std::string_view what) {
  auto bytes = from_base64(line);
  if (bytes && bytes->size() == size) return MinisignBytes(*std::move(bytes));
  return error(Error::InvalidArgument, what, ": expected ", size, " bytes in base64, found ",
               bytes ? concat(bytes->size(), " bytes") : quoted(line));
}

inline Status wrong_algorithm(std::string_view what, std::string_view expected,
                              const std::array<std::uint8_t, 2>& found) {
  const std::string text(found.begin(), found.end());
  return error(Error::InvalidArgument, what, ": expected algorithm ", expected, ", found ",
               quoted(text));
}

}  // namespace detail

std::string key_id_text(const MinisignKeyId& id) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (auto byte = id.rbegin(); byte != id.rend(); ++byte) {
    out.push_back(digits[*byte >> 4]);
    out.push_back(digits[*byte & 15]);
  }
  return out;
}

Result<MinisignKey> parse_minisign_key(std::string_view text) {
  if (text.starts_with(detail::untrusted_prefix)) detail::take_line(text);
  const std::string_view line = detail::take_line(text);
  constexpr std::string_view what = "a public key of minisign";
  if (!text.empty()) {
    return error(Error::InvalidArgument, what, ": ends with ", quoted(text), ", expected one key");
  }
  MinisignKey out;
  std::array<std::uint8_t, 2> algorithm{};
  TENON_TRY(
      detail::MinisignBytes bytes,
      detail::minisign_bytes(line, algorithm.size() + out.id.size() + out.bytes.size(), what));
  bytes.take(algorithm);
  bytes.take(out.id);
  bytes.take(out.bytes);
  if (algorithm != std::array<std::uint8_t, 2>{'E', 'd'}) {
    return detail::wrong_algorithm(what, "'Ed'", algorithm);
  }
  return out;
}

Result<MinisignSignature> parse_minisign_signature(std::string_view text) {
  const auto wrong = [](const auto&... pieces) { return error(Error::InvalidArgument, pieces...); };
  if (text.size() > max_signature_size) {
    return wrong("a signature of ", text.size(), " bytes, expected at most ", max_signature_size);
  }
  const std::string_view untrusted = detail::take_line(text);
  if (!untrusted.starts_with(detail::untrusted_prefix)) {
    return wrong("line 1: expected '", detail::untrusted_prefix, "...', found ", quoted(untrusted));
  }
  MinisignSignature out;
  std::array<std::uint8_t, 2> algorithm{};
  TENON_TRY(
      detail::MinisignBytes bytes,
      detail::minisign_bytes(detail::take_line(text),
                             algorithm.size() + out.key_id.size() + out.bytes.size(), "line 2"));
  bytes.take(algorithm);
  bytes.take(out.key_id);
  bytes.take(out.bytes);
  out.is_prehashed = algorithm == std::array<std::uint8_t, 2>{'E', 'D'};
  if (!out.is_prehashed && algorithm != std::array<std::uint8_t, 2>{'E', 'd'}) {
    return detail::wrong_algorithm("line 2", "'Ed' or 'ED'", algorithm);
  }
  const std::string_view trusted = detail::take_line(text);
  if (!trusted.starts_with(detail::trusted_prefix)) {
    return wrong("line 3: expected '", detail::trusted_prefix, "...', found ", quoted(trusted));
  }
  out.trusted_comment = trusted.substr(detail::trusted_prefix.size());
  if (out.trusted_comment.find('\0') != std::string::npos) {
    return wrong("line 3: holds a NUL character");
  }
  TENON_TRY(detail::MinisignBytes global,
            detail::minisign_bytes(detail::take_line(text), out.global_bytes.size(), "line 4"));
  global.take(out.global_bytes);
  if (!text.empty()) return wrong("line 5: expected the end, found ", quoted(text));
  return out;
}

Status verify_minisign(std::span<const std::byte> bytes, const MinisignSignature& signature,
                       const MinisignKey& key) {
  TENON_TRY(const detail::Sodium* const sodium, detail::Sodium::loaded());
  detail::Sodium::Digest digest{};
  std::span<const std::byte> message = bytes;
  if (signature.is_prehashed) {
    TENON_TRY(digest, sodium->blake2b(bytes));
    message = std::as_bytes(std::span(digest));
  }
  if (!sodium->verify(signature.bytes, message, key.bytes)) {
    return error(Error::AccessFailed, "the file is not what was signed");
  }
  std::vector<std::byte> global;
  const auto append = [&](std::span<const std::byte> more) {
    global.insert(global.end(), more.begin(), more.end());
  };
  append(std::as_bytes(std::span(signature.bytes)));
  append(std::as_bytes(std::span(signature.trusted_comment)));
  if (sodium->verify(signature.global_bytes, global, key.bytes)) return ok();
  return error(Error::AccessFailed, "the trusted comment is not what was signed");
}

}}}  // namespace tenon::TENON_RELEASE::host
