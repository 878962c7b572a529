// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/platform/trusted_path.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/host/platform/impl/posix/regular_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/posix/list_directory.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

#if defined(O_PATH)
inline constexpr int directory_flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
#else
inline constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
#endif
/// Most symbolic links on one path, as in the Linux kernel.
inline constexpr int max_links = 40;

/// "0775"
inline std::string mode_text(unsigned mode) {
  std::string out = "0";
  for (int shift = 9; shift >= 0; shift -= 3) {
    const char digit = static_cast<char>('0' + (mode >> shift & 7));
    if (out.size() > 1 || digit != '0' || shift < 9) out.push_back(digit);
  }
  return out;
}

/// Walks along an absolute path, component by component, and checks which users can change each.
class TrustedWalk {
 public:
  explicit TrustedWalk(const std::filesystem::path& asked) : asked_(asked), user_(::geteuid()) {}

  /// To the directory itself.
  Result<FileDescriptor> open_directory() && {
    wanted_ = "directory";
    TENON_RETURN_IF_ERROR(start());
    while (!rest_.empty()) TENON_RETURN_IF_ERROR(enter_next());
    TENON_RETURN_IF_ERROR(check_holder());
    return std::move(directory_);
  }

  /// To the directory that holds the file, and then the file.
  Result<OpenedFile> open_file() && {
    TENON_RETURN_IF_ERROR(start());
    while (true) {
      if (rest_.empty()) {
        return error(Error::InvalidArgument, asked_.native(),
                     ": is a directory, expected a regular file");
      }
      if (rest_.size() > 1 || rest_.back() == "..") {
        TENON_RETURN_IF_ERROR(enter_next());
        continue;
      }
      TENON_TRY(const bool followed, follow_link());
      if (!followed) return open_last();
    }
  }

  /// A file in a directory that was walked to before. A link is walked to from the root.
  static Result<OpenedFile> open_in(int directory, const struct stat& directory_status,
                                    const std::filesystem::path& directory_path,
                                    const std::string& name) {
    const std::filesystem::path path = directory_path / name;
    TrustedWalk walk(path);
    walk.at_ = directory_path.native();
    walk.status_ = directory_status;
    FileDescriptor file(::openat(directory, name.c_str(), platform::read_flags | O_NOFOLLOW));
    if (!file.valid() && errno == ELOOP) return TrustedWalk(path).open_file();
    if (!file.valid()) return walk.refuse_open(name, errno);
    return walk.take(std::move(file), path.native());
  }

 private:
  Status start() {
    TENON_RETURN_IF_ERROR(check_absolute(asked_));
    push(asked_.native());
    return enter_root();
  }

  /// Puts the components of `path` before those that are left.
  void push(std::string_view path) {
    while (!path.empty()) {
      const std::size_t slash = path.rfind('/');
      const std::string_view part = path.substr(slash + 1);  // All of it without a slash.
      if (!part.empty() && part != ".") rest_.emplace_back(part);
      path = path.substr(0, slash == path.npos ? 0 : slash);
    }
  }

  Status enter_root() {
    at_.clear();
    return enter(FileDescriptor(::open("/", directory_flags)), "");
  }

  /// Makes the opened directory the current one.
  Status enter(FileDescriptor next, std::string at) {
    if (!next.valid()) return refuse(at.empty() ? "/" : at, errno);
    if (::fstat(next.get(), &status_) != 0) return refuse(at, errno);
    directory_ = std::move(next);
    at_ = std::move(at);
    TENON_RETURN_IF_ERROR(check_owner(status_, "directory", at_.empty() ? "/" : at_));
    // In a sticky directory no user can move the file of another, and the owner is checked next.
    if ((status_.st_mode & S_ISVTX) != 0) return ok();
    return check_writers(status_, "directory", at_.empty() ? "/" : at_);
  }

  /// The directory that holds a plugin must not be open to others at all, sticky or not: a library
  /// next to the plugin may be loaded with it.
  [[nodiscard]] Status check_holder() const {
    return check_writers(status_, "directory", at_.empty() ? "/" : at_);
  }

  Status enter_next() {
    TENON_TRY(const bool followed, follow_link());
    if (followed) return ok();
    const std::string name = std::move(rest_.back());
    rest_.pop_back();
    std::string next =
        name == ".." ? at_.substr(0, std::min(at_.rfind('/'), at_.size())) : concat(at_, "/", name);
    FileDescriptor opened(::openat(directory_.get(), name.c_str(), directory_flags | O_NOFOLLOW));
    if (!opened.valid() && errno == ENOTDIR) {
      return error(Error::InvalidArgument, asked_.native(), ": ",
                   next == asked_.native() ? std::string() : next + " ",
                   "is not a directory, expected one");
    }
    return enter(std::move(opened), std::move(next));
  }

  /// Replaces the next component by what it links to, when it is a link.
  Result<bool> follow_link() {
    const std::string& name = rest_.back();
    const std::string link = concat(at_, "/", name);
    struct stat status{};
    if (::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return refuse(link, errno);
    }
    if (!S_ISLNK(status.st_mode)) return false;
    TENON_RETURN_IF_ERROR(check_owner(status, "link", link));
    if (++num_links_ > max_links) {
      return error(Error::AccessFailed, asked_.native(), ": more than ", max_links,
                   " symbolic links (a loop), the last is ", link);
    }
    std::string target(4096, '\0');
    const ::ssize_t size =
        ::readlinkat(directory_.get(), name.c_str(), target.data(), target.size());
    if (size < 0) return refuse(link, errno);
    target.resize(static_cast<std::size_t>(size));
    rest_.pop_back();
    push(target);
    if (target.starts_with('/')) TENON_RETURN_IF_ERROR(enter_root());
    return true;
  }

  Result<OpenedFile> open_last() {
    const std::string name = rest_.back();
    FileDescriptor file(
        ::openat(directory_.get(), name.c_str(), platform::read_flags | O_NOFOLLOW));
    if (!file.valid()) return refuse_open(name, errno);
    return take(std::move(file), concat(at_, "/", name));
  }

  [[nodiscard]] Status refuse(std::string_view at, int number) const {
    return system_refusal(asked_, at, number, wanted_);
  }

  /// A socket cannot be opened, so its kind is asked for here.
  Status refuse_open(const std::string& name, int number) const {
    struct stat status{};
    const int directory = directory_.valid() ? directory_.get() : AT_FDCWD;
    const std::string path = directory_.valid() ? name : asked_.native();
    if (number == ENXIO && ::fstatat(directory, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      TENON_RETURN_IF_ERROR(check_kind(status, asked_));
    }
    return refuse(concat(at_, "/", name), number);
  }

  Result<OpenedFile> take(FileDescriptor file, const std::string& at) {
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) return refuse(at, errno);
    TENON_RETURN_IF_ERROR(check_kind(status, asked_));
    TENON_RETURN_IF_ERROR(check_holder());
    TENON_RETURN_IF_ERROR(check_owner(status, "file", at));
    TENON_RETURN_IF_ERROR(check_writers(status, "file", at));
    return OpenedFile{std::move(file), asked_, platform::identity_of(status), Trust::checked};
  }

  /// "/a/b.so: " or "/a/b.so: directory /a "
  [[nodiscard]] std::string subject(std::string_view what, std::string_view at) const {
    return at == asked_.native() ? concat(asked_.native(), ": ")
                                 : concat(asked_.native(), ": ", what, " ", at, " ");
  }

  [[nodiscard]] Status check_owner(const struct stat& status, std::string_view what,
                                   std::string_view at) const {
    if (status.st_uid == 0 || status.st_uid == user_) return ok();
    return error(Error::AccessFailed, subject(what, at), "belongs to user ", status.st_uid,
                 ", expected ", user_ == 0 ? "root" : concat("root or user ", user_));
  }

  [[nodiscard]] Status check_writers(const struct stat& status, std::string_view what,
                                     std::string_view at) const {
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return ok();
    return error(Error::AccessFailed, subject(what, at), "is writable by ",
                 (status.st_mode & S_IWOTH) != 0 ? "every user" : "its group", " (mode ",
                 mode_text(status.st_mode & 07777),
                 "), expected write access for its owner alone (chmod go-w ", at, ")");
  }

  const std::filesystem::path& asked_;
  const ::uid_t user_;
  std::vector<std::string> rest_;  // Components that are left, the next one last.
  std::string at_;                 // Where the walk is; empty at the root.
  FileDescriptor directory_;       // `at_`, open.
  struct stat status_{};           // Status of `at_` when it was opened.
  int num_links_ = 0;
  std::string_view wanted_ = "file";
};

}  // namespace detail

Result<OpenedFile> open_file(const std::filesystem::path& path, Trust trust) {
  return trust == Trust::checked ? detail::TrustedWalk(path).open_file() : open_named_file(path);
}

Result<Directory> Directory::open(const std::filesystem::path& path) {
  TENON_TRY(FileDescriptor descriptor, detail::TrustedWalk(path).open_directory());
  Directory directory;
  if (::fstat(descriptor.get(), &directory.held_.status) != 0) {
    return detail::system_refusal(path, path.native(), errno);
  }
  directory.held_.descriptor = std::move(descriptor);
  directory.path_ = path;
  return directory;
}

Result<std::vector<std::string>> Directory::list() const {
  const int readable = ::openat(held_.descriptor.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (readable < 0) return detail::system_refusal(path_, path_.native(), errno);
  const detail::OpenDirectory entries(::fdopendir(readable));
  if (!entries) {
    const int number = errno;
    ::close(readable);
    return detail::system_refusal(path_, path_.native(), number);
  }
  return detail::read_names(entries, path_);
}

Result<OpenedFile> Directory::open_file(const std::string& name) const {
  return detail::TrustedWalk::open_in(held_.descriptor.get(), held_.status, path_, name);
}

}}}  // namespace tenon::TENON_RELEASE::host
