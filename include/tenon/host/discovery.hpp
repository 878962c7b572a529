// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/candidate.hpp"
#include "tenon/host/environment.hpp"
#include "tenon/host/glob.hpp"
#include "tenon/host/manifest.hpp"
#include "tenon/host/peek.hpp"
#include "tenon/host/plugin.hpp"
#include "tenon/host/trusted_path.hpp"

#if !defined(TENON_PLUGINDIR) && __has_include("tenon/host/plugindir.hpp")
#include "tenon/host/plugindir.hpp"
#endif

/// Searches for plugins. Files are read; no library is loaded and no code of one runs.
namespace tenon::host {

/// The folder where plugins of this Tenon are installed (`pkg-config --variable=plugindir tenon`),
/// as the build that installed the headers says, or TENON_PLUGINDIR if that is defined. Nothing for
/// headers that were only copied.
[[nodiscard]] inline std::filesystem::path installed_plugin_folder() {
#ifdef TENON_PLUGINDIR
  return TENON_PLUGINDIR;
#else
  return {};
#endif
}

/// Where to search. The places are searched in the order of the members.
struct DiscoveryOptions {
  /// Plugins that are linked into the application.
  std::vector<const tenon_plugin_head*> static_plugins{};

  /// The application's own plugins, manifests and folders of them, with absolute paths.
  std::vector<std::filesystem::path> paths{};

  /// Whether TENON_PLUGIN_FILES, TENON_PLUGIN_PATH, TENON_SELECT and TENON_DISABLE count. They
  /// never do in a privileged process (`is_privileged`).
  bool use_environment = true;

  /// Folder of installed plugins; empty: none.
  std::filesystem::path installed = installed_plugin_folder();

  /// The value of a variable, or nothing; null: `environment_variable`.
  std::function<std::optional<std::string>(const char*)> variable{};
};

namespace detail {

/// One search, from its options to its report.
class Search {
 public:
  explicit Search(const DiscoveryOptions& options) : options_(options) {}

  SearchReport run() && {
    read_filters();
    for (const tenon_plugin_head* plugin : options_.static_plugins) add_static_plugin(plugin);
    for (const auto& path : options_.paths) add_path(PlaceKind::folder, path);
    add_variable(PlaceKind::plugin_files, "TENON_PLUGIN_FILES");
    add_variable(PlaceKind::plugin_path, "TENON_PLUGIN_PATH");
    if (!options_.installed.empty()) add_path(PlaceKind::installed, options_.installed);
    return std::move(report_);
  }

 private:
  [[nodiscard]] std::optional<std::string> variable(const char* name) const {
    if (!options_.use_environment) return std::nullopt;
    return options_.variable ? options_.variable(name) : environment_variable(name);
  }

  void read_filters() {
    select_ = GlobList(variable("TENON_SELECT").value_or(""));
    disable_ = GlobList(variable("TENON_DISABLE").value_or(""));
  }

  Place& new_place(PlaceKind kind, std::filesystem::path path) {
    broken_manifests_.clear();
    return report_.places.emplace_back(Place{kind, std::move(path)});
  }

  Candidate& new_candidate(std::filesystem::path path) {
    Place& place = report_.places.back();
    ++place.num_candidates;
    auto candidate = std::make_shared<Candidate>();
    candidate->place = place.kind;
    candidate->place_order = report_.places.size() - 1;
    candidate->path = std::move(path);
    return *report_.candidates.emplace_back(std::move(candidate));
  }

  static void refuse(Candidate& candidate, const Status& why) {
    candidate.error = why.error();
    candidate.reason = why.text();
  }

  void add_static_plugin(const tenon_plugin_head* plugin) {
    if (report_.places.empty()) new_place(PlaceKind::static_list, {});
    Candidate& candidate = new_candidate({});
    candidate.linked = plugin;
    auto linked = Plugin::from_static(plugin);
    if (!linked.ok()) return refuse(candidate, std::move(linked).status());
    take_record(candidate, (*linked)->record(), nullptr);
  }

  /// A list of paths, separated by colons. An empty entry would mean the current directory, which
  /// is never searched.
  void add_variable(PlaceKind kind, const char* name) {
    if (options_.use_environment && !options_.variable && is_privileged() && std::getenv(name)) {
      Place& place = new_place(kind, {});
      place.error = Error::AccessFailed;
      place.reason = "ignored: this process has more rights than the one who started it";
      return;
    }
    const std::string value = variable(name).value_or("");
    if (value.empty()) return;
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(':', begin), value.size());
      add_path(kind, value.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  void add_path(PlaceKind kind, const std::filesystem::path& path) {
    Place& place = new_place(kind, path);
    if (path.empty()) {
      return refuse(place, error(Error::InvalidArgument,
                                 "an empty entry would mean the current directory, which is never "
                                 "searched"));
    }
    if (!path.is_absolute()) {
      return refuse(place, error(Error::InvalidArgument, path.native(),
                                 ": is a relative path, expected one that begins with /"));
    }
    const bool only_folders = kind == PlaceKind::plugin_path || kind == PlaceKind::installed;
    std::error_code ignored;
    if (only_folders || std::filesystem::is_directory(path, ignored)) return add_folder(path);
    if (path.extension() == ".json") {
      add_manifest(path, open_file(path, Trust::checked));
    } else {
      add_library(open_file(path, Trust::checked), path);
    }
  }

  static void refuse(Place& place, const Status& why) {
    place.error = why.error();
    // The place is named by its path already.
    std::string_view reason = why.text();
    const std::string path = place.path.native() + ": ";
    if (reason.starts_with(path)) reason.remove_prefix(path.size());
    place.reason = reason;
  }

  /// Manifests come first, so that what they say of a library counts and not only its name.
  void add_folder(const std::filesystem::path& path) {
    auto folder = Folder::open(path);
    if (!folder.ok()) return refuse(report_.places.back(), std::move(folder).status());
    auto names = folder->list();
    if (!names.ok()) return refuse(report_.places.back(), std::move(names).status());
    for (const std::string& name : *names) {
      if (name.ends_with(".json")) add_manifest(path / name, folder->open_file(name));
    }
    for (const std::string& name : *names) {
      if (!is_library_name(name)) continue;
      auto file = folder->open_file(name);
      // Putting a path together is not free, and there may be a thousand of them.
      const std::filesystem::path refused = file.ok() ? std::filesystem::path() : path / name;
      add_library(std::move(file), refused);
    }
  }

  [[nodiscard]] static bool is_library_name(std::string_view name) {
#ifdef __APPLE__
    if (name.ends_with(".dylib")) return true;
#endif
    return name.ends_with(".so");
  }

  /// `refused` is the path of a file that could not be opened.
  void add_library(Result<OpenedFile> file, const std::filesystem::path& refused) {
    const std::filesystem::path& path = file.ok() ? file->path : refused;
    if (file.ok() && is_repeated(path, file->identity)) return;
    Candidate& candidate = new_candidate(path);
    if (!file.ok()) return refuse(candidate, std::move(file).status());
    if (!broken_manifests_.empty()) {
      const auto broken = broken_manifests_.find(path.stem().native());
      if (broken != broken_manifests_.end()) {
        return refuse(candidate, error(Error::AccessFailed, path.native(), ": its manifest ",
                                       broken->second, " is refused"));
      }
    }
    remember(candidate, file->identity);
    read_plugin(candidate, *file, nullptr);
  }

  void add_manifest(const std::filesystem::path& path, Result<OpenedFile> file) {
    auto manifest = file.ok() ? read_manifest(*file, path) : std::move(file).status();
    if (!manifest.ok()) {
      // What it meant is not known; the library of the same name is not taken without it.
      broken_manifests_.emplace(path.stem().native(), path.native());
      Candidate& candidate = new_candidate({});
      candidate.manifest = path;
      return refuse(candidate, std::move(manifest).status());
    }
    const std::filesystem::path library =
        (path.parent_path() / manifest->library).lexically_normal();
    auto plugin = open_file(library, Trust::checked);
    if (plugin.ok() && is_repeated(library, plugin->identity)) return;
    Candidate& candidate = new_candidate(library);
    candidate.manifest = path;
    candidate.sha256 = manifest->sha256;
    candidate.facts = manifest->facts;
    if (!plugin.ok()) {
      return refuse(candidate, std::move(plugin).status().with_context(path.native()));
    }
    remember(candidate, plugin->identity);
    read_plugin(candidate, *plugin, &*manifest);
  }

  static Result<Manifest> read_manifest(const OpenedFile& file, const std::filesystem::path& path) {
    if (file.identity.size > max_manifest_size) {
      return error(Error::InvalidArgument, path.native(), ": a manifest of ", file.identity.size,
                   " bytes, expected at most ", max_manifest_size);
    }
    std::string text(static_cast<std::size_t>(file.identity.size), '\0');
    const ::ssize_t size = ::pread(file.descriptor.get(), text.data(), text.size(), 0);
    if (size < 0) return error(Error::AccessFailed, path.native(), ": ", std::strerror(errno));
    text.resize(static_cast<std::size_t>(size));
    return parse_manifest(text, path.native());
  }

  /// Whether the file was looked at before, by whatever name. In another place that is worth a line
  /// in lists.
  bool is_repeated(const std::filesystem::path& path, const FileIdentity& identity) {
    const auto before = seen_.find({identity.device, identity.inode});
    if (before == seen_.end()) return false;
    if (before->second->place_order + 1 == report_.places.size()) return true;
    Candidate& candidate = new_candidate(path);
    candidate.error = Error::RegistrationAlreadyRegistered;
    candidate.reason = concat(path.native(), ": is the same file as ",
                              before->second->path.native(), ", which was found first");
    return true;
  }

  void remember(const Candidate& candidate, const FileIdentity& identity) {
    seen_.emplace(std::pair{identity.device, identity.inode}, &candidate);
  }

  void read_plugin(Candidate& candidate, const OpenedFile& file, const Manifest* manifest) {
    auto record = peek(file);
    if (!record.ok()) return refuse(candidate, std::move(record).status());
    take_record(candidate, *std::move(record), manifest);
  }

  void take_record(Candidate& candidate, PluginRecord record, const Manifest* manifest) {
    candidate.record = std::move(record);
    candidate.backends = candidate.record->backends;
    Status fits = check_abi(*candidate.record);
    if (fits.ok() && manifest) {
      fits = check_manifest(*manifest, *candidate.record).with_context(candidate.manifest.native());
    }
    if (!fits.ok()) {
      return refuse(candidate, std::move(fits).with_context(candidate.origin()));
    }
    if (manifest) apply(*manifest, candidate);
    for (const BackendRecord& backend : candidate.backends) {
      candidate.disabled.push_back(why_disabled(candidate, backend));
    }
  }

  static void apply(const Manifest& manifest, Candidate& candidate) {
    for (BackendRecord& backend : candidate.backends) {
      for (const ManifestBackend& said : manifest.backends) {
        if (said.id != backend.id) continue;
        backend.tags.insert(backend.tags.end(), said.tags.begin(), said.tags.end());
        backend.priority = said.priority.value_or(backend.priority);
      }
    }
  }

  /// A pattern is held against the backend's id and the name of the plugin's file. Not against the
  /// plugin's name: that is its first backend's id unless the author gave one, and whoever disables
  /// that backend does not mean the others.
  [[nodiscard]] std::string why_disabled(const Candidate& candidate,
                                         const BackendRecord& backend) const {
    if (disable_.empty() && select_.empty()) return {};
    const auto matches = [&](const GlobList& globs) {
      return globs.matches(backend.id) ||
             (!candidate.path.empty() && globs.matches(candidate.path.filename().native()));
    };
    if (matches(disable_)) {
      return concat(candidate.origin(), ": backend '", backend.id,
                    "' is disabled by TENON_DISABLE");
    }
    if (!select_.empty() && !matches(select_)) {
      return concat(candidate.origin(), ": backend '", backend.id,
                    "' is not selected by TENON_SELECT");
    }
    return {};
  }

  const DiscoveryOptions& options_;
  GlobList select_;
  GlobList disable_;
  SearchReport report_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, const Candidate*> seen_;
  std::map<std::string, std::string> broken_manifests_;  // In this place: stem, path.
};

}  // namespace detail

/// Searches all places of `options` and reads the record of every plugin that is there: no library
/// is loaded.
///
/// A file that cannot be used is a candidate with its reason and never a failure of the search. In
/// folders, files named *.json are manifests and files named *.so (also *.dylib on macOS) plugins;
/// folders in them are not entered. Every file and folder is opened with `Trust::checked`. A file
/// that several places name is taken once, from the first.
///
/// threads: any.
[[nodiscard]] inline SearchReport discover(const DiscoveryOptions& options = {}) {
  return detail::Search(options).run();
}

/// The search as `BackendRegistry::add_search` wants it.
[[nodiscard]] inline std::function<SearchReport()> discovery(DiscoveryOptions options = {}) {
  return [options = std::move(options)] { return discover(options); };
}

}  // namespace tenon::host
