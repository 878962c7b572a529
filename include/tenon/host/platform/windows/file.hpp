// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <io.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "tenon/host/platform/file_identity.hpp"
#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

[[nodiscard]] inline ::HANDLE handle_of(int descriptor) noexcept {
  return reinterpret_cast<::HANDLE>(::_get_osfhandle(descriptor));
}

/// A descriptor that owns `handle`; -1 when there is none.
[[nodiscard]] inline int descriptor_of(Handle handle, int flags = _O_RDONLY) noexcept {
  if (!handle.valid()) return -1;
  const int descriptor = ::_open_osfhandle(reinterpret_cast<std::intptr_t>(handle.get()),
                                           flags | _O_BINARY | _O_NOINHERIT);
  if (descriptor >= 0) static_cast<void>(handle.release());
  return descriptor;
}

/// `shared`: what other processes may do meanwhile (FILE_SHARE_...). Directories open too, so that
/// they can be refused by name.
[[nodiscard]] inline Handle open_handle(const std::filesystem::path& path, ::DWORD shared,
                                        ::DWORD flags = 0) noexcept {
  Handle handle(::CreateFileW(path.c_str(), GENERIC_READ, shared, nullptr, OPEN_EXISTING,
                              FILE_FLAG_BACKUP_SEMANTICS | flags, nullptr));
  if (!handle.valid()) set_errno();
  return handle;
}

/// Opens anything for reading. Meanwhile it can be replaced by a rename or removed.
[[nodiscard]] inline int open_to_read(const std::filesystem::path& path) noexcept {
  return descriptor_of(open_handle(path, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE));
}

[[nodiscard]] inline int open_stream(const std::filesystem::path& path) noexcept {
  return open_to_read(path);
}

inline void close(int descriptor) noexcept { ::_close(descriptor); }

[[nodiscard]] inline bool get_status(::HANDLE handle, FileStatus& out) noexcept {
  const ::DWORD type = ::GetFileType(handle);
  if (type == FILE_TYPE_PIPE || type == FILE_TYPE_CHAR) {
    out = {type == FILE_TYPE_PIPE ? FileKind::fifo : FileKind::character_device, {}};
    return true;
  }
  ::BY_HANDLE_FILE_INFORMATION facts{};
  if (!::GetFileInformationByHandle(handle, &facts)) {
    set_errno();
    return false;
  }
  const auto wide = [](::DWORD high, ::DWORD low) { return std::uint64_t{high} << 32 | low; };
  const std::uint64_t written =
      wide(facts.ftLastWriteTime.dwHighDateTime, facts.ftLastWriteTime.dwLowDateTime);
  const bool is_directory = (facts.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  // Times are in units of 100 ns.
  out = {is_directory ? FileKind::directory : FileKind::regular,
         {facts.dwVolumeSerialNumber, wide(facts.nFileIndexHigh, facts.nFileIndexLow),
          wide(facts.nFileSizeHigh, facts.nFileSizeLow), static_cast<std::int64_t>(written * 100)}};
  return true;
}

[[nodiscard]] inline bool get_status(int descriptor, FileStatus& out) noexcept {
  return get_status(handle_of(descriptor), out);
}

/// The most bytes of one call.
[[nodiscard]] inline ::DWORD piece_of(std::size_t size) noexcept {
  return static_cast<::DWORD>(std::min(size, std::size_t{1} << 30));
}

[[nodiscard]] inline std::ptrdiff_t read(int descriptor, void* to, std::size_t size) noexcept {
  ::DWORD done = 0;
  if (::ReadFile(handle_of(descriptor), to, piece_of(size), &done, nullptr)) return done;
  if (::GetLastError() == ERROR_BROKEN_PIPE) return 0;  // Its writer closed it.
  set_errno();
  return -1;
}

[[nodiscard]] inline ::OVERLAPPED at_offset(std::uint64_t offset) noexcept {
  ::OVERLAPPED out{};
  out.Offset = static_cast<::DWORD>(offset);
  out.OffsetHigh = static_cast<::DWORD>(offset >> 32);
  return out;
}

/// Reads at an offset. Unlike POSIX's, it moves the position of the descriptor.
[[nodiscard]] inline std::ptrdiff_t pread(int descriptor, void* to, std::size_t size,
                                          std::uint64_t offset) noexcept {
  ::OVERLAPPED at = at_offset(offset);
  ::DWORD done = 0;
  if (::ReadFile(handle_of(descriptor), to, piece_of(size), &done, &at)) return done;
  if (::GetLastError() == ERROR_HANDLE_EOF) return 0;
  set_errno();
  return -1;
}

[[nodiscard]] inline std::ptrdiff_t pwrite(int descriptor, const void* from, std::size_t size,
                                           std::uint64_t offset) noexcept {
  ::OVERLAPPED at = at_offset(offset);
  ::DWORD done = 0;
  if (::WriteFile(handle_of(descriptor), from, piece_of(size), &done, &at)) return done;
  set_errno();
  return -1;
}

/// Maps the first `size` bytes, read-only. Meanwhile no process can make the file shorter.
[[nodiscard]] inline void* map(int descriptor, std::size_t size) noexcept {
  const Handle mapping(
      ::CreateFileMappingW(handle_of(descriptor), nullptr, PAGE_READONLY, 0, 0, nullptr));
  void* const address =
      mapping.valid() ? ::MapViewOfFile(mapping.get(), FILE_MAP_READ, 0, 0, size) : nullptr;
  if (!address) set_errno();
  return address;
}

inline void unmap(void* address, std::size_t /*size*/) noexcept { ::UnmapViewOfFile(address); }

/// Windows takes back the pages of files by itself; there is no call for a part of a mapping.
inline void drop_pages(std::uintptr_t /*begin*/, std::uintptr_t /*end*/) noexcept {}

/// Windows decides by itself how it reads the pages of files.
inline void read_pages_alone(std::uintptr_t /*begin*/, std::uintptr_t /*end*/,
                             bool /*alone*/) noexcept {}
inline void read_pages_ahead(std::uintptr_t /*begin*/, std::uintptr_t /*end*/) noexcept {}

}}}  // namespace tenon::TENON_RELEASE::host::platform
