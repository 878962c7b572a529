// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/trust/sha256.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"

/// Whether native code that a program carries may run in this process
/// (docs/hosts/embedded-code.md).
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// An application's decision about code in programs, for the methods that are loaded with it:
/// `.layers = {EmbeddedCodePolicy::deny()}`. Where several are listed, code runs that all of them
/// let in. Without one all code runs, as in ExecuTorch, where a program is trusted like the
/// application. A value, which methods copy; any thread.
class EmbeddedCodePolicy final : public MethodLayer {
 public:
  /// All of it runs, as in ExecuTorch: the author of the program is trusted like the application.
  [[nodiscard]] static EmbeddedCodePolicy allow() { return EmbeddedCodePolicy(Kind::allow, {}); }

  /// None of it runs: no delegate of a backend that runs such code is loaded.
  [[nodiscard]] static EmbeddedCodePolicy deny() { return EmbeddedCodePolicy(Kind::deny, {}); }

  /// Only code with one of these hashes runs. An empty list refuses all code, and the error names
  /// its hash.
  [[nodiscard]] static EmbeddedCodePolicy allow_only(std::vector<Sha256> hashes) {
    return EmbeddedCodePolicy(Kind::listed, std::move(hashes));
  }

  /// Reads "allow", "deny" or "sha256:HASH,HASH...". InvalidArgument says what was found instead.
  [[nodiscard]] static Result<EmbeddedCodePolicy> parse(std::string_view text);

  /// The text that `parse` reads.
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] bool allows_all() const noexcept { return kind_ == Kind::allow; }
  [[nodiscard]] bool denies_all() const noexcept { return kind_ == Kind::deny; }

  /// Whether `code` may run. AccessFailed says why not, as for a plugin whose hash is not the
  /// expected one: the code may well work here, it is only not let in.
  [[nodiscard]] Status check(std::span<const std::byte> code) const;

  /// Whether a backend that runs such code may get a program at all.
  [[nodiscard]] Status check_backend(std::string_view id) const;

  /// The policy's share of a method; null where all code runs.
  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;

  friend bool operator==(const EmbeddedCodePolicy& a, const EmbeddedCodePolicy& b) {
    return a.kind_ == b.kind_ && a.hashes_ == b.hashes_;
  }

 private:
  enum class Kind { allow, deny, listed };
  EmbeddedCodePolicy(Kind kind, std::vector<Sha256> hashes)
      : kind_(kind), hashes_(std::move(hashes)) {}

  Kind kind_;
  std::vector<Sha256> hashes_;
};

/// Whether the policies among the layers of `options` and of its registry let a method have the
/// backend of `record`: `EmbeddedCodePolicy::check_backend` of each.
///
/// threads: any. errors: AccessFailed.
[[nodiscard]] Status check_backend(const MethodOptions& options, const BackendRecord& record);

}}}  // namespace tenon::TENON_RELEASE::host
