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
#include "tenon/core/error.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/trust/sha256.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/host_info.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"
#include "tenon/host/platform/trusted_path.hpp"

/// Where a host finds backends: the paths that it searches and the sources that it finds there.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Makes a backend when it is first looked up. May be called again after the last reference to the
/// backend it made was released; never by two threads at once. Null is a failure, and so is
/// anything that it throws. It may look up other backends, but not its own.
using BackendFactory = std::function<Result<std::shared_ptr<const LoadedBackend>>()>;

/// Where backends come from, in the order in which a host searches.
enum class SearchPathKind : std::uint8_t {
  application,   ///< Registered by the application, one by one.
  static_list,   ///< Linked into the application and given to the search.
  directory,     ///< A file or directory that the application gave to the search.
  plugin_files,  ///< Named by TENON_PLUGIN_FILES.
  plugin_path,   ///< A directory of TENON_PLUGIN_PATH.
  installed,     ///< The directory where plugins are installed.
};

/// "application", "static list", "folder", "TENON_PLUGIN_FILES", "TENON_PLUGIN_PATH", "installed".
[[nodiscard]] constexpr std::string_view search_path_name(SearchPathKind kind) noexcept {
  constexpr std::string_view names[] = {"application",        "static list",       "folder",
                                        "TENON_PLUGIN_FILES", "TENON_PLUGIN_PATH", "installed"};
  return names[static_cast<std::size_t>(kind)];
}

/// One path that was searched, or that could not be.
struct SearchPath {
  SearchPathKind kind = SearchPathKind::application;
  std::filesystem::path path;   ///< Directory or file; empty for the application and its list.
  Error error = Error::Ok;      ///< Why it could not be searched.
  std::string reason{};         ///< The message that belongs to `error`.
  std::size_t num_sources = 0;  ///< Files that were examined, refused ones included.

  /// "TENON_PLUGIN_PATH /opt/acme/plugins"
  [[nodiscard]] std::string name() const;
};

struct PluginSource;

/// Opens the backend number `index` of `source`, which has this opener, and loads what it needs for
/// it. Called from any thread. Returns what is open already as long as that is held.
using BackendOpener = std::function<Result<std::shared_ptr<const LoadedBackend>>(
    const PluginSource& source, std::size_t index, const HostInfo& info)>;

/// Of a backend that is open already; the opener holds it.
[[nodiscard]] BackendOpener object_opener(std::shared_ptr<const LoadedBackend> backend);

/// Of what `factory` makes; null from it and what it throws are failures.
[[nodiscard]] BackendOpener factory_opener(BackendFactory factory);

/// Of a plugin that is linked in. InvalidState when a log callback of what loads it opens it.
[[nodiscard]] BackendOpener static_plugin_opener(const tenon_plugin_head* plugin);

/// Of the plugin in the file `source.path`. The file is opened, checked and hashed again at each
/// load, and its record is compared with `source.record`: it may have changed since it was found.
/// InvalidState as above.
[[nodiscard]] BackendOpener file_opener(Trust trust);

/// A source of backends: a plugin in a file or linked in, an object, or a factory.
///
/// A search or a registration fills in the members; after that only `open` is called, from any
/// thread.
struct PluginSource {
  SearchPathKind search_path_kind = SearchPathKind::application;
  /// Number of the search path; an earlier one wins a tie.
  std::size_t search_order = 0;

  BackendOpener opener;       ///< Empty for a source that is refused.
  bool is_open = false;       ///< Its backend is loaded from the beginning: an object.
  std::string description{};  ///< Of a source that is not a file: "a factory of the application".

  std::filesystem::path path;      ///< The plugin's file; empty for other sources.
  std::filesystem::path manifest;  ///< The manifest that named it; empty without one.
  std::optional<Sha256> sha256;    ///< Expected hash of the file, from the manifest.
  std::string signature{};  ///< Text of the file's signature, from the manifest; empty: none.
  std::string sigstore{};   ///< Where a bundle of sigstore is, from the manifest. Not checked.
  std::map<std::string, std::string> facts{};  ///< From the manifest.

  /// The plugin's own record; absent for objects and factories, and for a file that was refused
  /// before its record could be read.
  std::optional<PluginRecord> record;

  /// The backends as the registry offers them: ids after renaming, tags and priorities after the
  /// manifest. In the order of `record->backends`. Empty for a file that was refused.
  std::vector<BackendRecord> backends;
  /// For each backend why it must not be used (TENON_DISABLE, TENON_SELECT); empty: it may be.
  std::vector<std::string> disabled;

  Error error = Error::Ok;  ///< Why the whole source is refused.
  std::string reason{};     ///< The message that belongs to `error`; begins with the path.

  /// The file, or the description of a source that is not a file: for error texts and lists.
  [[nodiscard]] std::string origin() const;

  /// The backend number `index`, loaded if it is not yet. Of several threads one loads.
  /// InvalidState without an opener; otherwise as the opener fails.
  [[nodiscard]] Result<std::shared_ptr<const LoadedBackend>> open(std::size_t index,
                                                                  const HostInfo& info) const;
};

/// The result of a search, in its order. The receiver may change the sources.
struct SearchReport {
  std::vector<SearchPath> search_paths;
  std::vector<std::shared_ptr<PluginSource>> sources;
};

}}}  // namespace tenon::TENON_RELEASE::host
