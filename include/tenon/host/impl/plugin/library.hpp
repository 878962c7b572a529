// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/lists.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/binary/peek.hpp"
#include "tenon/host/files/environment.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/files/sha256.hpp"
#include "tenon/host/impl/binary/elf_dependencies.hpp"
#include "tenon/host/platform/normal_path.hpp"
#include "tenon/host/platform/trusted_path.hpp"
#include "tenon/host/plugin/library_policy.hpp"
#if defined(_WIN32)
#include "tenon/host/impl/platform/windows/library_handle.hpp"
#else
#include "tenon/host/impl/platform/posix/library_handle.hpp"
#include "tenon/host/platform/path_text.hpp"
#endif

namespace tenon::inline TENON_RELEASE::host {

namespace detail {

/// Leak checkers and profilers need the symbols after a library's last use.
inline bool keeps_libraries() {
  return !environment_variable("TENON_NO_UNLOAD").value_or("").empty();
}

/// Directories of a run path that are relative to the library itself: "$ORIGIN", "${ORIGIN}/lib".
[[gnu::cold]] inline std::vector<std::string> directories_beside(
    const elf::Dependencies& library, const std::filesystem::path& path) {
  const std::string run_path = library.run_path.value_or(library.rpath.value_or(""));
  std::vector<std::string> out;
  for (const std::string_view entry : split(run_path, ':')) {
    for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"}) {
      if (!entry.starts_with(origin)) continue;
      const std::string_view rest = entry.substr(origin.size());
      if (!rest.empty() && !rest.starts_with('/')) continue;
      out.push_back(path_text(normal_path(path.parent_path() / concat(".", rest))));
    }
  }
  return out;
}

}  // namespace detail

/// A loaded shared library, closed on destruction.
///
/// Loaded with RTLD_NOW, so that a missing symbol is an error here and not in the middle of a run,
/// and RTLD_LOCAL, so that plugins do not see each other's symbols. RTLD_DEEPBIND is not used: it
/// gives the library a second copy of the C++ runtime's state. With the variable TENON_NO_UNLOAD it
/// stays in memory.
class Library {
 public:
  /// The libraries that an ELF file names and where it looks for them.
  using Needs = detail::elf::Dependencies;

  /// Reads them from all bytes of a file; none from a file of another format than ELF.
  [[nodiscard]] static Result<Needs> read_needs(std::span<const std::byte> bytes) {
    if constexpr (this_platform.format != BinaryFormat::elf) return Needs();
    return detail::elf::read_dependencies(FileBytes(bytes), this_platform.machine);
  }

  /// Loads the very file that is open, whatever its path names by now: on Linux through /proc;
  /// where that is missing, by its path, and the two are compared afterwards.
  ///
  /// Libraries that it needs and that its run path finds next to it ($ORIGIN) are loaded first, in
  /// the same way and with the same trust. A needed library that is named by a relative path is
  /// refused, and one that is named by an absolute path must be one that may be loaded.
  ///
  /// errors: AccessFailed with the loader's own message when it cannot be loaded; InvalidState when
  /// it was changed meanwhile; and those of `open_file` for a library next to it.
  [[nodiscard]] static Result<Library> load(OpenedFile file) {
    TENON_TRY(const Needs needs, needs_of(file));
    return load(std::move(file), needs);
  }

  /// The same, with what `read_needs` read from the file. `policy`, when it is not null, admitted
  /// the file and is asked for each library next to it; none is then loaded by an absolute path
  /// (NotSupported).
  [[nodiscard]] static Result<Library> load(OpenedFile file, const Needs& needs,
                                            const LibraryPolicy* policy = nullptr) {
    Library library;
    library.policy_ = policy;
    std::vector<FileIdentity> visited{file.identity};
    TENON_RETURN_IF_ERROR(library.load_beside(file, needs, visited));
    TENON_TRY(auto handle, detail::LibraryHandle::open(std::move(file), detail::keeps_libraries()));
    library.handles_.push_back(std::move(handle));
    return library;
  }

  /// NotSupported when a library next to the file would be loaded with it: under a policy, for a
  /// plugin that another process loads, which has no policy.
  [[nodiscard]] static Status check_none_beside(const OpenedFile& file, const Needs& needs) {
    for (const std::string& directory : detail::directories_beside(needs, file.path)) {
      for (const std::string& name : needs.needed) {
        if (!open_file(path_of(directory) / name, Trust::caller).ok()) continue;
        return error(Error::NotSupported, path_text(file.path), ": needs ", name,
                     ", which is next to it, and is to run in a process of its own, where no "
                     "signature is checked");
      }
    }
    return ok();
  }

  Library(Library&&) noexcept = default;
  Library& operator=(Library&&) noexcept = default;
  ~Library() {
    while (!handles_.empty()) handles_.pop_back();
  }

  /// Address of an exported symbol, or null.
  [[nodiscard]] const void* symbol(const char* name) const noexcept {
    return handles_.back().symbol(name);
  }

  /// SHA-256 of the SHA-256 of its file and of each library next to it that was loaded with it.
  ///
  /// threads: any. errors: AccessFailed when a file cannot be read; InvalidState when one was
  /// changed since it was loaded.
  [[nodiscard]] Result<Sha256> digest() const {
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

  /// $ORIGIN would mean /proc for the dynamic loader. It takes what is loaded already for a name
  /// that is needed, when that is its DT_SONAME.
  Status load_beside(const OpenedFile& file, const Needs& needs,
                     std::vector<FileIdentity>& visited) {
    for (const std::string& name : needs.needed) TENON_RETURN_IF_ERROR(check_needed(file, name));
    for (const std::string& directory : detail::directories_beside(needs, file.path)) {
      for (const std::string& name : needs.needed) {
        if (name.find('/') != std::string::npos) continue;
        auto needed = open_file(path_of(directory) / name, file.trust);
        if (needed.error() == Error::NotFound) continue;
        if (!needed.ok()) {
          return std::move(needed).status().with_context(
              concat("needed by ", path_text(file.path)));
        }
        bool is_visited = false;
        for (const FileIdentity& each : visited) is_visited |= each == needed->identity;
        if (is_visited) continue;
        visited.push_back(needed->identity);
        if (policy_) {
          needed = policy_->admit(*std::move(needed), {});
          if (!needed.ok()) {
            return std::move(needed).status().with_context(
                concat("needed by ", path_text(file.path)));
          }
        }
        TENON_TRY(const Needs needs_of_it, needs_of(*needed));
        TENON_RETURN_IF_ERROR(check_soname(*needed, needs_of_it, name));
        TENON_RETURN_IF_ERROR(load_beside(*needed, needs_of_it, visited));
        TENON_TRY(auto handle,
                  detail::LibraryHandle::open(*std::move(needed), detail::keeps_libraries()));
        handles_.push_back(std::move(handle));
      }
    }
    return ok();
  }

  /// The dynamic loader takes a name with a slash for a path, from the current working directory if
  /// it is relative.
  [[nodiscard]] Status check_needed(const OpenedFile& file, const std::string& name) const {
    if (name.find('/') == std::string::npos) return ok();
    if (name.front() != '/') {
      return error(
          Error::InvalidArgument, path_text(file.path), ": needs ", host::quoted(name),
          ", which the dynamic loader would take from the current working directory; expected a "
          "name without a slash (link with a library that has a DT_SONAME)");
    }
    if (policy_) {
      return error(Error::NotSupported, path_text(file.path), ": needs ", host::quoted(name),
                   ", which the dynamic loader opens by its path, so that what was admitted need "
                   "not be what is loaded; expected a name without a slash");
    }
    auto needed = open_file(name, file.trust);
    return needed.ok() ? ok()
                       : std::move(needed).status().with_context(
                             concat("needed by ", path_text(file.path)));
  }

  static Result<Needs> needs_of(const OpenedFile& file) {
    if constexpr (this_platform.format != BinaryFormat::elf) return Needs();
    return with_bytes(file, &read_needs);
  }

  static Status check_soname(const OpenedFile& file, const Needs& needs, const std::string& name) {
    if (needs.soname == name) return ok();
    return error(Error::InvalidArgument, path_text(file.path), ": its DT_SONAME is '", needs.soname,
                 "', expected its name '", name, "' (link it with -Wl,-soname,", name, ")");
  }

  const LibraryPolicy* policy_ = nullptr;       // Not used after `load`.
  std::vector<detail::LibraryHandle> handles_;  // What it needs first; itself last.
};

}  // namespace tenon::inline TENON_RELEASE::host
