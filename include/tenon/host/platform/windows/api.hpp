// SPDX-License-Identifier: MIT
#pragma once

// Without the macros `min` and `max`, and without what the host does not use.
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef NOGDI
#define NOGDI
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// The number of `errno` that says the same as one of GetLastError, so that both have one text.
[[nodiscard]] inline int errno_of(::DWORD failure) noexcept {
  switch (failure) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME:
    case ERROR_INVALID_DRIVE:
      return ENOENT;
    case ERROR_FILENAME_EXCED_RANGE:
      return ENAMETOOLONG;
    case ERROR_NOT_READY:
      return ENODEV;
    case ERROR_DIRECTORY:
      return ENOTDIR;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
    case ERROR_USER_MAPPED_FILE:
    case ERROR_CANT_ACCESS_FILE:
      return EACCES;
    case ERROR_WRITE_PROTECT:
      return EROFS;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return ENOSPC;
    case ERROR_TOO_MANY_OPEN_FILES:
      return EMFILE;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
      return ENOMEM;
    case ERROR_INVALID_HANDLE:
      return EBADF;
    case ERROR_INVALID_PARAMETER:
      return EINVAL;
    default:
      return EIO;
  }
}

/// Puts the reason of the failure that was the last one of this thread into `errno`.
inline void set_errno() noexcept { errno = errno_of(::GetLastError()); }

/// UTF-8 of a text of the system.
[[nodiscard]] inline std::string to_utf8(const wchar_t* text, int length) {
  const int size = ::WideCharToMultiByte(CP_UTF8, 0, text, length, nullptr, 0, nullptr, nullptr);
  std::string out(static_cast<std::size_t>(size), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text, length, out.data(), size, nullptr, nullptr);
  return out;
}

/// The system's text of a failure, in one line: "Module not found. (126)".
[[nodiscard]] inline std::string failure_text(::DWORD failure) {
  wchar_t text[512];
  ::DWORD length = ::FormatMessageW(
      FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK,
      nullptr, failure, 0, text, static_cast<::DWORD>(std::size(text)), nullptr);
  while (length > 0 && (text[length - 1] == L' ' || text[length - 1] == L'\n')) --length;
  return to_utf8(text, static_cast<int>(length)) + (length > 0 ? " (error " : "error (") +
         std::to_string(failure) + ")";
}

/// The reason of a failure as POSIX has it, or the system's own text where POSIX has no number.
[[nodiscard]] inline std::string reason_of(::DWORD failure) {
  const int number = errno_of(failure);
  return number == EIO ? failure_text(failure) : std::string(std::strerror(number));
}

/// A handle of the system, closed on destruction.
class Handle {
 public:
  Handle() noexcept = default;
  explicit Handle(::HANDLE handle) noexcept : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, INVALID_HANDLE_VALUE)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() {
    if (valid()) ::CloseHandle(handle_);
  }

  [[nodiscard]] bool valid() const noexcept {
    return handle_ != INVALID_HANDLE_VALUE && handle_ != nullptr;
  }
  [[nodiscard]] ::HANDLE get() const noexcept { return handle_; }
  [[nodiscard]] ::HANDLE release() noexcept { return std::exchange(handle_, INVALID_HANDLE_VALUE); }

 private:
  ::HANDLE handle_ = INVALID_HANDLE_VALUE;
};

}}}  // namespace tenon::TENON_RELEASE::host::platform
