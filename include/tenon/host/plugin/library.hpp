// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/binary/elf_dependencies.hpp"
#include "tenon/host/binary/peek.hpp"
#include "tenon/host/files/environment.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/files/trusted_path.hpp"

namespace tenon::host {

namespace detail {

/// A name by which the dynamic loader opens the very file behind `descriptor`, or an empty one
/// where the system has no /proc.
///
/// The number of the process and not "self", so that a debugger can open it too. glibc compares
/// names of what is loaded before it opens anything, and a descriptor's number may come back while
/// an older library cannot be unloaded; so every name is spelt in its own way, the bits of a
/// counter written as "/" and "/.".
inline std::string descriptor_name(const OpenedFile& file) {
#if defined(__linux__)
  static std::atomic<std::uint64_t> counter = 1;
  std::string name = concat("/proc/", static_cast<std::int64_t>(::getpid()));
  for (std::uint64_t bits = counter++; bits != 0; bits >>= 1) name += (bits & 1) != 0 ? "/." : "/";
  name += concat("/fd/", file.descriptor.get());
  struct stat status{};
  if (::stat(name.c_str(), &status) == 0 && FileIdentity::of(status) == file.identity) return name;
#else
  static_cast<void>(file);
#endif
  return {};
}

/// Whether `dlclose` of the last user takes a library out of memory. musl's does nothing.
#if defined(__linux__) && !defined(__GLIBC__) && !defined(__BIONIC__)
inline constexpr bool loader_unloads = false;
#else
inline constexpr bool loader_unloads = true;
#endif

/// Leak checkers and profilers need the symbols after a library's last use.
inline bool keeps_libraries() {
  return !environment_variable("TENON_NO_UNLOAD").value_or("").empty();
}

/// Directories of a run path that are relative to the library itself: "$ORIGIN", "${ORIGIN}/lib".
[[gnu::cold]] inline std::vector<std::filesystem::path> folders_beside(
    const elf::Dependencies& library, const std::filesystem::path& path) {
  const std::string run_path = library.run_path.value_or(library.rpath.value_or(""));
  std::vector<std::filesystem::path> out;
  for (std::size_t begin = 0; begin <= run_path.size();) {
    const std::size_t end = std::min(run_path.find(':', begin), run_path.size());
    const std::string_view entry = std::string_view(run_path).substr(begin, end - begin);
    begin = end + 1;
    for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"}) {
      if (!entry.starts_with(origin)) continue;
      const std::string_view rest = entry.substr(origin.size());
      if (!rest.empty() && !rest.starts_with('/')) continue;
      out.push_back((path.parent_path() / concat(".", rest)).lexically_normal());
    }
  }
  return out;
}

/// One dlopen, undone on destruction. The descriptor stays open as long, so that its number is not
/// reused.
class LibraryHandle {
 public:
  static Result<LibraryHandle> open(OpenedFile file) {
    const std::string name = descriptor_name(file);
    const std::string& loaded_name = name.empty() ? file.path.native() : name;
    void* handle = ::dlopen(loaded_name.c_str(),
                            RTLD_NOW | RTLD_LOCAL | (keeps_libraries() ? RTLD_NODELETE : 0));
    if (!handle) {
      const char* reason = ::dlerror();
      return error(Error::AccessFailed, "cannot load ", file.path.native(), ": ",
                   with_path(reason ? reason : "no reason given", loaded_name, file.path.native()));
    }
    LibraryHandle out(handle, std::move(file));
    TENON_RETURN_IF_ERROR(out.check_unchanged(name.empty()));
    return out;
  }

  LibraryHandle(LibraryHandle&& other) noexcept
      : file_(std::move(other.file_)), handle_(std::exchange(other.handle_, nullptr)) {}
  LibraryHandle& operator=(LibraryHandle&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~LibraryHandle() {
    if (handle_) ::dlclose(handle_);
  }

  [[nodiscard]] void* get() const noexcept { return handle_; }

 private:
  LibraryHandle(void* handle, OpenedFile file) noexcept : file_(std::move(file)), handle_(handle) {}

  /// The loader's own words, with the path that a person knows.
  static std::string with_path(std::string text, std::string_view name, std::string_view path) {
    if (const auto at = text.find(name); at != std::string::npos) {
      text.replace(at, name.size(), path);
    }
    return text;
  }

  /// Whether the file is still what was checked: written to meanwhile, or, where it had to be
  /// loaded by its path, replaced.
  [[nodiscard]] Status check_unchanged(bool by_path) const {
    struct stat status{};
    const int failed =
        by_path ? ::stat(file_.path.c_str(), &status) : ::fstat(file_.descriptor.get(), &status);
    if (failed == 0 && FileIdentity::of(status) == file_.identity) return ok();
    return error(Error::InvalidState, file_.path.native(),
                 ": was changed while it was loaded; replace plugins by renaming a new file");
  }

  OpenedFile file_;
  void* handle_;
};

}  // namespace detail

/// A loaded shared library, closed on destruction.
///
/// Loaded with RTLD_NOW, so that a missing symbol is an error here and not in the middle of a run,
/// and RTLD_LOCAL, so that plugins do not see each other's symbols. RTLD_DEEPBIND is not used: it
/// gives the library a second copy of the C++ runtime's state. With the variable TENON_NO_UNLOAD it
/// stays in memory.
class Library {
 public:
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
    Library library;
    std::vector<FileIdentity> visited{file.identity};
    TENON_RETURN_IF_ERROR(library.load_beside(file, visited));
    TENON_TRY(auto handle, detail::LibraryHandle::open(std::move(file)));
    library.handles_.push_back(std::move(handle));
    return library;
  }

  Library(Library&&) noexcept = default;
  Library& operator=(Library&&) noexcept = default;
  ~Library() {
    while (!handles_.empty()) handles_.pop_back();
  }

  /// Address of an exported symbol, or null.
  [[nodiscard]] const void* symbol(const char* name) const noexcept {
    return ::dlsym(handles_.back().get(), name);
  }

 private:
  Library() = default;

  /// $ORIGIN would mean /proc for the dynamic loader. It takes what is loaded already for a name
  /// that is needed, when that is its DT_SONAME.
  Status load_beside(const OpenedFile& file, std::vector<FileIdentity>& visited) {
    if constexpr (this_platform.format != BinaryFormat::elf) return ok();
    TENON_TRY(const auto library, with_bytes(file, [](std::span<const std::byte> bytes) {
                return detail::elf::read_dependencies(detail::FileBytes(bytes),
                                                      this_platform.machine);
              }));
    for (const std::string& name : library.needed) TENON_RETURN_IF_ERROR(check_needed(file, name));
    for (const auto& folder : detail::folders_beside(library, file.path)) {
      for (const std::string& name : library.needed) {
        if (name.find('/') != std::string::npos) continue;
        auto needed = open_file(folder / name, file.trust);
        if (needed.error() == Error::NotFound) continue;
        if (!needed.ok()) {
          return std::move(needed).status().with_context(concat("needed by ", file.path.native()));
        }
        if (std::ranges::find(visited, needed->identity) != visited.end()) continue;
        visited.push_back(needed->identity);
        TENON_RETURN_IF_ERROR(check_soname(*needed, name));
        TENON_RETURN_IF_ERROR(load_beside(*needed, visited));
        TENON_TRY(auto handle, detail::LibraryHandle::open(*std::move(needed)));
        handles_.push_back(std::move(handle));
      }
    }
    return ok();
  }

  /// The dynamic loader takes a name with a slash for a path, from the current folder if it is
  /// relative.
  static Status check_needed(const OpenedFile& file, const std::string& name) {
    if (name.find('/') == std::string::npos) return ok();
    if (name.front() != '/') {
      return error(Error::InvalidArgument, file.path.native(), ": needs ", host::quoted(name),
                   ", which the dynamic loader would take from the current folder; expected a "
                   "name without a slash (link with a library that has a DT_SONAME)");
    }
    auto needed = open_file(name, file.trust);
    return needed.ok()
               ? ok()
               : std::move(needed).status().with_context(concat("needed by ", file.path.native()));
  }

  static Status check_soname(const OpenedFile& file, const std::string& name) {
    TENON_TRY(const auto library, with_bytes(file, [](std::span<const std::byte> bytes) {
                return detail::elf::read_dependencies(detail::FileBytes(bytes),
                                                      this_platform.machine);
              }));
    if (library.soname == name) return ok();
    return error(Error::InvalidArgument, file.path.native(), ": its DT_SONAME is '", library.soname,
                 "', expected its name '", name, "' (link it with -Wl,-soname,", name, ")");
  }

  std::vector<detail::LibraryHandle> handles_;  // What it needs first; itself last.
};

}  // namespace tenon::host
