// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/host/backend.hpp"
#include "tenon/host/plugin_record.hpp"
#include "tenon/host/sha256.hpp"
#include "tenon/host/trusted_path.hpp"

/// What a host knows of the backends it could load. Nothing here is loaded.
namespace tenon::host {

/// Makes a backend when it is first looked up. May be called again after the last user of what it
/// made has gone; never by two threads at once. Null is a failure.
using BackendFactory = std::function<Result<std::shared_ptr<const Backend>>()>;

/// Where backends come from, in the order in which a host looks.
enum class PlaceKind : std::uint8_t {
  application,   ///< Registered by the application, one by one.
  static_list,   ///< Linked into the application and given to the search.
  folder,        ///< A file or folder that the application gave to the search.
  plugin_files,  ///< Named by TENON_PLUGIN_FILES.
  plugin_path,   ///< A folder of TENON_PLUGIN_PATH.
  installed,     ///< The folder where plugins are installed.
};

/// "application", "static list", "folder", "TENON_PLUGIN_FILES", "TENON_PLUGIN_PATH", "installed".
[[nodiscard]] constexpr std::string_view place_name(PlaceKind kind) noexcept {
  switch (kind) {
    case PlaceKind::application:
      return "application";
    case PlaceKind::static_list:
      return "static list";
    case PlaceKind::folder:
      return "folder";
    case PlaceKind::plugin_files:
      return "TENON_PLUGIN_FILES";
    case PlaceKind::plugin_path:
      return "TENON_PLUGIN_PATH";
    default:
      return "installed";
  }
}

/// One place that was searched, or that was to be.
struct Place {
  PlaceKind kind = PlaceKind::application;
  std::filesystem::path path;      ///< Folder or file; empty for the application and its list.
  Error error = Error::Ok;         ///< Why it could not be searched.
  std::string reason{};            ///< The sentence that belongs to `error`.
  std::size_t num_candidates = 0;  ///< Files that were looked at, refused ones included.

  /// "TENON_PLUGIN_PATH /opt/acme/plugins"
  [[nodiscard]] std::string name() const {
    return path.empty() ? std::string(place_name(kind))
                        : concat(place_name(kind), " ", path.native());
  }
};

/// What may serve backends: a plugin in a file or linked in, an object, or a factory.
struct Candidate {
  PlaceKind place = PlaceKind::application;
  std::size_t place_order = 0;  ///< Number of the place in the search; an earlier one wins a tie.

  std::filesystem::path path;                 ///< The plugin's file; empty for what is not a file.
  std::filesystem::path manifest;             ///< The manifest that named it; empty without one.
  const tenon_plugin_head* linked = nullptr;  ///< A plugin that is linked in.
  std::shared_ptr<const Backend> object;      ///< A backend that was registered itself.
  BackendFactory factory;

  Trust trust = Trust::checked;                ///< How `path` is opened.
  std::optional<Sha256> sha256;                ///< What the file must have; from the manifest.
  std::map<std::string, std::string> facts{};  ///< From the manifest.

  /// What the plugin says of itself; absent for objects and factories, and for a file that was
  /// refused before its record could be read.
  std::optional<PluginRecord> record;

  /// The backends as the registry offers them: ids after renaming, tags and priorities after the
  /// manifest. In the order of `record->backends`. Empty for a file that was refused.
  std::vector<BackendRecord> backends;
  /// For each backend why it may not be used (TENON_DISABLE, TENON_SELECT); empty: it may.
  std::vector<std::string> disabled;

  Error error = Error::Ok;  ///< Why the whole candidate is refused.
  std::string reason{};     ///< The sentence that belongs to `error`; begins with the path.

  /// The file, or what it is instead: for error texts and lists.
  [[nodiscard]] std::string origin() const {
    if (!manifest.empty() && path.empty()) return manifest.native();
    if (!path.empty()) return path.native();
    if (linked) return concat("static plugin ", record ? record->name : std::string());
    return object ? "an object of the application" : "a factory of the application";
  }
};

/// What a search found, in its order. The one who takes it may change the candidates.
struct SearchReport {
  std::vector<Place> places;
  std::vector<std::shared_ptr<Candidate>> candidates;
};

/// What became of a backend of a candidate.
enum class BackendState : std::uint8_t {
  known,        ///< Would be loaded at its first look-up.
  loaded,       ///< In use, or an object.
  shadowed,     ///< Another candidate serves this id.
  duplicate,    ///< Another candidate claims this id with the same right; neither is used.
  disabled,     ///< By TENON_DISABLE or TENON_SELECT.
  unsupported,  ///< Needs another CPU, or another ABI than this host's.
  refused,      ///< The file is no plugin, may not be trusted, or disagrees with its manifest.
};

/// "known", "loaded", ...
[[nodiscard]] constexpr std::string_view state_name(BackendState state) noexcept {
  constexpr std::string_view names[] = {"known",    "loaded",      "shadowed", "duplicate",
                                        "disabled", "unsupported", "refused"};
  return names[static_cast<std::size_t>(state)];
}

/// One backend of one candidate; for a refused candidate the candidate as a whole.
struct BackendInfo {
  std::shared_ptr<const Candidate> candidate;  ///< Never null.
  std::size_t index = 0;                       ///< Which of `candidate->backends`.
  BackendState state = BackendState::known;
  std::string reason{};         ///< For a state other than known and loaded.
  std::uint32_t num_users = 0;  ///< References that are held now.

  /// What the registry offers; null for a refused candidate.
  [[nodiscard]] const BackendRecord* backend() const noexcept {
    return index < candidate->backends.size() ? &candidate->backends[index] : nullptr;
  }
  /// The id; empty for a refused candidate.
  [[nodiscard]] std::string_view id() const noexcept {
    return backend() ? std::string_view(backend()->id) : std::string_view();
  }
};

/// Why there is no backend for an id (TorchDynamo: InvalidBackend, torch/_dynamo/exc.py).
struct InvalidBackend {
  std::string id;
  std::vector<std::string> near;     ///< Ids that look like it, the nearest first.
  std::vector<std::string> known;    ///< All ids that can be looked up, sorted.
  std::vector<BackendInfo> offers;   ///< What serves this very id and cannot be used.
  std::vector<Place> places;         ///< Where was looked, in order.
  std::vector<BackendInfo> refused;  ///< Candidates that were refused as a whole.

  /// NotFound, or RegistrationAlreadyRegistered when the id is claimed twice. The text has a first
  /// line that says what is wrong, and one line for each thing that was tried.
  [[nodiscard]] Status status() const;
};

inline Status InvalidBackend::status() const {
  const auto join = [](const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names) out += concat(out.empty() ? "" : ", ", name);
    return out;
  };
  bool claimed_twice = false;
  std::string text;
  if (offers.empty()) {
    text = concat("backend '", id, "' is not registered (InvalidBackend)");
    if (!near.empty()) text += concat("; did you mean ", join(near), "?");
  } else {
    text = concat("backend '", id, "' is known but cannot be used (InvalidBackend)");
    for (const BackendInfo& offer : offers) {
      claimed_twice |= offer.state == BackendState::duplicate;
      text += concat("\n  ", state_name(offer.state), ": ", offer.reason);
    }
  }
  text += concat("\n  registered are: ", known.empty() ? "none" : join(known));
  for (const Place& place : places) {
    text += concat("\n  searched ", place.name(), ": ");
    if (place.error == Error::Ok) {
      text += concat(place.num_candidates, place.num_candidates == 1 ? " plugin" : " plugins");
    } else {
      text += place.reason;
    }
  }
  for (const BackendInfo& candidate : refused) text += concat("\n  refused ", candidate.reason);
  return error(claimed_twice ? Error::RegistrationAlreadyRegistered : Error::NotFound, text);
}

}  // namespace tenon::host
