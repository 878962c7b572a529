// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/memory_file.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/opened_file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A name by which the dynamic loader opens the very file behind `descriptor`, or an empty one
/// where the system has no /proc.
inline std::string descriptor_name(const OpenedFile& file) {
#if defined(__linux__)
  std::string name = path_of_descriptor(file.descriptor.get());
  struct stat status{};
  if (::stat(name.c_str(), &status) == 0 && platform::identity_of(status) == file.identity)
    return name;
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

/// One dlopen, undone on destruction. The descriptor stays open as long, so that its number is not
/// reused.
class LibraryHandle {
 public:
  /// With `keep` it is never unloaded.
  static Result<LibraryHandle> open(OpenedFile file, bool keep) {
    const std::string name = descriptor_name(file);
    const std::string& loaded_name = name.empty() ? file.path.native() : name;
    // Before code of what is there now runs. A file in memory is never what is at its path.
    if (name.empty()) TENON_RETURN_IF_ERROR(check_unchanged(file, true));
    void* handle =
        ::dlopen(loaded_name.c_str(), RTLD_NOW | RTLD_LOCAL | (keep ? RTLD_NODELETE : 0));
    if (!handle) {
      const char* reason = ::dlerror();
      return error(Error::AccessFailed, "cannot load ", file.path.native(), ": ",
                   with_path(reason ? reason : "no reason given", loaded_name, file.path.native()));
    }
    LibraryHandle out(handle, std::move(file));
    TENON_RETURN_IF_ERROR(check_unchanged(out.file_, name.empty()));
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

  /// Address of an exported symbol, or null.
  [[nodiscard]] const void* symbol(const char* name) const noexcept {
    return ::dlsym(handle_, name);
  }

  [[nodiscard]] const OpenedFile& file() const noexcept { return file_; }

  /// Whether the open file is still what was loaded. InvalidState when it was written to.
  [[nodiscard]] Status check_unchanged() const { return check_unchanged(file_, false); }

 private:
  LibraryHandle(void* handle, OpenedFile file) noexcept : file_(std::move(file)), handle_(handle) {}

  /// The loader's own words, with the path that a person knows.
  [[gnu::cold]] static std::string with_path(std::string text, std::string_view name,
                                             std::string_view path) {
    if (const auto at = text.find(name); at != std::string::npos) {
      text.replace(at, name.size(), path);
    }
    return text;
  }

  /// Whether the file is still what was checked: written to meanwhile, or, where it had to be
  /// loaded by its path, replaced.
  [[nodiscard]] static Status check_unchanged(const OpenedFile& file, bool by_path) {
    struct stat status{};
    const int failed =
        by_path ? ::stat(file.path.c_str(), &status) : ::fstat(file.descriptor.get(), &status);
    if (failed == 0 && platform::identity_of(status) == file.identity) return ok();
    return error(Error::InvalidState, file.path.native(),
                 ": was changed while it was loaded; replace plugins by renaming a new file");
  }

  OpenedFile file_;
  void* handle_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
