// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/core/result.hpp"
#include "tenon/host/quoted.hpp"
#include "tenon/host/sha256.hpp"

/// Whether native code that a program carries may run in this process (docs/embedded-code.md).
namespace tenon::host {

/// What an application says about code in programs. Kept as a value; any thread.
class EmbeddedCodePolicy {
 public:
  /// All of it runs, as in ExecuTorch: whoever wrote the program is trusted like the application.
  [[nodiscard]] static EmbeddedCodePolicy allow() { return EmbeddedCodePolicy(Kind::allow, {}); }

  /// None of it runs: no delegate of a backend that runs such code is loaded.
  [[nodiscard]] static EmbeddedCodePolicy deny() { return EmbeddedCodePolicy(Kind::deny, {}); }

  /// Only code with one of these hashes runs. An empty list refuses all code and tells its hash.
  [[nodiscard]] static EmbeddedCodePolicy allow_only(std::vector<Sha256> hashes) {
    return EmbeddedCodePolicy(Kind::listed, std::move(hashes));
  }

  /// Reads "allow", "deny" or "sha256:HASH,HASH...". InvalidArgument says what was found instead.
  [[nodiscard]] static Result<EmbeddedCodePolicy> parse(std::string_view text) {
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

  /// What `parse` reads.
  [[nodiscard]] std::string to_string() const {
    if (kind_ == Kind::allow) return "allow";
    if (kind_ == Kind::deny) return "deny";
    std::string out = "sha256:";
    for (const Sha256& hash : hashes_)
      out += concat(&hash == hashes_.data() ? "" : ",", hash.to_hex());
    return out;
  }

  [[nodiscard]] bool allows_all() const noexcept { return kind_ == Kind::allow; }
  [[nodiscard]] bool denies_all() const noexcept { return kind_ == Kind::deny; }

  /// Whether `code` may run. AccessFailed says why not, as for a plugin whose hash is not the
  /// expected one: the code might well work here, it is only not let in.
  [[nodiscard]] Status check(std::span<const std::byte> code) const {
    if (kind_ == Kind::allow) return ok();
    if (kind_ == Kind::deny) {
      return error(Error::AccessFailed,
                   "the program carries native code, and the policy for embedded code is deny");
    }
    const Sha256 found = sha256_of(code);
    if (std::ranges::find(hashes_, found) != hashes_.end()) return ok();
    return error(Error::AccessFailed, "the native code that the program carries (", code.size(),
                 " bytes) has SHA-256 ", found.to_hex(),
                 ", which the policy for embedded code does not list; trust it with sha256:",
                 found.to_hex());
  }

  /// Whether a backend that runs such code may get a program at all.
  [[nodiscard]] Status check_backend(std::string_view id) const {
    if (kind_ != Kind::deny) return ok();
    return error(Error::AccessFailed, "backend ", id,
                 " runs native code that the program carries, and the policy for embedded code is "
                 "deny; trust all such code with allow, or this code alone with sha256:HASH "
                 "(sha256: without a hash tells the one to give)");
  }

  friend bool operator==(const EmbeddedCodePolicy&, const EmbeddedCodePolicy&) = default;

 private:
  enum class Kind { allow, deny, listed };
  EmbeddedCodePolicy(Kind kind, std::vector<Sha256> hashes)
      : kind_(kind), hashes_(std::move(hashes)) {}

  Kind kind_;
  std::vector<Sha256> hashes_;
};

namespace detail {

/// The context of one `init`, which answers what the backend asks about code.
class InitCall : public tenon_init_context {
 public:
  /// `policy` must outlive the call.
  explicit InitCall(const EmbeddedCodePolicy& policy) noexcept
      : tenon_init_context{}, policy_(&policy) {
    struct_size = sizeof(tenon_init_context);
    permit_code = &answer;
  }

  /// Once `init` has succeeded: whether it kept to the answers. A backend that does not ask, or
  /// does not listen, is too late to stop here, but what it loaded is not executed.
  [[nodiscard]] Status check_kept(std::string_view id, bool runs_embedded_code) const {
    if (refused_) {
      return error(Error::Internal, "backend ", id,
                   " went on although it was refused (TN-COD-3): ", refusal_.text());
    }
    if (asked_ || !runs_embedded_code || policy_->allows_all()) return ok();
    return error(Error::Internal, "backend ", id,
                 " runs code that programs carry but did not ask for permission (TN-COD-1), which "
                 "the policy for embedded code demands");
  }

  /// Why code was refused, which says more than the backend can; ok when none was.
  [[nodiscard]] Status take_refusal() noexcept { return std::move(refusal_); }

 private:
  static tenon_status answer(const tenon_init_context* context, const void* code,
                             std::uint64_t size) noexcept {
    // The loader made the object that `context` is a part of, and it is not constant.
    auto& call = const_cast<InitCall&>(*static_cast<const InitCall*>(context));
    call.asked_ = true;
    tenon_status status = TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    try {
      Status verdict = call.policy_->check(
          {static_cast<const std::byte*>(code), static_cast<std::size_t>(size)});
      status = to_status(verdict.error());
      if (call.refusal_.ok()) call.refusal_ = std::move(verdict);
    } catch (const std::bad_alloc&) {
      // The number says it; there is no memory for a text.
    }
    call.refused_ |= status != TENON_STATUS_OK;
    return status;
  }

  const EmbeddedCodePolicy* policy_;
  Status refusal_;
  bool asked_ = false;
  bool refused_ = false;
};

}  // namespace detail
}  // namespace tenon::host
