// SPDX-License-Identifier: MIT
#pragma once

#if defined(__linux__)
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenon/core/memory_file.hpp"
#endif

#include <cstddef>
#include <cstdint>

#include "tenon/host/platform/file_descriptor.hpp"

/// Memory and fences as another owner would give them: files in memory, and counters of events.
/// Systems other than Linux have none, and the descriptors are invalid.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

#if defined(__linux__)

/// A file in memory of `size` zeroes; sealed against becoming smaller, or not.
[[nodiscard]] inline host::FileDescriptor make_memory_file(std::size_t size, bool is_sealed) {
  return host::FileDescriptor(
      tenon::make_memory_file("tenon-external", size, is_sealed ? F_SEAL_SHRINK : 0));
}

/// A file that is no memory of anybody.
[[nodiscard]] inline host::FileDescriptor open_other_file() {
  return host::FileDescriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
}

/// The inode of the descriptor's file; 0 when the descriptor is not open.
[[nodiscard]] inline std::uint64_t number_of_file(int descriptor) {
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
}

/// Maps all of it for the owner.
[[nodiscard]] inline std::byte* map_memory_file(int descriptor, std::size_t size) {
  void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}
inline void unmap_memory_file(std::byte* at, std::size_t size) { ::munmap(at, size); }

/// Whether this process can write to the address: the system tries it, and nothing faults. The byte
/// is that at `offset` of the file before and after.
[[nodiscard]] inline bool can_write(void* address, int descriptor, std::uint64_t offset) {
  return ::pread(descriptor, address, 1, static_cast<::off_t>(offset)) == 1;
}

[[nodiscard]] inline host::FileDescriptor make_event() {
  return host::FileDescriptor(::eventfd(0, EFD_CLOEXEC));
}
inline void signal_event(int descriptor) { static_cast<void>(::eventfd_write(descriptor, 1)); }
/// Whether it is signalled, or becomes it within a time.
[[nodiscard]] inline bool is_signalled(int descriptor, int timeout_ms) {
  pollfd wanted{descriptor, POLLIN, 0};
  return ::poll(&wanted, 1, timeout_ms) == 1;
}

#else

[[nodiscard]] inline host::FileDescriptor make_memory_file(std::size_t, bool) { return {}; }
[[nodiscard]] inline host::FileDescriptor open_other_file() { return {}; }
[[nodiscard]] inline std::uint64_t number_of_file(int) { return 0; }
[[nodiscard]] inline std::byte* map_memory_file(int, std::size_t) { return nullptr; }
inline void unmap_memory_file(std::byte*, std::size_t) {}
[[nodiscard]] inline bool can_write(void*, int, std::uint64_t) { return false; }
[[nodiscard]] inline host::FileDescriptor make_event() { return {}; }
inline void signal_event(int) {}
[[nodiscard]] inline bool is_signalled(int, int) { return false; }

#endif

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
