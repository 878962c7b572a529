// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>

#include "tenon/core/api.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aot {

/// A file that appears at its path only when it is complete: it is written next to the path, and
/// `commit` renames it. Until then, and when anything fails, nothing is left behind and the file at
/// the path does not change. Not for several threads at once.
class NewFile {
 public:
  /// Begins a file for `path`. A symbolic link at `path` is followed.
  ///
  /// errors: AccessFailed, when the folder does not exist or cannot be written to, and when there
  ///         is something other than a regular file at `path`. The text begins with the path.
  [[nodiscard]] static Result<NewFile> create(const std::filesystem::path& path);

  NewFile(NewFile&& other) noexcept
      : path_(std::move(other.path_)),
        target_(std::move(other.target_)),
        temporary_(std::exchange(other.temporary_, {})),
        descriptor_(std::exchange(other.descriptor_, -1)) {}
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  /// Appends `bytes`.
  ///
  /// errors: OutOfResources when the disk is full or a limit of size is reached; AccessFailed.
  Status write(Bytes bytes);

  /// Puts the file at its path, where it replaces what was there. Nothing may be written
  /// afterwards.
  ///
  /// errors: as `write`; the system may report a failed write only here.
  Status commit();

 private:
  NewFile() = default;

  [[nodiscard]] Status failed(std::string_view what) const;

  std::filesystem::path path_;       ///< As it was given.
  std::filesystem::path target_;     ///< Behind links.
  std::filesystem::path temporary_;  ///< Empty when there is none to remove.
  int descriptor_ = -1;
};

}  // namespace tenon::aot

#if TENON_COMPILER_DEFINITIONS

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <system_error>

#include "tenon/core/concat.hpp"

namespace tenon::aot {

TENON_API Result<NewFile> NewFile::create(const std::filesystem::path& path) {
  std::error_code failure;
  NewFile out;
  out.path_ = path;
  out.target_ = path;
  if (std::filesystem::exists(path, failure)) {
    if (!std::filesystem::is_regular_file(path, failure)) {
      return error(Error::AccessFailed, path.native(), ": exists and is not a regular file");
    }
    out.target_ = std::filesystem::canonical(path, failure);
    if (failure) return error(Error::AccessFailed, path.native(), ": ", failure.message());
  }
  static std::atomic<unsigned> counter{0};
  for (int attempts = 0; attempts < 100; ++attempts) {
    out.temporary_ = out.target_.parent_path() /
                     concat(".tenon-", ::getpid(), "-", counter.fetch_add(1), ".tmp");
    constexpr int flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;
    out.descriptor_ = ::open(out.temporary_.c_str(), flags, 0666);
    if (out.descriptor_ >= 0) return Result<NewFile>(std::move(out));
    if (errno != EEXIST && errno != EINTR) break;
  }
  out.temporary_.clear();
  return out.failed("cannot create a file next to it");
}

TENON_API NewFile::~NewFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

TENON_API Status NewFile::write(Bytes bytes) {
  // Less than what Linux (2 GiB) and macOS take at once.
  constexpr std::size_t most = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const ::ssize_t size = ::write(descriptor_, bytes.data(), std::min(bytes.size(), most));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed("cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(size));
  }
  return ok();
}

TENON_API Status NewFile::commit() {
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0 && errno != EINTR) return failed("cannot write");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return failed("cannot rename to it");
  temporary_.clear();
  return ok();
}

TENON_API Status NewFile::failed(std::string_view what) const {
  const int number = errno;
  const bool is_full = number == ENOSPC || number == EFBIG || number == EDQUOT;
  return error(is_full ? Error::OutOfResources : Error::AccessFailed, path_.native(), ": ", what,
               ": ", std::strerror(number));
}

}  // namespace tenon::aot

#endif  // TENON_COMPILER_DEFINITIONS
