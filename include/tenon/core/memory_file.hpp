// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tenon/core/bytes.hpp"
#include "tenon/core/concat.hpp"

/// Files without a name in memory: other processes cannot guess, replace or find one, and the
/// system frees it with its last descriptor, however a process ends. For code that is loaded, for
/// memory that processes share, and for bytes that one of them must not change any more.
///
/// Only POSIX systems have this header, and only Linux has the files. What returns a descriptor
/// returns -1 with `errno` set when the system refuses; the caller owns the descriptor.
namespace tenon { inline namespace TENON_RELEASE {

/// Writes all of `bytes` to a file, from `offset` on. Returns false, with `errno` set, when a write
/// fails.
[[nodiscard]] inline bool write_all(int descriptor, Bytes bytes,
                                    std::uint64_t offset = 0) noexcept {
  while (!bytes.empty()) {
    const ::ssize_t size =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<::off_t>(offset));
    if (size < 0 && errno == EINTR) continue;
    if (size == 0) errno = ENOSPC;
    if (size <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(size));
    offset += static_cast<std::uint64_t>(size);
  }
  return true;
}

#if defined(__linux__)

/// Code can be loaded from a file of `code`, also on systems where that must be asked for.
enum class MemoryFileUse { data, code };

/// Seals of a file whose size nothing changes any more, so that a process that maps it never has a
/// page behind its end; and of a file whose bytes nothing changes either.
inline constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;
inline constexpr int content_seals = size_seals | F_SEAL_WRITE | F_SEAL_SEAL;

/// Returns false, with `errno` set, when the system refuses: to `content_seals` while the file is
/// mapped for writing.
[[nodiscard]] inline bool add_seals(int descriptor, int seals) noexcept {
  return ::fcntl(descriptor, F_ADD_SEALS, seals) == 0;
}

/// Makes a file of `size` zeros with `seals`, to which more can be added. `name` is visible only in
/// /proc/PID/maps.
[[nodiscard]] inline int make_memory_file(
    const char* name, std::uint64_t size = 0, int seals = 0,
    [[maybe_unused]] MemoryFileUse use = MemoryFileUse::data) noexcept {
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int file = -1;
#if defined(MFD_EXEC)
  if (use == MemoryFileUse::code) {
    file = ::memfd_create(name, flags | MFD_EXEC);
    // A system that does not know the flag needs none.
    if (file < 0 && errno != EINVAL) return -1;
  }
#endif
  if (file < 0) file = ::memfd_create(name, flags);
  if (file < 0) return -1;
  if ((size == 0 || ::ftruncate(file, static_cast<::off_t>(size)) == 0) &&
      (seals == 0 || add_seals(file, seals))) {
    return file;
  }
  const int reason = errno;
  ::close(file);
  errno = reason;
  return -1;
}

/// Makes a file of the parts, one after the other, with `content_seals`. Until then a process of
/// the same user may open it by /proc/PID/fd and write to it, but not change its size.
[[nodiscard]] inline int make_sealed_file(const char* name, std::span<const Bytes> parts,
                                          MemoryFileUse use = MemoryFileUse::data) noexcept {
  std::uint64_t size = 0;
  for (const Bytes part : parts) size += part.size();
  const int file = make_memory_file(name, size, size_seals, use);
  if (file < 0) return -1;
  std::uint64_t at = 0;
  bool is_written = true;
  for (const Bytes part : parts) {
    is_written = is_written && write_all(file, part, at);
    at += part.size();
  }
  if (is_written && add_seals(file, content_seals)) return file;
  const int reason = errno;
  ::close(file);
  errno = reason;
  return -1;
}

/// A path that opens the file behind a descriptor of this process, where /proc is mounted.
///
/// It has the number of the process and not "self", so that a debugger can open it too. glibc
/// compares names of what is loaded before it opens anything, and a descriptor's number may come
/// back while an older library cannot be unloaded; so every path is spelt in its own way, the bits
/// of a counter written as "/" and "/.".
[[nodiscard]] inline std::string path_of_descriptor(int descriptor) {
  static std::atomic<std::uint64_t> counter = 1;
  std::string path = concat("/proc/", static_cast<std::int64_t>(::getpid()));
  for (std::uint64_t bits = counter++; bits != 0; bits >>= 1) path += (bits & 1) != 0 ? "/." : "/";
  return path + concat("/fd/", descriptor);
}

#endif

}}  // namespace tenon::TENON_RELEASE
