// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/json.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/discovery/impl/hand_written_json.hpp"
#include "tenon/host/layers/discovery/platform_names.hpp"
#include "tenon/host/layers/trust/sha256.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"
#include "tenon/host/platform/path_text.hpp"

/// Manifests: small JSON files that name a plugin, in any directory, and add what a packager wants.
/// docs/hosts/discovery.md describes the format.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Largest file that is read as a manifest, in bytes.
inline constexpr std::uint64_t max_manifest_size = 1 << 20;

/// A manifest's description of one backend.
struct ManifestBackend {
  std::string id;
  std::vector<std::string> tags{};         ///< Added to the tags of the plugin's record.
  std::optional<std::int32_t> priority{};  ///< Replaces the priority of the plugin's record.
};

/// A manifest, for one platform.
struct Manifest {
  std::filesystem::path
      library;                   ///< As written: relative to the manifest's directory, or absolute.
  std::optional<Sha256> sha256;  ///< What the library must hash to.
  std::string signature;         ///< Text of the library's signature; not read here.
  std::string sigstore;          ///< Where a bundle of sigstore is: a path or an address.
  std::vector<ManifestBackend> backends;
  std::map<std::string, std::string> facts;
};

namespace detail {

/// Turns JSON into a manifest for `platform`.
class ManifestReader {
 public:
  explicit ManifestReader(std::string_view platform) : platform_(platform) {}

  [[nodiscard]] Result<Manifest> read(const JsonAt& root) const {
    TENON_RETURN_IF_ERROR(check_format(root, "manifest_version"));
    TENON_RETURN_IF_ERROR(check_keys(root, {"manifest_version", "library", "sha256", "signature",
                                            "sigstore", "backends", "facts"}));
    Manifest manifest;
    TENON_TRY(const JsonAt library_at, root.member("library", "the path of the plugin"));
    TENON_TRY(const std::string library, for_platform(library_at));
    if (library.empty()) return library_at.wrong("is empty, expected the path of the plugin");
    // No system has longer paths.
    constexpr std::size_t longest = 4096;
    if (library.size() > longest) {
      return library_at.wrong("has ", library.size(), " bytes, expected at most ", longest);
    }
    manifest.library = path_of(library);
    if (const auto at = root.find("sha256")) {
      TENON_TRY(const std::string text, for_platform(*at));
      auto hash = parse_sha256(text);
      if (!hash.ok()) return at->wrong(hash.text());
      manifest.sha256 = *hash;
    }
    if (const auto at = root.find("signature")) {
      TENON_TRY(manifest.signature, for_platform(*at, true));
      if (manifest.signature.empty()) return at->wrong("is empty, expected its text");
    }
    if (const auto at = root.find("sigstore")) {
      TENON_TRY(manifest.sigstore, for_platform(*at));
    }
    TENON_TRY(manifest.backends, read_backends(root));
    if (const auto facts = root.find("facts")) {
      const auto read_fact = [&](const std::string& key, const JsonAt& at) -> Status {
        TENON_RETURN_IF_ERROR(check_printable(*facts, "a key", key));
        TENON_TRY(manifest.facts[key], printable_text(at));
        return ok();
      };
      TENON_RETURN_IF_ERROR(facts->each_member(read_fact, "an object of texts"));
    }
    return manifest;
  }

 private:
  /// A text, or a text for each platform, of which this platform's is returned. With `lines` the
  /// text may have several lines, which are not checked.
  Result<std::string> for_platform(const JsonAt& at, bool lines = false) const {
    const auto text_of = [&](const JsonAt& one) -> Result<std::string> {
      if (!lines) return printable_text(one);
      TENON_TRY(const std::string_view text, one.characters());
      return std::string(text);
    };
    if (at.json().is_string()) return text_of(at);
    std::string platforms;
    std::optional<std::string> out;
    const auto read_platform = [&](const std::string& platform, const JsonAt& one) -> Status {
      TENON_RETURN_IF_ERROR(check_printable(at, "a key", platform));
      TENON_TRY(std::string text, text_of(one));
      if (platform == platform_) out = std::move(text);
      platforms += concat(platforms.empty() ? "" : ", ", platform);
      return ok();
    };
    TENON_RETURN_IF_ERROR(
        at.each_member(read_platform, "a text, or an object of one for each platform"));
    if (out) return *std::move(out);
    constexpr std::size_t longest = 400;
    return at.not_supported("there is none for ", platform_, ", only for ",
                            platforms.empty() ? "no platform" : printable(platforms, longest));
  }

  static Result<std::vector<ManifestBackend>> read_backends(const JsonAt& root) {
    TENON_TRY(const JsonAt at, root.member("backends", "the plugin's ids"));
    TENON_RETURN_IF_ERROR(check_not_empty(at));
    if (at.size() > max_backends_per_plugin) {
      return at.wrong("has ", at.size(), " entries, expected at most ", max_backends_per_plugin,
                      ", as a plugin has");
    }
    std::set<std::string> ids;
    return at.list<ManifestBackend>([&](const JsonAt& one) -> Result<ManifestBackend> {
      TENON_RETURN_IF_ERROR(check_keys(one, {"id", "tags", "priority"}));
      ManifestBackend out;
      TENON_TRY(const JsonAt id, one.member("id"));
      TENON_TRY(out.id, printable_text(id));
      if (out.id.empty() || out.id.size() >= TENON_ID_SIZE) {
        return id.wrong("has ", out.id.size(), " bytes, expected 1 to ", TENON_ID_SIZE - 1);
      }
      if (!ids.insert(out.id).second) return id.wrong(host::quoted(out.id), " is there twice");
      if (const auto tags = one.find("tags")) {
        TENON_TRY(out.tags, tags->list<std::string>(read_tag, "an array of texts"));
      }
      if (const auto priority = one.find("priority")) {
        constexpr std::string_view expected = "an integer of 32 bits";
        TENON_TRY(const std::int64_t number, priority->integer(expected));
        if (!std::in_range<std::int32_t>(number)) return priority->wrong_type(expected);
        out.priority = static_cast<std::int32_t>(number);
      }
      return out;
    });
  }

  static Result<std::string> read_tag(const JsonAt& at) {
    TENON_TRY(std::string tag, printable_text(at));
    if (!tag.empty() && tag.find(',') == std::string::npos && tag.front() != ' ' &&
        tag.back() != ' ') {
      return tag;
    }
    return at.wrong(host::quoted(tag), ", expected one word without commas and blanks around it");
  }

  std::string_view platform_;
};

}  // namespace detail

/// Reads a manifest. Comments are not JSON and not accepted; unknown keys are errors, so that a
/// misspelt pin is never ignored.
///
/// threads: any. errors: NotSupported when it has nothing for `platform`; InvalidArgument for all
/// else. Texts begin with `name` and the place in the file.
[[nodiscard]] inline Result<Manifest> parse_manifest(std::string_view text, std::string_view name,
                                                     std::string_view platform = platform_name()) {
  if (text.size() > max_manifest_size) {
    return error(Error::InvalidArgument, name, ": a manifest of ", text.size(),
                 " bytes, expected at most ", max_manifest_size);
  }
  TENON_TRY(const auto json, parse_json_object(text, name, Error::InvalidArgument));
  return detail::ManifestReader(platform).read(JsonAt(json, name, Error::InvalidArgument));
}

/// Whether a manifest and the plugin's own record say the same: the ids, and of the facts those
/// that the record has too (name, version, vendor, sdk_version, abi). InvalidArgument with both.
[[nodiscard]] inline Status check_manifest(const Manifest& manifest, const PluginRecord& record) {
  std::set<std::string> said, found;
  for (const ManifestBackend& backend : manifest.backends) said.insert(backend.id);
  for (const BackendRecord& backend : record.backends) found.insert(backend.id);
  if (said != found) {
    const auto names = [](const std::set<std::string>& ids) {
      constexpr std::size_t longest = 1000;
      return shortened(join(ids, ", "), longest);
    };
    return error(Error::InvalidArgument, "backends: the manifest says ", names(said),
                 ", the plugin's own record ", names(found));
  }
  const std::pair<const char*, std::string> facts[] = {
      {"name", record.name},
      {"version", record.version},
      {"vendor", record.vendor},
      {"sdk_version", record.sdk_version},
      {"abi", concat(record.abi_major, ".", record.abi_minor)},
  };
  for (const auto& [key, value] : facts) {
    const auto fact = manifest.facts.find(key);
    if (fact == manifest.facts.end() || fact->second == value) continue;
    return error(Error::InvalidArgument, "facts.", std::string_view(key), ": the manifest says ",
                 host::quoted(fact->second), ", the plugin's own record ", host::quoted(value));
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host
