// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/lists.hpp"
#include "tenon/core/object/elf.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/layers/trust/sha256.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/impl/plugin/path_library.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/loader/plugin/platform.hpp"
#include "tenon/host/loader/plugin/plugin_gate.hpp"
#include "tenon/host/platform/normal_path.hpp"
#include "tenon/host/platform/trusted_path.hpp"
#if defined(_WIN32)
#include "tenon/host/platform/impl/windows/library_handle.hpp"
#else
#include "tenon/host/platform/impl/posix/library_handle.hpp"
#include "tenon/host/platform/path_text.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

inline std::string run_path_of(const tenon::detail::elf::Dependencies& library) {
  return library.run_path.value_or(library.rpath.value_or(""));
}

/// The part of an entry of a run path after "$ORIGIN" or "${ORIGIN}"; nothing for another entry.
inline std::optional<std::string_view> after_origin(std::string_view entry) noexcept {
  for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"}) {
    if (!entry.starts_with(origin)) continue;
    const std::string_view rest = entry.substr(origin.size());
    if (rest.empty() || rest.starts_with('/')) return rest;
  }
  return std::nullopt;
}

/// Directories of a run path that are relative to the library itself: "$ORIGIN", "${ORIGIN}/lib".
[[gnu::cold]] inline std::vector<std::string> directories_beside(
    const tenon::detail::elf::Dependencies& library, const std::filesystem::path& path) {
  std::vector<std::string> out;
  const std::string run_path = run_path_of(library);
  for (const std::string_view entry : split(run_path, ':')) {
    const auto rest = after_origin(entry);
    if (rest) out.push_back(path_text(normal_path(path.parent_path() / concat(".", *rest))));
  }
  return out;
}

/// Entries of a run path that are neither relative to the library itself nor directories of the
/// system: of the current working directory, of applications, with another word of the loader.
[[gnu::cold]] inline std::vector<std::string> directories_elsewhere(
    const tenon::detail::elf::Dependencies& library) {
  std::vector<std::string> out;
  const std::string run_path = run_path_of(library);
  if (run_path.empty()) return out;
  for (const std::string_view entry : split(run_path, ':')) {
    if (after_origin(entry)) continue;
    const std::string normal = path_text(normal_path(path_of(std::string(entry)))) + "/";
    bool is_system = entry.find('$') == std::string_view::npos;
    const auto begins = [&](std::string_view with) { return normal.starts_with(with); };
    is_system &= begins("/usr/") || begins("/lib/") || begins("/lib64/");
    if (!is_system) out.emplace_back(entry);
  }
  return out;
}

}  // namespace detail

/// Whether a plugin may need libraries by paths, which the dynamic loader opens itself.
enum class Paths : std::uint8_t {
  trusted,  ///< An absolute path, which is trusted like the plugin.
  refused,  ///< None, but for directories of the system: what was checked is all that is loaded.
};

/// The identity of the files of a plugin, as `Library::files_of` finds them: the SHA-256 of one
/// file; of several files, the SHA-256 of their SHA-256.
///
/// threads: any. errors: AccessFailed when a file cannot be read.
inline Result<Sha256> digest_of(std::span<const OpenedFile> files) {
  Sha256Hasher hasher;
  for (const OpenedFile& file : files) {
    TENON_TRY(const Sha256 one, sha256_of_file(file.descriptor.get()));
    if (files.size() == 1) return one;
    hasher.update(std::as_bytes(std::span(one.bytes)));
  }
  return hasher.finish();
}

/// The files that were checked, loaded. With the variable TENON_NO_UNLOAD they stay in memory.
class Library final : public LoadedLibraries {
 public:
  /// The libraries that an ELF file names and where it looks for them.
  using Needs = tenon::detail::elf::Dependencies;

  /// Reads them from all bytes of a file; none from a file of another format than ELF.
  [[nodiscard]] static Result<Needs> read_needs(std::span<const std::byte> bytes) {
    if constexpr (this_platform.format != BinaryFormat::elf) return Needs();
    return tenon::detail::elf::read_dependencies(FileBytes(bytes), this_platform.machine);
  }

  /// Loads the very file that is open, whatever its path names by now: on Linux through /proc;
  /// where that is missing, by its path, and the two are compared before and afterwards.
  ///
  /// Libraries that it needs and that its run path finds next to it ($ORIGIN) are loaded first, in
  /// the same way and with the same trust. A needed library that is named by a relative path is
  /// refused. A library that is named by an absolute path must be allowed by `files_of`.
  ///
  /// errors: AccessFailed with the loader's own message when it cannot be loaded; InvalidState when
  /// it was changed meanwhile; and the errors of `open_file` for a library next to it.
  [[nodiscard]] static Result<Library> load(OpenedFile file) {
    TENON_TRY(auto files, files_of(std::move(file)));
    return load(std::move(files));
  }

  /// The files that are loaded for a plugin: each library next to it after those that it needs, and
  /// the plugin last. `gates` admitted the file and are asked for each of the others. Under a
  /// policy, and with `Paths::refused`, no library may be loaded by a path that the dynamic loader
  /// opens (NotSupported).
  [[nodiscard]] static Result<std::vector<OpenedFile>> files_of(OpenedFile file,
                                                                const PluginGates& gates = {},
                                                                Paths paths = Paths::trusted) {
    TENON_TRY(const Needs needs, needs_of(file));
    const Collection collection{gates, has_policy(gates) ? Paths::refused : paths};
    std::vector<FileIdentity> visited{file.identity};
    std::vector<OpenedFile> out;
    TENON_RETURN_IF_ERROR(collection.add_beside(file, needs, visited, out));
    out.push_back(std::move(file));
    return out;
  }

  /// Loads what `files_of` found: these files, and nothing else that is next to the plugin.
  [[nodiscard]] static Result<Library> load(std::vector<OpenedFile> files) {
    Library library;
    for (OpenedFile& file : files) {
      TENON_TRY(auto handle,
                detail::LibraryHandle::open(std::move(file), detail::keeps_libraries()));
      library.handles_.push_back(std::move(handle));
    }
    return library;
  }

  Library(Library&&) noexcept = default;
  Library& operator=(Library&&) noexcept = default;
  ~Library() override {
    while (!handles_.empty()) handles_.pop_back();
  }

  [[nodiscard]] const void* symbol(const char* name) const noexcept override {
    return handles_.back().symbol(name);
  }

  /// SHA-256 of the SHA-256 of its file and of each library next to it that was loaded with it.
  [[nodiscard]] Result<Sha256> digest() const override {
    Sha256Hasher hasher;
    for (const detail::LibraryHandle& handle : handles_) {
      TENON_TRY(const Sha256 one, sha256_of_file(handle.file().descriptor.get()));
      TENON_RETURN_IF_ERROR(handle.check_unchanged());
      hasher.update(std::as_bytes(std::span(one.bytes)));
    }
    return hasher.finish();
  }

 private:
  Library() = default;

  /// How the files of one plugin are found.
  struct Collection {
    const PluginGates& gates;
    Paths paths;

    /// $ORIGIN would mean /proc for the dynamic loader. It takes what is loaded already for a name
    /// that is needed, when that is its DT_SONAME.
    Status add_beside(const OpenedFile& file, const Needs& needs,
                      std::vector<FileIdentity>& visited, std::vector<OpenedFile>& out) const {
      for (const std::string& name : needs.needed) TENON_RETURN_IF_ERROR(check_needed(file, name));
      TENON_RETURN_IF_ERROR(check_run_path(file, needs));
      for (const std::string& directory : detail::directories_beside(needs, file.path)) {
        for (const std::string& name : needs.needed) {
          if (name.find('/') != std::string::npos) continue;
          auto needed = open_file(path_of(directory) / name, file.trust);
          if (needed.error() == Error::NotFound) continue;
          const auto where = [&] { return concat("needed by ", path_text(file.path)); };
          if (!needed.ok()) return std::move(needed).status().with_context(where());
          bool is_visited = false;
          for (const FileIdentity& each : visited) is_visited |= each == needed->identity;
          if (is_visited) continue;
          visited.push_back(needed->identity);
          needed = admit(*std::move(needed), {}, gates);
          if (!needed.ok()) return std::move(needed).status().with_context(where());
          TENON_TRY(const Needs needs_of_it, needs_of(*needed));
          TENON_RETURN_IF_ERROR(check_soname(*needed, needs_of_it, name));
          TENON_RETURN_IF_ERROR(add_beside(*needed, needs_of_it, visited, out));
          out.push_back(*std::move(needed));
        }
      }
      return ok();
    }

    /// The dynamic loader takes a name with a slash for a path, from the current working directory
    /// if it is relative.
    [[nodiscard]] Status check_needed(const OpenedFile& file, const std::string& name) const {
      if (name.find('/') == std::string::npos) return ok();
      if (name.front() != '/') {
        return error(
            Error::InvalidArgument, path_text(file.path), ": needs ", host::quoted(name),
            ", which the dynamic loader would take from the current working directory; expected a "
            "name without a slash (link with a library that has a DT_SONAME)");
      }
      if (paths == Paths::refused) {
        return error(Error::NotSupported, path_text(file.path), ": needs ", host::quoted(name),
                     ", which the dynamic loader opens by its path, so that what was admitted need "
                     "not be what is loaded; expected a name without a slash");
      }
      auto needed = open_file(name, file.trust);
      return needed.ok() ? ok()
                         : std::move(needed).status().with_context(
                               concat("needed by ", path_text(file.path)));
    }

    /// Whatever is in a directory of a run path by the time of the load is loaded, and nothing has
    /// checked it.
    [[nodiscard]] Status check_run_path(const OpenedFile& file, const Needs& needs) const {
      if (paths == Paths::trusted) return ok();
      for (const std::string& entry : detail::directories_elsewhere(needs)) {
        return error(Error::NotSupported, path_text(file.path), ": its run path has ",
                     host::quoted(entry),
                     ", where the dynamic loader takes libraries that nothing admitted; expected "
                     "$ORIGIN, or a directory below /usr or /lib");
      }
      return ok();
    }
  };

  static Result<Needs> needs_of(const OpenedFile& file) {
    if constexpr (this_platform.format != BinaryFormat::elf) return Needs();
    return with_bytes(file, &read_needs);
  }

  static Status check_soname(const OpenedFile& file, const Needs& needs, const std::string& name) {
    if (needs.soname == name) return ok();
    return error(Error::InvalidArgument, path_text(file.path), ": its DT_SONAME is '", needs.soname,
                 "', expected its name '", name, "' (link it with -Wl,-soname,", name, ")");
  }

  std::vector<detail::LibraryHandle> handles_;  // What it needs first; itself last.
};

}}}  // namespace tenon::TENON_RELEASE::host
