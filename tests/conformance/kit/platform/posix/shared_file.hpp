// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "tenon/host/platform/file_descriptor.hpp"
#include "tenon/host/platform/impl/pages.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// A file without a name, for two processes, which is not inherited unless the runner says so. With
/// a `fixed_size` it has that size, which nothing can change. Invalid when the system refuses.
[[nodiscard]] inline host::FileDescriptor make_shared_file(
    [[maybe_unused]] const char* name, [[maybe_unused]] std::size_t fixed_size = 0) noexcept {
#if defined(__linux__)
  const unsigned flags = MFD_CLOEXEC | (fixed_size != 0 ? MFD_ALLOW_SEALING : 0U);
  host::FileDescriptor file(static_cast<int>(::syscall(SYS_memfd_create, name, flags)));
  if (fixed_size == 0 || !file.valid()) return file;
  if (::ftruncate(file.get(), static_cast<::off_t>(fixed_size)) == 0 &&
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    return file;
  }
#endif
  return host::FileDescriptor();
}

/// Maps the first `size` bytes, shared with the other process; null on failure.
[[nodiscard]] inline void* map_shared(int descriptor, std::size_t size) noexcept {
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

/// Zeros that only this process has; null on failure. `unmap` takes it too.
[[nodiscard]] inline void* map_private(std::size_t size) noexcept {
  return host::platform::take_pages(size);
}

inline void unmap(void* memory, std::size_t size) noexcept { ::munmap(memory, size); }

/// Writes where the descriptor is, and moves it; after `write_at_end`, at the end. Returns the
/// number of bytes; -1 with `errno` set. Async-signal-safe.
inline std::ptrdiff_t write(int descriptor, const void* from, std::size_t size) noexcept {
  return ::write(descriptor, from, size);
}

/// From now on `write` writes at the end of the file, so that what two threads write at once, one
/// of them in a handler of signals, is not at the same place: of files without a name Linux does
/// not lock the position.
[[nodiscard]] inline bool write_at_end(int descriptor) noexcept {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && ::fcntl(descriptor, F_SETFL, flags | O_APPEND) == 0;
}

/// Fills `to` with random numbers of the system.
[[nodiscard]] inline bool fill_random(void* to, std::size_t size) noexcept {
#if defined(__linux__)
  return ::getrandom(to, size, 0) == static_cast<::ssize_t>(size);
#else
  return ::getentropy(to, size) == 0;
#endif
}

/// In the process of a test: the descriptor that the runner named by `number` on the command line.
/// Processes that a plugin starts do not inherit it.
[[nodiscard]] inline int take_descriptor(int number) noexcept {
  ::fcntl(number, F_SETFD, FD_CLOEXEC);
  return number;
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
