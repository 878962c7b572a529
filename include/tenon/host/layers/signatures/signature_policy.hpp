// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/signatures/publishers.hpp"
#include "tenon/host/layers/trust/library_policy.hpp"
#include "tenon/host/platform/opened_file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The outcome of a check of the signature of a file.
enum class SignatureState : std::uint8_t {
  valid,          ///< By a key that counts now.
  missing,        ///< There is no signature.
  unknown_key,    ///< By a key that is not listed, or a certificate. Whether it holds is unknown.
  malformed,      ///< Its text is not a signature.
  forged,         ///< The file, or the trusted comment, is not what the key's owner signed.
  not_yet_valid,  ///< It holds; the key does not count yet.
  expired,        ///< It holds; the key counts no more.
};

/// "valid", "missing", "unknown key", ...
[[nodiscard]] constexpr std::string_view state_name(SignatureState state) noexcept {
  constexpr std::string_view names[] = {"valid",  "missing",       "unknown key", "malformed",
                                        "forged", "not yet valid", "expired"};
  return names[static_cast<std::size_t>(state)];
}

/// Who signed a file.
struct SignatureReport {
  SignatureState state = SignatureState::missing;
  std::string key_id{};           ///< Empty when it is missing or malformed.
  std::string publisher{};        ///< Of that key; empty when it is not listed.
  std::string trusted_comment{};  ///< Of minisign; empty unless the signature holds.
  std::string reason{};           ///< For a state other than valid: what was expected and found.
};

/// Loads what listed publishers signed (one of `HostInfo::gates`).
///
/// The manifest of `acme.so` holds its signature, or a file next to it does, which is opened with
/// the same trust: `acme.so.minisig` where a key of minisign is listed, `acme.so.sigstore.json`
/// where one of sigstore is. Of two files the one by a listed key counts; if both are, minisign's.
/// On Linux a library that has one is copied into memory and sealed; the copy is what is checked
/// and what is loaded, so that no process can replace it in between. The copies are kept: a library
/// that did not change, by device, inode, size and the times of its last changes, is copied and
/// hashed once. Elsewhere, and with `copy` = false, the file itself is checked and loaded, and it
/// must not have changed while it was checked and loaded.
///
/// Threads: any, also at once.
class SignaturePolicy final : public LibraryPolicy {
 public:
  struct Options {
    /// Whether copies are loaded, where the system has files in memory that can be sealed (Linux).
    bool copy = true;
    /// Most bytes of copies that are kept after their libraries were unloaded. A larger library is
    /// copied and hashed at each load.
    std::uint64_t max_kept_bytes = std::uint64_t{512} << 20;
    /// Seconds since 1970, UTC; null: the system's clock.
    std::function<std::int64_t()> now{};
  };

  explicit SignaturePolicy(Publishers publishers);
  SignaturePolicy(Publishers publishers, Options options);
  ~SignaturePolicy() override;

  /// A policy of the file that the variable TENON_PUBLISHERS names; null when it is not set, and in
  /// a privileged process. For applications without a policy of their own.
  ///
  /// threads: as `environment_variable`. errors: as `read_publishers`.
  [[nodiscard]] static Result<std::shared_ptr<const SignaturePolicy>> from_environment();

  [[nodiscard]] const Publishers& publishers() const noexcept { return publishers_; }

  /// errors: AccessFailed when the publishers do not admit the file, with its path, what was
  /// expected and what was found; InvalidState when it changed meanwhile; NotSupported when
  /// libsodium is needed and cannot be loaded.
  [[nodiscard]] Result<OpenedFile> admit(OpenedFile file,
                                         std::string_view signature) const override;

  /// Who signed `file`, for lists. It is read and not copied, and may be another one when it is
  /// loaded, when it is checked again. `signature` as for `admit`.
  ///
  /// errors: AccessFailed when a file cannot be read; NotSupported as above.
  [[nodiscard]] Result<SignatureReport> examine(const OpenedFile& file,
                                                std::string_view signature = {}) const;

  /// Who signed `bytes`, which were read from `file`, by the signatures next to it.
  ///
  /// errors: as above.
  [[nodiscard]] Result<SignatureReport> examine(std::span<const std::byte> bytes,
                                                const OpenedFile& file) const;

  /// Whether the publishers admit what is signed so.
  [[nodiscard]] bool admits(SignatureState state) const noexcept {
    return state == SignatureState::valid ||
           (!publishers_.required &&
            (state == SignatureState::missing || state == SignatureState::unknown_key));
  }

 private:
  class KeptCopies;

  Publishers publishers_;
  Options options_;
  std::unique_ptr<KeptCopies> kept_;
};

/// `SignaturePolicy::from_environment`, for a host that has no place to report its failure: a
/// policy that admits nothing, with that failure, when the publishers cannot be read. Null when the
/// variable is not set.
///
/// threads: as `environment_variable`.
[[nodiscard]] std::shared_ptr<const LibraryPolicy> environment_library_policy();

}}}  // namespace tenon::TENON_RELEASE::host
