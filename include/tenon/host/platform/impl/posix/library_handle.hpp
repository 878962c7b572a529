// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "tenon/core/memory_file.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/impl/posix/shared_library.hpp"
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

/// The library in one open file. The descriptor stays open as long, so that its number is not
/// reused.
class LibraryHandle {
 public:
  /// With `keep` it is never unloaded.
  static Result<LibraryHandle> open(OpenedFile file, bool keep) {
    const std::string name = descriptor_name(file);
    // Before code of what is there now runs. A file in memory is never what is at its path.
    if (name.empty()) TENON_RETURN_IF_ERROR(check_unchanged(file, true));
    TENON_TRY(SharedLibrary library,
              SharedLibrary::open(name.empty() ? file.path : std::filesystem::path(name), file.path,
                                  keep));
    TENON_RETURN_IF_ERROR(check_unchanged(file, name.empty()));
    return LibraryHandle(std::move(file), std::move(library));
  }

  /// Address of an exported symbol, or null.
  [[nodiscard]] const void* symbol(const char* name) const noexcept {
    return library_.symbol(name);
  }

  [[nodiscard]] const OpenedFile& file() const noexcept { return file_; }

  /// Whether the open file is still what was loaded. InvalidState when it was written to.
  [[nodiscard]] Status check_unchanged() const { return check_unchanged(file_, false); }

 private:
  LibraryHandle(OpenedFile file, SharedLibrary library) noexcept
      : file_(std::move(file)), library_(std::move(library)) {}

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

  OpenedFile file_;  // Declared first, so that its number is reused only after the unloading.
  SharedLibrary library_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
