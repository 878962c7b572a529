// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/files/sha256.hpp"

/// Whether native code that a program carries may run in this process
/// (docs/hosts/embedded-code.md).
namespace tenon::host {

/// An application's decision about code in programs. A value; any thread.
class EmbeddedCodePolicy {
 public:
  /// All of it runs, as in ExecuTorch: the author of the program is trusted like the application.
  [[nodiscard]] static EmbeddedCodePolicy allow() { return EmbeddedCodePolicy(Kind::allow, {}); }

  /// None of it runs: no delegate of a backend that runs such code is loaded.
  [[nodiscard]] static EmbeddedCodePolicy deny() { return EmbeddedCodePolicy(Kind::deny, {}); }

  /// Only code with one of these hashes runs. An empty list refuses all code, and the error names
  /// its hash.
  [[nodiscard]] static EmbeddedCodePolicy allow_only(std::vector<Sha256> hashes) {
    EmbeddedCodePolicy out(Kind::listed, std::move(hashes));
    out.check_listed_ = &check_listed;
    return out;
  }

  /// Reads "allow", "deny" or "sha256:HASH,HASH...". InvalidArgument says what was found instead.
  TENON_ON_USE [[nodiscard]] static Result<EmbeddedCodePolicy> parse(std::string_view text);

  /// The text that `parse` reads.
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] bool allows_all() const noexcept { return kind_ == Kind::allow; }
  [[nodiscard]] bool denies_all() const noexcept { return kind_ == Kind::deny; }

  /// Whether `code` may run. AccessFailed says why not, as for a plugin whose hash is not the
  /// expected one: the code may well work here, it is only not let in.
  [[nodiscard]] Status check(std::span<const std::byte> code) const;

  /// Whether a backend that runs such code may get a program at all.
  [[nodiscard]] Status check_backend(std::string_view id) const;

  friend bool operator==(const EmbeddedCodePolicy& a, const EmbeddedCodePolicy& b) {
    return a.kind_ == b.kind_ && a.hashes_ == b.hashes_;
  }

 private:
  enum class Kind { allow, deny, listed };
  EmbeddedCodePolicy(Kind kind, std::vector<Sha256> hashes)
      : kind_(kind), hashes_(std::move(hashes)) {}

  [[nodiscard]] static Status check_listed(const EmbeddedCodePolicy& policy,
                                           std::span<const std::byte> code);

  Kind kind_;
  std::vector<Sha256> hashes_;
  // Through a pointer, an application that lists no hashes does not compile what makes one.
  decltype(&check_listed) check_listed_ = nullptr;
};

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include <algorithm>

#include "tenon/host/files/quoted.hpp"

namespace tenon::host {

TENON_ON_USE TENON_API Result<EmbeddedCodePolicy> EmbeddedCodePolicy::parse(std::string_view text) {
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

TENON_API std::string EmbeddedCodePolicy::to_string() const {
  if (kind_ == Kind::allow) return "allow";
  if (kind_ == Kind::deny) return "deny";
  std::string out = "sha256:";
  for (const Sha256& hash : hashes_)
    out += concat(&hash == hashes_.data() ? "" : ",", hash.to_hex());
  return out;
}

TENON_API Status EmbeddedCodePolicy::check(std::span<const std::byte> code) const {
  if (kind_ == Kind::allow) return ok();
  if (kind_ == Kind::deny) {
    return error(Error::AccessFailed,
                 "the program carries native code, and the policy for embedded code is deny");
  }
  return check_listed_(*this, code);
}

TENON_COLD TENON_API Status EmbeddedCodePolicy::check_listed(const EmbeddedCodePolicy& policy,
                                                             std::span<const std::byte> code) {
  const Sha256 found = sha256_of(code);
  for (const Sha256& listed : policy.hashes_) {
    if (listed == found) return ok();
  }
  return error(
      Error::AccessFailed, "the native code that the program carries (", code.size(),
      " bytes) has SHA-256 ", found.to_hex(),
      ", which the policy for embedded code does not list; trust it with sha256:", found.to_hex());
}

TENON_API Status EmbeddedCodePolicy::check_backend(std::string_view id) const {
  if (kind_ != Kind::deny) return ok();
  return error(Error::AccessFailed, "backend ", id,
               " runs native code that the program carries, and the policy for embedded code is "
               "deny; trust all such code with allow, or this code alone with sha256:HASH "
               "(sha256: without a hash reports the one to give)");
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
