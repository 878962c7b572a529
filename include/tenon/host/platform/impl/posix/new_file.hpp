// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/platform/posix/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

#include "tenon/core/concat.hpp"
#include "tenon/host/platform/posix/signals_blocked.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The descriptor of standard output or standard error when `path` names it, otherwise a new one.
FileDescriptor NewFile::open_in_place(const std::filesystem::path& path) {
  struct stat named{};
  if (::stat(path.c_str(), &named) != 0) return FileDescriptor();
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat open{};
    if (::fstat(standard, &open) != 0) continue;
    // Opened again, a file would be written from its begin, over what the process wrote to it.
    if (open.st_dev == named.st_dev && open.st_ino == named.st_ino) {
      return FileDescriptor(::fcntl(standard, F_DUPFD_CLOEXEC, 0));
    }
  }
  if (S_ISREG(named.st_mode)) return FileDescriptor();
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  } while (descriptor < 0 && errno == EINTR);
  return FileDescriptor(descriptor);
}

Result<NewFile> NewFile::create(const std::filesystem::path& path) {
  NewFile out;
  out.path_ = path;
  struct stat before{};
  const bool exists = ::stat(path.c_str(), &before) == 0;
  if (exists && (S_ISDIR(before.st_mode) || S_ISSOCK(before.st_mode))) {
    return error(Error::AccessFailed, path.native(), ": is a ",
                 S_ISDIR(before.st_mode) ? "directory" : "socket", ", expected a file");
  }
  if (exists) {
    out.file_ = open_in_place(path);
    if (out.file_.valid()) return Result<NewFile>(std::move(out));
    if (!S_ISREG(before.st_mode) || ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
      return out.failed("cannot be opened to write");
    }
    std::error_code failure;
    out.target_ = std::filesystem::canonical(path, failure);
    if (failure) return error(Error::AccessFailed, path.native(), ": ", failure.message());
  } else {
    out.target_ = path;
    std::error_code none;
    // A link to what does not exist yet.
    for (int links = 0; links < 40 && std::filesystem::is_symlink(out.target_, none); ++links) {
      out.target_ = out.target_.parent_path() / std::filesystem::read_symlink(out.target_, none);
    }
  }
  TENON_RETURN_IF_ERROR(out.open(0666));
  // A file system without permissions refuses to change them.
  if (exists) static_cast<void>(::fchmod(out.file_.get(), before.st_mode & 0777));
  return Result<NewFile>(std::move(out));
}

Result<NewFile> NewFile::replace(const std::filesystem::path& path) {
  NewFile out;
  out.path_ = path;
  out.target_ = path;
  TENON_RETURN_IF_ERROR(out.open(0600));
  return Result<NewFile>(std::move(out));
}

Status NewFile::open(::mode_t mode) {
  open_unnamed(mode);
  if (!file_.valid()) open_named(mode);
  return file_.valid() ? ok() : failed("cannot create a file next to it");
}

void NewFile::open_unnamed(::mode_t mode) {
#if defined(O_TMPFILE)
  const std::filesystem::path directory = target_.parent_path();
  FileDescriptor file(
      ::open(directory.empty() ? "." : directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
  if (!file.valid()) return;
  // Where it gets its name from; not mounted everywhere.
  if (::access(concat("/proc/self/fd/", file.get()).c_str(), F_OK) != 0) return;
  file_ = std::move(file);
  is_unnamed_ = true;
#else
  static_cast<void>(mode);
#endif
}

void NewFile::open_named(::mode_t mode) {
  constexpr int flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;
  for (int attempts = 0; attempts < 100; ++attempts) {
    temporary_ = next_temporary();
    file_ = FileDescriptor(::open(temporary_.c_str(), flags, mode));
    if (file_.valid()) return;
    if (errno != EEXIST && errno != EINTR) break;
  }
  const int number = errno;
  temporary_.clear();
  errno = number;
}

std::filesystem::path NewFile::next_temporary() const {
  static std::atomic<unsigned> counter{0};
  return target_.parent_path() / concat(".tenon-", ::getpid(), "-", counter.fetch_add(1), ".tmp");
}

NewFile::~NewFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status NewFile::write(Bytes bytes) {
  // Less than what Linux (2 GiB) and macOS take at once.
  constexpr std::size_t most = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const ::ssize_t size = ::write(file_.get(), bytes.data(), std::min(bytes.size(), most));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed("cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(size));
  }
  return ok();
}

Status NewFile::set_permissions(std::filesystem::perms permissions) {
  if (target_.empty() || ::fchmod(file_.get(), static_cast<::mode_t>(permissions)) == 0)
    return ok();
  return failed("cannot be given its permissions");
}

Status NewFile::commit() {
  if (is_unnamed_) TENON_RETURN_IF_ERROR(link());
  const int closed = ::close(file_.release());
  if (closed != 0 && errno != EINTR) return failed("cannot write");
  return temporary_.empty() ? ok() : rename();
}

/// Gives the file its name.
Status NewFile::link() {
#if defined(O_TMPFILE)
  const std::string from = concat("/proc/self/fd/", file_.get());
  const auto link_to = [&](const std::filesystem::path& to) {
    return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  if (link_to(target_)) return ok();
  // A link replaces nothing: what is there is replaced by a rename.
  for (int attempts = 0; errno == EEXIST && attempts < 100; ++attempts) {
    const std::filesystem::path temporary = next_temporary();
    const SignalsBlocked blocked;
    if (!link_to(temporary)) continue;
    if (::rename(temporary.c_str(), target_.c_str()) == 0) return ok();
    const int number = errno;
    ::unlink(temporary.c_str());
    errno = number;
    break;
  }
#endif
  return failed("cannot be given its name");
}

Status NewFile::rename() {
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return failed("cannot be given its name");
  temporary_.clear();
  return ok();
}

Status NewFile::failed(std::string_view what) const {
  const int number = errno;
  const bool is_full = number == ENOSPC || number == EFBIG || number == EDQUOT;
  return error(is_full ? Error::OutOfResources : Error::AccessFailed, path_.native(), ": ", what,
               ": ", std::strerror(number));
}

}}}  // namespace tenon::TENON_RELEASE::host
