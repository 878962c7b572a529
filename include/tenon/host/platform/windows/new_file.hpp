// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A file that appears at its path only when it is complete, where it replaces what was there.
/// Until then, and when anything fails, the file at the path does not change.
///
/// It has a name next to the path, `.tenon-PROCESS-NUMBER.tmp`, and the destructor removes it; the
/// system does so when the process is killed. It has the access list of its directory. What is no
/// file is written as it is: a pipe, the console, `NUL`.
///
/// Not for several threads at once.
class NewFile {
 public:
  /// Begins a file for `path`. A link at `path` is followed.
  ///
  /// errors: AccessFailed, when the directory does not exist or cannot be written to, when there is
  ///         a directory at `path`, and when there is a file that is read-only. The text begins
  ///         with the path.
  [[nodiscard]] static Result<NewFile> create(const std::filesystem::path& path);

  /// Begins a file that replaces whatever is at `path`: a link is not followed, and no pipe or
  /// device is opened.
  ///
  /// errors: AccessFailed, when the directory does not exist or cannot be written to; of `commit`
  ///         when there is a directory at `path`. The text begins with the path.
  [[nodiscard]] static Result<NewFile> replace(const std::filesystem::path& path);

  NewFile(NewFile&&) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile() = default;

  /// Appends `bytes`.
  ///
  /// errors: OutOfResources when the disk is full; AccessFailed.
  Status write(Bytes bytes);

  /// Windows has no such permissions: nothing is changed.
  Status set_permissions(std::filesystem::perms permissions);

  /// Puts the file at its path. Nothing may be written afterwards.
  ///
  /// errors: as `write`; AccessFailed also while another process has the old file open.
  Status commit();

 private:
  NewFile() = default;

  [[nodiscard]] Status open();
  [[nodiscard]] Status failed(std::string_view what, ::DWORD failure) const;

  std::filesystem::path path_;    ///< As it was given.
  std::filesystem::path target_;  ///< Behind links; empty for what is written in place.
  platform::Handle file_;         ///< Removed when it is closed, unless it got its name.
};

}}}  // namespace tenon::TENON_RELEASE::host
