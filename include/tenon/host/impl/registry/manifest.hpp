// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/lists.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/binary/peek.hpp"
#include "tenon/host/binary/plugin_record.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/files/sha256.hpp"
#include "tenon/host/files/shortened.hpp"
#include "tenon/host/impl/registry/json_reader.hpp"
#include "tenon/host/platform/path_text.hpp"

/// Manifests: small JSON files that name a plugin, in any directory, and add what a packager wants.
/// docs/hosts/discovery.md describes the format.
namespace tenon::inline TENON_RELEASE::host {

/// Largest file that is read as a manifest, in bytes.
inline constexpr std::uint64_t max_manifest_size = 1 << 20;

/// A manifest's description of one backend.
struct ManifestBackend {
  std::string id;
  std::vector<std::string> tags{};         ///< Added to those of the plugin's record.
  std::optional<std::int32_t> priority{};  ///< Replaces that of the plugin's record.
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

/// Turns JSON into a manifest. Every complaint names the place in the file ("backends[1].tags").
class ManifestReader : private JsonReader {
 public:
  ManifestReader(std::string_view name, std::string_view platform)
      : JsonReader(name), platform_(platform) {}

  [[nodiscard]] Result<Manifest> read(std::string_view text) {
    if (text.size() > max_manifest_size) {
      return wrong("", "a manifest of ", text.size(), " bytes, expected at most ",
                   max_manifest_size);
    }
    TENON_TRY(const Json root, parse_object(text));
    const auto version = root.find("manifest_version");
    if (version == root.end()) return wrong("manifest_version", "is missing, expected 1");
    if (!version->is_number_integer()) return wrong_type("manifest_version", "1", *version);
    if (*version != 1) {
      return wrong("manifest_version", "is ", version->dump(), ", this host reads 1");
    }
    TENON_RETURN_IF_ERROR(check_keys(
        root, "",
        {"manifest_version", "library", "sha256", "signature", "sigstore", "backends", "facts"}));
    Manifest manifest;
    TENON_TRY(const auto library, for_platform(root, "library"));
    if (!library) return wrong("library", "is missing, expected the path of the plugin");
    if (library->empty()) return wrong("library", "is empty, expected the path of the plugin");
    // No system has longer paths.
    constexpr std::size_t longest = 4096;
    if (library->size() > longest) {
      return wrong("library", "has ", library->size(), " bytes, expected at most ", longest);
    }
    manifest.library = path_of(*library);
    TENON_TRY(const auto sha256, for_platform(root, "sha256"));
    if (sha256) {
      auto hash = parse_sha256(*sha256);
      if (!hash.ok()) return wrong("sha256", hash.text());
      manifest.sha256 = *hash;
    }
    TENON_TRY(const auto signature, for_platform(root, "signature", true));
    manifest.signature = signature.value_or("");
    if (signature && signature->empty()) return wrong("signature", "is empty, expected its text");
    TENON_TRY(const auto sigstore, for_platform(root, "sigstore"));
    manifest.sigstore = sigstore.value_or("");
    TENON_TRY(manifest.backends, read_backends(root));
    TENON_TRY(manifest.facts, read_facts(root));
    return manifest;
  }

 private:
  /// A text, or one for each platform: the one that counts here. Nothing when the key is absent.
  /// `lines`: of several lines, which are not looked at.
  Result<std::optional<std::string>> for_platform(const Json& root, const std::string& key,
                                                  bool lines = false) const {
    const auto text_of = [&](const Json& value, std::string_view where) -> Result<std::string> {
      if (lines && value.is_string()) return value.get_ref<const std::string&>();
      return read_text(value, where);
    };
    const auto found = root.find(key);
    if (found == root.end()) return std::optional<std::string>();
    if (!found->is_object()) {
      if (!found->is_string()) {
        return wrong_type(key, "a string, or an object of one for each platform", *found);
      }
      TENON_TRY(std::string text, text_of(*found, key));
      return std::optional<std::string>(std::move(text));
    }
    std::string platforms;
    std::optional<std::string> out;
    for (const auto& [platform, value] : found->items()) {
      TENON_RETURN_IF_ERROR(check_printable(platform, concat("a key of ", key)));
      TENON_TRY(std::string text, text_of(value, member(key, platform)));
      if (platform == platform_) out = std::move(text);
      platforms += concat(platforms.empty() ? "" : ", ", platform);
    }
    if (out) return out;
    constexpr std::size_t longest = 400;
    return error(Error::NotSupported, name(), ": ", key, ": there is none for ", platform_,
                 ", only for ", platforms.empty() ? "no platform" : printable(platforms, longest));
  }

  Result<std::vector<ManifestBackend>> read_backends(const Json& root) const {
    const auto found = root.find("backends");
    if (found == root.end()) return wrong("backends", "is missing, expected the plugin's ids");
    if (!found->is_array() || found->empty()) {
      return wrong_type("backends", "an array of at least one object", *found);
    }
    if (found->size() > max_backends_per_plugin) {
      return wrong("backends", "has ", found->size(), " entries, expected at most ",
                   max_backends_per_plugin, ", as a plugin has");
    }
    std::vector<ManifestBackend> out;
    std::set<std::string> ids;
    for (std::size_t i = 0; i < found->size(); ++i) {
      TENON_TRY(ManifestBackend backend, read_backend((*found)[i], concat("backends[", i, "]")));
      if (!ids.insert(backend.id).second) {
        return wrong(concat("backends[", i, "].id"), host::quoted(backend.id), " is there twice");
      }
      out.push_back(std::move(backend));
    }
    return out;
  }

  Result<ManifestBackend> read_backend(const Json& value, const std::string& where) const {
    if (!value.is_object()) return wrong_type(where, "an object", value);
    TENON_RETURN_IF_ERROR(check_keys(value, where, {"id", "tags", "priority"}));
    ManifestBackend out;
    const auto id = value.find("id");
    if (id == value.end()) return wrong(where, "has no id");
    TENON_TRY(out.id, read_text(*id, where + ".id"));
    if (out.id.empty() || out.id.size() >= TENON_ID_SIZE) {
      return wrong(where + ".id", "has ", out.id.size(), " bytes, expected 1 to ",
                   TENON_ID_SIZE - 1);
    }
    if (const auto tags = value.find("tags"); tags != value.end()) {
      if (!tags->is_array()) return wrong_type(where + ".tags", "an array of strings", *tags);
      for (std::size_t i = 0; i < tags->size(); ++i) {
        const std::string at = concat(where, ".tags[", i, "]");
        TENON_TRY(std::string tag, read_text((*tags)[i], at));
        if (tag.empty() || tag.find(',') != std::string::npos || tag.front() == ' ' ||
            tag.back() == ' ') {
          return wrong(at, host::quoted(tag),
                       ", expected one word without commas and blanks around it");
        }
        out.tags.push_back(std::move(tag));
      }
    }
    if (const auto priority = value.find("priority"); priority != value.end()) {
      // Compared as what it is: as a signed number, one beyond 2^63 would be negative.
      const bool fits = priority->is_number_unsigned()
                            ? std::in_range<std::int32_t>(priority->get<std::uint64_t>())
                            : priority->is_number_integer() &&
                                  std::in_range<std::int32_t>(priority->get<std::int64_t>());
      if (!fits) return wrong_type(where + ".priority", "an integer of 32 bits", *priority);
      out.priority = priority->get<std::int32_t>();
    }
    return out;
  }

  Result<std::map<std::string, std::string>> read_facts(const Json& root) const {
    std::map<std::string, std::string> out;
    const auto found = root.find("facts");
    if (found == root.end()) return out;
    if (!found->is_object()) return wrong_type("facts", "an object of strings", *found);
    for (const auto& [key, value] : found->items()) {
      TENON_RETURN_IF_ERROR(check_printable(key, "a key of facts"));
      TENON_TRY(std::string text, read_text(value, member("facts", key)));
      out.emplace(key, std::move(text));
    }
    return out;
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
  return detail::ManifestReader(name, platform).read(text);
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

}  // namespace tenon::inline TENON_RELEASE::host
