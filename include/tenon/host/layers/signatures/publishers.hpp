// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/signatures/minisign.hpp"
#include "tenon/host/layers/signatures/sigstore.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A public key, of one of the two formats.
using SignatureKey = std::variant<MinisignKey, SigstoreKey>;

/// The name of the key in signatures: its number in minisign, its hint in sigstore.
[[nodiscard]] std::string key_id_text(const SignatureKey& key);

/// One key of a publisher.
struct PublisherKey {
  std::string publisher;  ///< For messages and lists.
  SignatureKey key;
  /// From when and until when signatures by it count; by the clock of this machine, when they are
  /// checked. In seconds since 1970, UTC; absent: without an end. `not_after` is the first second
  /// in which they do not count.
  std::optional<std::int64_t> not_before{};
  std::optional<std::int64_t> not_after{};
};

/// Whose libraries an application loads.
struct Publishers {
  std::string origin = "the application";  ///< Where this was read, for messages.
  /// Whether each library needs a signature by one of the keys. Otherwise one without a signature,
  /// or with one by a key that is not listed, is loaded as well; a signature by a listed key that
  /// does not hold is refused in both cases.
  bool required = true;
  std::vector<PublisherKey> keys{};
};

/// Reads publishers from JSON (docs/schemas/tenon-publishers.schema.json). `name` is the file's
/// name, for messages.
///
/// threads: any. errors: InvalidArgument, with the place in the file.
[[nodiscard]] Result<Publishers> parse_publishers(std::string_view text, std::string_view name);

/// Reads them from a file with an absolute path, which no other user may be able to write to.
///
/// threads: any. errors: as `open_file` with `Trust::checked`, and `parse_publishers`.
[[nodiscard]] Result<Publishers> read_publishers(const std::filesystem::path& path);

}}}  // namespace tenon::TENON_RELEASE::host
