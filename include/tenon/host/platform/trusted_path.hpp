// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/opened_file.hpp"
#if defined(_WIN32)
#include "tenon/host/platform/windows/held_directory.hpp"
#else
#include "tenon/host/platform/posix/held_directory.hpp"
#endif

/// Opens files so that what was checked is what is used: everything later uses the descriptor, and
/// no path is resolved twice.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Opens the regular file at an absolute path. With `Trust::caller` it is `open_named_file`.
///
/// With `Trust::checked` only the system and the user of the process answer for it. POSIX: each
/// directory and link on the way, and the file, must belong to root or the effective user, and no
/// other user may write to it. Windows: each directory on the way, and the file, must belong to the
/// user of the process, to Administrators, SYSTEM or TrustedInstaller, and no other account may
/// have a right to change it: to write to the file or its access list, to remove it, or to add
/// files next to it. The path must begin with a drive letter, and nothing on it may be a link (a
/// reparse point). While the file is open there, no process can write to it, rename it or remove
/// it, nor a directory that it is in.
///
/// Never waits, not even for a FIFO. threads: any. errors: NotFound when it or a directory on the
/// way is missing; InvalidArgument when the path is relative or names something else than a regular
/// file; AccessFailed when the system refuses, and with `Trust::checked` when another user could
/// have put it there, naming the component at fault and, on POSIX, how to mend it. Texts begin with
/// the path.
[[nodiscard]] Result<OpenedFile> open_file(const std::filesystem::path& path, Trust trust);

/// A directory that is open, walked to with `Trust::checked`. On Windows it cannot be renamed
/// meanwhile.
class Directory {
 public:
  /// Fails as `open_file` does.
  [[nodiscard]] static Result<Directory> open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// The names in it, sorted, without "." and "..".
  [[nodiscard]] Result<std::vector<std::string>> list() const;

  /// Opens a file in it, without walking to the directory again. Fails as `open_file` does.
  [[nodiscard]] Result<OpenedFile> open_file(const std::string& name) const;

 private:
  Directory() = default;

  platform::HeldDirectory held_;
  std::filesystem::path path_;
};

}}}  // namespace tenon::TENON_RELEASE::host
