// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "tenon/host/platform/file_descriptor.hpp"
#include "tenon/host/platform/windows/api.hpp"
#include "tenon/host/platform/windows/file.hpp"

// After <windows.h>.
#include <ntsecapi.h>

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// A file for two processes, in the directory for temporary files. It is removed when the last
/// process closes it, and is not inherited unless the runner says so. With a `fixed_size` it has
/// that size; while it is mapped nothing can change it. Invalid when the system refuses.
[[nodiscard]] inline host::FileDescriptor make_shared_file(const char* /*name*/,
                                                           std::size_t fixed_size = 0) noexcept {
  wchar_t directory[MAX_PATH + 1];
  wchar_t path[MAX_PATH + 1];
  const ::DWORD length = ::GetTempPathW(static_cast<::DWORD>(std::size(directory)), directory);
  if (length == 0 || length >= std::size(directory) ||
      ::GetTempFileNameW(directory, L"ten", 0, path) == 0) {
    host::platform::set_errno();
    return host::FileDescriptor();
  }
  host::platform::Handle handle(::CreateFileW(
      path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
      nullptr, CREATE_ALWAYS, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, nullptr));
  ::FILE_END_OF_FILE_INFO end{};
  end.EndOfFile.QuadPart = static_cast<::LONGLONG>(fixed_size);
  if (!handle.valid() ||
      !::SetFileInformationByHandle(handle.get(), FileEndOfFileInfo, &end, sizeof end)) {
    host::platform::set_errno();
    ::DeleteFileW(path);
    return host::FileDescriptor();
  }
  return host::FileDescriptor(host::platform::descriptor_of(std::move(handle), _O_RDWR));
}

/// Maps `size` bytes of a file, or of no file.
[[nodiscard]] inline void* map_to_write(::HANDLE file, std::size_t size) noexcept {
  const auto wide = std::uint64_t{size};
  const host::platform::Handle mapping(::CreateFileMappingW(file, nullptr, PAGE_READWRITE,
                                                            static_cast<::DWORD>(wide >> 32),
                                                            static_cast<::DWORD>(wide), nullptr));
  return mapping.valid() ? ::MapViewOfFile(mapping.get(), FILE_MAP_WRITE, 0, 0, size) : nullptr;
}

/// Maps the first `size` bytes, shared with the other process; null on failure.
[[nodiscard]] inline void* map_shared(int descriptor, std::size_t size) noexcept {
  return map_to_write(host::platform::handle_of(descriptor), size);
}

/// Zeros that only this process has; null on failure. `unmap` takes it too.
[[nodiscard]] inline void* map_private(std::size_t size) noexcept {
  return map_to_write(INVALID_HANDLE_VALUE, size);
}

inline void unmap(void* memory, std::size_t /*size*/) noexcept { ::UnmapViewOfFile(memory); }

/// Writes where the descriptor is, and moves it. Returns the number of bytes; -1 with `errno` set.
inline std::ptrdiff_t write(int descriptor, const void* from, std::size_t size) noexcept {
  ::DWORD done = 0;
  if (::WriteFile(host::platform::handle_of(descriptor), from, host::platform::piece_of(size),
                  &done, nullptr)) {
    return done;
  }
  host::platform::set_errno();
  return -1;
}

/// Moves the descriptor to the end. Windows writes one call after the other.
[[nodiscard]] inline bool write_at_end(int descriptor) noexcept {
  return ::SetFilePointerEx(host::platform::handle_of(descriptor), {}, nullptr, FILE_END) != 0;
}

/// Fills `to` with random numbers of the system.
[[nodiscard]] inline bool fill_random(void* to, std::size_t size) noexcept {
  return ::RtlGenRandom(to, static_cast<::ULONG>(size)) != 0;
}

/// In the process of a test: a descriptor of the handle that the runner named by `number` on the
/// command line. Processes that a plugin starts do not inherit it.
[[nodiscard]] inline int take_descriptor(int number) noexcept {
  if (number < 0) return -1;
  // Handles have 32 significant bits, and are extended with their sign.
  const auto handle = reinterpret_cast<::HANDLE>(static_cast<std::intptr_t>(number));
  ::SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0);
  return host::platform::descriptor_of(host::platform::Handle(handle), _O_RDWR);
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
