// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A file that appears at its path only when it is complete, where it replaces what was there.
/// Until then, and when anything fails, the file at the path does not change.
///
/// Linux: the file has no name before `commit`, so that nothing is left behind even when the
/// process is killed. A file system without such files (O_TMPFILE), and macOS: it has a name next
/// to the path, `.tenon-PROCESS-NUMBER.tmp`, which the destructor removes.
///
/// The new file has the permissions of the file that it replaces, and belongs to the caller. What
/// is no file is written as it is: a pipe, a terminal, a device, and standard output by any of its
/// names (`/dev/stdout`), also where it is a file.
///
/// A write beyond RLIMIT_FSIZE raises SIGXFSZ, which ends a process that does not ignore it.
/// Not for several threads at once.
class NewFile {
 public:
  /// Begins a file for `path`. A symbolic link at `path` is followed. Waits for the reader of a
  /// FIFO.
  ///
  /// errors: AccessFailed, when the directory does not exist or cannot be written to, when there is
  ///         a directory or a socket at `path`, and when there is a file that the caller may not
  ///         write to. The text begins with the path.
  [[nodiscard]] static Result<NewFile> create(const std::filesystem::path& path);

  /// Begins a file that replaces whatever is at `path`, for a directory that others may write to: a
  /// link is not followed, and no FIFO or device is opened. It is readable for its owner alone
  /// unless `set_permissions` says otherwise.
  ///
  /// errors: AccessFailed, when the directory does not exist or cannot be written to; of `commit`
  ///         when there is a directory at `path`. The text begins with the path.
  [[nodiscard]] static Result<NewFile> replace(const std::filesystem::path& path);

  NewFile(NewFile&& other) noexcept
      : path_(std::move(other.path_)),
        target_(std::move(other.target_)),
        temporary_(std::exchange(other.temporary_, {})),
        is_unnamed_(other.is_unnamed_),
        file_(std::move(other.file_)) {}
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  /// Appends `bytes`.
  ///
  /// errors: OutOfResources when the disk is full or a limit of size is reached; AccessFailed.
  Status write(Bytes bytes);

  /// Gives the file `permissions`, in place of those that `create` gave it; it appears with them.
  /// A file that is written in place keeps its own.
  ///
  /// errors: AccessFailed.
  Status set_permissions(std::filesystem::perms permissions);

  /// Puts the file at its path. Nothing may be written afterwards.
  ///
  /// errors: as `write`; the system may report a failed write only here.
  Status commit();

 private:
  NewFile() = default;

  [[nodiscard]] static FileDescriptor open_in_place(const std::filesystem::path& path);
  [[nodiscard]] Status open(::mode_t mode);
  void open_unnamed(::mode_t mode);
  void open_named(::mode_t mode);
  [[nodiscard]] std::filesystem::path next_temporary() const;
  [[nodiscard]] Status link();
  [[nodiscard]] Status rename();
  [[nodiscard]] Status failed(std::string_view what) const;

  std::filesystem::path path_;       ///< As it was given.
  std::filesystem::path target_;     ///< Behind links; empty for what is written in place.
  std::filesystem::path temporary_;  ///< Empty when there is none to remove.
  bool is_unnamed_ = false;          ///< Has no name yet.
  FileDescriptor file_;
};

}}}  // namespace tenon::TENON_RELEASE::host
