// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "tenon/host/platform/file_identity.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// O_NONBLOCK: opening a FIFO must not wait for a writer. It changes nothing for regular files.
inline constexpr int read_flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/// Opens anything for reading, without waiting. Returns the descriptor.
[[nodiscard]] inline int open_to_read(const std::filesystem::path& path) noexcept {
  return ::open(path.c_str(), read_flags);
}

/// Opens anything for reading, and waits for the writer of a FIFO. Returns the descriptor.
[[nodiscard]] inline int open_stream(const std::filesystem::path& path) noexcept {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

inline void close(int descriptor) noexcept { ::close(descriptor); }

[[nodiscard]] inline FileIdentity identity_of(const struct stat& status) noexcept {
#if defined(__APPLE__)
  const auto& modified = status.st_mtimespec;
#else
  const auto& modified = status.st_mtim;
#endif
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
          static_cast<std::uint64_t>(status.st_size),
          std::int64_t{modified.tv_sec} * 1'000'000'000 + modified.tv_nsec};
}

[[nodiscard]] inline FileKind kind_of(::mode_t mode) noexcept {
  if (S_ISREG(mode)) return FileKind::regular;
  if (S_ISDIR(mode)) return FileKind::directory;
  if (S_ISFIFO(mode)) return FileKind::fifo;
  if (S_ISSOCK(mode)) return FileKind::socket;
  if (S_ISCHR(mode)) return FileKind::character_device;
  return S_ISBLK(mode) ? FileKind::block_device : FileKind::other;
}

[[nodiscard]] inline bool get_status(int descriptor, FileStatus& out) noexcept {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return false;
  out = {kind_of(status.st_mode), identity_of(status)};
  return true;
}

/// Reads from where the descriptor is. Returns the number of bytes, 0 at the end.
[[nodiscard]] inline std::ptrdiff_t read(int descriptor, void* to, std::size_t size) noexcept {
  return ::read(descriptor, to, size);
}

/// Reads at an offset.
[[nodiscard]] inline std::ptrdiff_t pread(int descriptor, void* to, std::size_t size,
                                          std::uint64_t offset) noexcept {
  return ::pread(descriptor, to, size, static_cast<::off_t>(offset));
}

[[nodiscard]] inline std::ptrdiff_t pwrite(int descriptor, const void* from, std::size_t size,
                                           std::uint64_t offset) noexcept {
  return ::pwrite(descriptor, from, size, static_cast<::off_t>(offset));
}

/// Maps the first `size` bytes, read-only and private.
[[nodiscard]] inline void* map(int descriptor, std::size_t size) noexcept {
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  return address == MAP_FAILED ? nullptr : address;
}

inline void unmap(void* address, std::size_t size) noexcept { ::munmap(address, size); }

/// Gives the memory of the whole pages from `begin` to `end` back to the system.
inline void drop_pages(std::uintptr_t begin, std::uintptr_t end) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = (begin + page - 1) / page * page;
  const auto last = end / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

/// Says how the pages from `begin` to `end` of a mapped file are read: alone, when they are
/// touched, or, as usual, with the pages around them.
inline void read_pages_alone(std::uintptr_t begin, std::uintptr_t end, bool alone) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = (begin + page - 1) / page * page;
  if (first >= end) return;
  ::madvise(reinterpret_cast<void*>(first), end - first, alone ? MADV_RANDOM : MADV_NORMAL);
}

/// Begins to read the pages from `begin` to `end`, and no others, without waiting for them.
inline void read_pages_ahead(std::uintptr_t begin, std::uintptr_t end) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = begin / page * page;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_WILLNEED);
}

}}}  // namespace tenon::TENON_RELEASE::host::platform
