// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/code/embedded_code.hpp"

#include <algorithm>

#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<EmbeddedCodePolicy> EmbeddedCodePolicy::parse(std::string_view text) {
  if (text == "allow") return allow();
  if (text == "deny") return deny();
  constexpr std::string_view prefix = "sha256:";
  if (!text.starts_with(prefix)) {
    return error(Error::InvalidArgument, "the policy for embedded code is ", host::quoted(text),
                 ", expected allow, deny or sha256:HASH,HASH...");
  }
  std::vector<Sha256> hashes;
  for (std::size_t begin = prefix.size(); begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    auto hash = parse_sha256(text.substr(begin, end - begin));
    if (!hash.ok()) {
      return std::move(hash).status().with_context("the policy for embedded code");
    }
    hashes.push_back(*hash);
    begin = end + 1;
  }
  return allow_only(std::move(hashes));
}

std::string EmbeddedCodePolicy::to_string() const {
  if (kind_ == Kind::allow) return "allow";
  if (kind_ == Kind::deny) return "deny";
  std::string out = "sha256:";
  for (const Sha256& hash : hashes_)
    out += concat(&hash == hashes_.data() ? "" : ",", hash.to_hex());
  return out;
}

Status EmbeddedCodePolicy::check(std::span<const std::byte> code) const {
  if (kind_ == Kind::allow) return ok();
  if (kind_ == Kind::deny) {
    return error(Error::AccessFailed,
                 "the program carries native code, and the policy for embedded code is deny");
  }
  const Sha256 found = sha256_of(code);
  for (const Sha256& listed : hashes_) {
    if (listed == found) return ok();
  }
  return error(
      Error::AccessFailed, "the native code that the program carries (", code.size(),
      " bytes) has SHA-256 ", found.to_hex(),
      ", which the policy for embedded code does not list; trust it with sha256:", found.to_hex());
}

Status EmbeddedCodePolicy::check_backend(std::string_view id) const {
  if (kind_ != Kind::deny) return ok();
  return error(Error::AccessFailed, "backend ", id,
               " runs native code that the program carries, and the policy for embedded code is "
               "deny; trust all such code with allow, or this code alone with sha256:HASH "
               "(sha256: without a hash reports the one to give)");
}

}}}  // namespace tenon::TENON_RELEASE::host
