// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/core/memory_file.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/impl/posix/library_handle.hpp"
#include "tenon/host/platform/opened_file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

#if defined(__linux__)

inline constexpr bool has_sealed_copies = true;

inline constexpr const char* name_of_copies = "tenon-plugin";

/// A sealed file in memory, with the path and the trust of what it is made of.
///
/// errors: AccessFailed when the system refuses; NotSupported without /proc, by which it is loaded.
inline Result<OpenedFile> opened_copy(FileDescriptor memory, const std::filesystem::path& path,
                                      Trust trust) {
  struct stat status{};
  if (::fstat(memory.get(), &status) != 0) {
    return error(Error::AccessFailed, path.native(), ": ", std::strerror(errno));
  }
  OpenedFile out{std::move(memory), path, platform::identity_of(status), trust};
  if (!descriptor_name(out).empty()) return out;
  return error(Error::NotSupported, path.native(),
               ": a copy in memory is loaded through /proc, which is not mounted");
}

/// A file in memory that is made of `bytes` and sealed. `purpose` ends the texts of failures.
///
/// errors: as `opened_copy`.
inline Result<OpenedFile> sealed_file(std::span<const std::byte> bytes,
                                      const std::filesystem::path& path, Trust trust,
                                      std::string_view purpose) {
  FileDescriptor memory(make_sealed_file(name_of_copies, {&bytes, 1}, MemoryFileUse::code));
  if (memory.valid()) return opened_copy(std::move(memory), path, trust);
  return error(Error::AccessFailed, path.native(), ": a copy in memory cannot be written ", purpose,
               ": ", std::strerror(errno));
}

/// A copy of `file` in memory, sealed before this returns. A caller that checks the copy passes its
/// descriptor on, and with it the bytes that were checked. It has the path and the trust of `file`.
/// `purpose` ends the texts of failures.
///
/// errors: AccessFailed when the file cannot be read; InvalidState when it has another size than
/// when it was opened; the errors of `opened_copy`.
inline Result<OpenedFile> sealed_copy(const OpenedFile& file, std::string_view purpose) {
  const auto failed = [&](const char* what) {
    return error(Error::AccessFailed, file.path.native(), ": ", std::string_view(what), " ",
                 purpose, ": ", std::strerror(errno));
  };
  FileDescriptor copy(make_memory_file(name_of_copies, 0, 0, MemoryFileUse::code));
  if (!copy.valid()) return failed("a copy in memory cannot be made");
  constexpr std::size_t piece = 256 * 1024;
  const std::unique_ptr<std::byte[]> buffer(new std::byte[piece]);
  std::uint64_t offset = 0;
  for (;;) {
    const std::ptrdiff_t size = platform::pread(file.descriptor.get(), buffer.get(), piece, offset);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed("cannot be read");
    // A file that grows without end is not copied without end.
    if (size == 0 || offset > file.identity.size) break;
    if (!write_all(copy.get(), {buffer.get(), static_cast<std::size_t>(size)}, offset)) {
      return failed("a copy in memory cannot be written");
    }
    offset += static_cast<std::uint64_t>(size);
  }
  if (offset != file.identity.size) {
    return error(Error::InvalidState, file.path.native(), ": has another size than the ",
                 file.identity.size,
                 " bytes when it was opened; replace plugins by renaming a new "
                 "file");
  }
  if (!add_seals(copy.get(), content_seals)) return failed("a copy in memory cannot be sealed");
  return opened_copy(std::move(copy), file.path, file.trust);
}

/// Opens the copy again, with a descriptor of its own.
inline Result<OpenedFile> same_copy(const OpenedFile& copy) {
  const int descriptor = ::fcntl(copy.descriptor.get(), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) {
    return error(Error::AccessFailed, copy.path.native(), ": ", std::strerror(errno));
  }
  return OpenedFile{FileDescriptor(descriptor), copy.path, copy.identity, copy.trust};
}

#endif

/// A state of a file: of its content, and of all else that is changed with it.
struct FileState {
  FileIdentity identity;
  std::int64_t changed_ns = 0;  ///< ctime, which no process can set.

  friend bool operator==(const FileState&, const FileState&) = default;
};

/// errors: AccessFailed, with the path.
inline Result<FileState> state_of(const OpenedFile& file) {
  struct stat status{};
  if (::fstat(file.descriptor.get(), &status) != 0) {
    return error(Error::AccessFailed, file.path.native(), ": ", std::strerror(errno));
  }
#if defined(__APPLE__)
  const auto& changed = status.st_ctimespec;
#else
  const auto& changed = status.st_ctim;
#endif
  return FileState{platform::identity_of(status),
                   std::int64_t{changed.tv_sec} * 1'000'000'000 + changed.tv_nsec};
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
