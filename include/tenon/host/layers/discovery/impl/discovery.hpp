// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/discovery/discovery.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/discovery/impl/file_names.hpp"
#include "tenon/host/layers/discovery/impl/glob.hpp"
#include "tenon/host/layers/discovery/impl/manifest.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/platform/environment.hpp"
#include "tenon/host/platform/normal_path.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_at.hpp"
#include "tenon/host/platform/trusted_path.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// One search, from its options to its report.
class Search {
 public:
  explicit Search(const DiscoveryOptions& options) : options_(options) {}

  SearchReport run() && {
    read_filters();
    for (const tenon_plugin_head* plugin : options_.static_plugins) add_static_plugin(plugin);
    for (const auto& path : options_.paths) add_path(SearchPathKind::directory, path);
    add_variable(SearchPathKind::plugin_files, "TENON_PLUGIN_FILES");
    add_variable(SearchPathKind::plugin_path, "TENON_PLUGIN_PATH");
    if (!options_.installed.empty()) add_path(SearchPathKind::installed, options_.installed);
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

  SearchPath& new_search_path(SearchPathKind kind, std::filesystem::path path) {
    broken_manifests_.clear();
    return report_.search_paths.emplace_back(SearchPath{kind, std::move(path)});
  }

  PluginSource& new_source(std::filesystem::path path) {
    SearchPath& searched = report_.search_paths.back();
    ++searched.num_sources;
    auto source = std::make_shared<PluginSource>();
    source->search_path_kind = searched.kind;
    source->search_order = report_.search_paths.size() - 1;
    source->path = std::move(path);
    return *report_.sources.emplace_back(std::move(source));
  }

  static void refuse(PluginSource& source, const Status& why) {
    source.error = why.error();
    source.reason = why.text();
  }

  void add_static_plugin(const tenon_plugin_head* plugin) {
    if (report_.search_paths.empty()) new_search_path(SearchPathKind::static_list, {});
    PluginSource& source = new_source({});
    source.opener = static_plugin_opener(plugin);
    source.description = "static plugin ";
    auto linked = Plugin::from_static(plugin, {});
    if (!linked.ok()) return refuse(source, std::move(linked).status());
    source.description += (*linked)->record().name;
    take_record(source, (*linked)->record(), nullptr);
  }

  /// A list of paths, separated by colons, on Windows by semicolons. An empty entry would mean the
  /// current directory, which is never searched.
  void add_variable(SearchPathKind kind, const char* name) {
    if (options_.use_environment && !options_.variable && is_privileged() && std::getenv(name)) {
      SearchPath& searched = new_search_path(kind, {});
      searched.error = Error::AccessFailed;
      searched.reason = "ignored: this process has more rights than the user who started it";
      return;
    }
    const std::string value = variable(name).value_or("");
    if (value.empty()) return;
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(path_separator, begin), value.size());
      add_path(kind, path_of(std::string_view(value).substr(begin, end - begin)));
      begin = end + 1;
    }
  }

  void add_path(SearchPathKind kind, const std::filesystem::path& path) {
    SearchPath& searched = new_search_path(kind, path);
    if (path.empty()) {
      return refuse(searched,
                    error(Error::InvalidArgument,
                          "an empty entry would mean the current directory, which is never "
                          "searched"));
    }
    if (auto absolute = check_absolute(path); !absolute.ok()) {
      return refuse(searched, std::move(absolute));
    }
    const bool only_directories =
        kind == SearchPathKind::plugin_path || kind == SearchPathKind::installed;
    std::error_code ignored;
    if (only_directories || std::filesystem::is_directory(path, ignored))
      return add_directory(path);
    if (has_extension(path_text(path.filename()), ".json")) {
      add_manifest(path, open_file(path, Trust::checked));
    } else {
      add_library(open_file(path, Trust::checked), path);
    }
  }

  static void refuse(SearchPath& searched, const Status& why) {
    searched.error = why.error();
    // The search path is named by its path already.
    std::string_view reason = why.text();
    const std::string path = path_text(searched.path) + ": ";
    if (reason.starts_with(path)) reason.remove_prefix(path.size());
    searched.reason = reason;
  }

  /// Manifests come first, so that a library with a manifest is found through it.
  void add_directory(const std::filesystem::path& path) {
    auto directory = Directory::open(path);
    if (!directory.ok()) return refuse(report_.search_paths.back(), std::move(directory).status());
    auto names = directory->list();
    if (!names.ok()) return refuse(report_.search_paths.back(), std::move(names).status());
    for (const std::string& name : *names) {
      if (has_extension(name, ".json"))
        add_manifest(path / path_of(name), directory->open_file(name));
    }
    for (const std::string& name : *names) {
      if (!is_library_name(name)) continue;
      auto file = directory->open_file(name);
      // Building a path is not free, and there may be a thousand of them.
      const std::filesystem::path refused =
          file.ok() ? std::filesystem::path() : path / path_of(name);
      add_library(std::move(file), refused);
    }
  }

  [[nodiscard]] static bool is_library_name(std::string_view name) {
#if defined(_WIN32)
    return has_extension(name, ".dll");
#else
#if defined(__APPLE__)
    if (has_extension(name, ".dylib")) return true;
#endif
    return has_extension(name, ".so");
#endif
  }

  /// `refused` is the path of a file that could not be opened.
  void add_library(Result<OpenedFile> file, const std::filesystem::path& refused) {
    const std::filesystem::path& path = file.ok() ? file->path : refused;
    if (file.ok() && is_repeated(path, file->identity)) return;
    PluginSource& source = new_source(path);
    if (!file.ok()) return refuse(source, std::move(file).status());
    if (!broken_manifests_.empty()) {
      const auto broken = broken_manifests_.find(compared_name(path_text(path.stem())));
      if (broken != broken_manifests_.end()) {
        return refuse(source, error(Error::AccessFailed, path_text(path), ": its manifest ",
                                    broken->second, " is refused"));
      }
    }
    remember(source, file->identity);
    read_plugin(source, *file, nullptr);
  }

  void add_manifest(const std::filesystem::path& path, Result<OpenedFile> file) {
    auto manifest = file.ok() ? read_manifest(*file, path) : std::move(file).status();
    if (!manifest.ok()) {
      // Its content is not known; the library of the same name is not taken without it.
      broken_manifests_.emplace(compared_name(path_text(path.stem())), path_text(path));
      PluginSource& source = new_source({});
      source.manifest = path;
      return refuse(source, std::move(manifest).status());
    }
    const std::filesystem::path library = normal_path(path.parent_path() / manifest->library);
    auto plugin = open_file(library, Trust::checked);
    if (plugin.ok() && is_repeated(library, plugin->identity)) {
      return keep_pin(plugin->identity, *manifest, path);
    }
    PluginSource& source = new_source(library);
    source.manifest = path;
    source.sha256 = manifest->sha256;
    source.signature = manifest->signature;
    source.sigstore = manifest->sigstore;
    source.facts = manifest->facts;
    if (!plugin.ok()) {
      return refuse(source, std::move(plugin).status().with_context(path_text(path)));
    }
    remember(source, plugin->identity);
    read_plugin(source, *plugin, &*manifest);
  }

  static Result<Manifest> read_manifest(const OpenedFile& file, const std::filesystem::path& path) {
    if (file.identity.size > max_manifest_size) {
      return error(Error::InvalidArgument, path_text(path), ": a manifest of ", file.identity.size,
                   " bytes, expected at most ", max_manifest_size);
    }
    std::string text(static_cast<std::size_t>(file.identity.size), '\0');
    const std::ptrdiff_t size =
        read_at(file.descriptor.get(), std::as_writable_bytes(std::span(text)), 0);
    if (size < 0) return error(Error::AccessFailed, path_text(path), ": ", std::strerror(errno));
    text.resize(static_cast<std::size_t>(size));
    return parse_manifest(text, path_text(path));
  }

  /// Whether the file was found before, under any name. In another search path that is worth a line
  /// in lists.
  bool is_repeated(const std::filesystem::path& path, const FileIdentity& identity) {
    const auto before = seen_.find({identity.device, identity.inode});
    if (before == seen_.end()) return false;
    if (before->second->search_order + 1 == report_.search_paths.size()) return true;
    PluginSource& source = new_source(path);
    source.error = Error::RegistrationAlreadyRegistered;
    source.reason = concat(path_text(path), ": is the same file as ",
                           path_text(before->second->path), ", which was found first");
    return true;
  }

  /// A second manifest of one library, in the same search path: the first one counts, but a pin
  /// holds whichever of them has it.
  void keep_pin(const FileIdentity& identity, const Manifest& manifest,
                const std::filesystem::path& path) {
    PluginSource& first = *seen_.at({identity.device, identity.inode});
    if (first.search_order + 1 != report_.search_paths.size() || !manifest.sha256) return;
    if (!first.sha256) first.sha256 = manifest.sha256;
    if (*first.sha256 == *manifest.sha256) return;
    refuse(first, error(Error::InvalidArgument, path_text(first.path), ": the manifests ",
                        path_text(first.manifest), " and ", path_text(path),
                        " pin it to different hashes"));
  }

  void remember(PluginSource& source, const FileIdentity& identity) {
    seen_.emplace(std::pair{identity.device, identity.inode}, &source);
  }

  void read_plugin(PluginSource& source, const OpenedFile& file, const Manifest* manifest) {
    source.opener = file_opener(Trust::checked);
    auto record = peek(file);
    if (!record.ok()) return refuse(source, std::move(record).status());
    take_record(source, *std::move(record), manifest);
  }

  void take_record(PluginSource& source, PluginRecord record, const Manifest* manifest) {
    source.record = std::move(record);
    source.backends = source.record->backends;
    Status fits = check_abi(*source.record);
    if (fits.ok() && manifest) {
      fits = check_manifest(*manifest, *source.record).with_context(path_text(source.manifest));
    }
    if (!fits.ok()) {
      return refuse(source, std::move(fits).with_context(source.origin()));
    }
    if (manifest) apply(*manifest, source);
    for (const BackendRecord& backend : source.backends) {
      source.disabled.push_back(why_disabled(source, backend));
    }
  }

  static void apply(const Manifest& manifest, PluginSource& source) {
    for (BackendRecord& backend : source.backends) {
      for (const ManifestBackend& said : manifest.backends) {
        if (said.id != backend.id) continue;
        backend.tags.insert(backend.tags.end(), said.tags.begin(), said.tags.end());
        backend.priority = said.priority.value_or(backend.priority);
      }
    }
  }

  /// A pattern is matched against the backend's id and the name of the plugin's file. It is not
  /// matched against the plugin's name, which is its first backend's id unless the author gave one:
  /// a user who disables that backend does not mean the others.
  [[nodiscard]] std::string why_disabled(const PluginSource& source,
                                         const BackendRecord& backend) const {
    if (disable_.empty() && select_.empty()) return {};
    const auto matches = [&](const GlobList& globs) {
      return globs.matches(backend.id) ||
             (!source.path.empty() && globs.matches(path_text(source.path.filename())));
    };
    if (matches(disable_)) {
      return concat(source.origin(), ": backend '", backend.id, "' is disabled by TENON_DISABLE");
    }
    if (!select_.empty() && !matches(select_)) {
      return concat(source.origin(), ": backend '", backend.id,
                    "' is not selected by TENON_SELECT");
    }
    return {};
  }

  const DiscoveryOptions& options_;
  GlobList select_;
  GlobList disable_;
  SearchReport report_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, PluginSource*> seen_;
  std::map<std::string, std::string> broken_manifests_;  // In this search path: stem, path.
};

}  // namespace detail

SearchReport discover(const DiscoveryOptions& options) { return detail::Search(options).run(); }

std::function<SearchReport()> discovery(DiscoveryOptions options) {
  return [options = std::move(options)] { return discover(options); };
}

}}}  // namespace tenon::TENON_RELEASE::host
