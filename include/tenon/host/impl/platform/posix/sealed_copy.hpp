// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
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

#include "tenon/core/result.hpp"
#include "tenon/host/impl/platform/posix/library_handle.hpp"
#include "tenon/host/platform/opened_file.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon::inline TENON_RELEASE::host::detail {

#if defined(__linux__)

inline constexpr bool has_sealed_copies = true;

inline int open_memory() noexcept {
  const char* const name = "tenon-plugin";  // Visible only in /proc/PID/maps.
#if defined(MFD_EXEC)
  // Required on systems where memory files are not executable by default.
  const int executable = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  if (executable >= 0 || errno != EINVAL) return executable;
#endif
  return ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/// Appends `size` bytes. Returns whether it could.
inline bool write_all(int descriptor, const std::byte* data, std::size_t size) noexcept {
  while (size != 0) {
    const ::ssize_t done = ::write(descriptor, data, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    data += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

/// Seals what was written to `memory`, a file of `open_memory`: what is read from it then is what
/// is loaded from it. The result has the path and the trust of `like`. `purpose` ends the texts of
/// failures.
///
/// errors: AccessFailed when the system refuses; NotSupported without /proc, by which it is loaded.
inline Result<OpenedFile> seal(FileDescriptor memory, const std::filesystem::path& path,
                               Trust trust, std::string_view purpose) {
  struct stat status{};
  if (::fcntl(memory.get(), F_ADD_SEALS,
              F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
      ::fstat(memory.get(), &status) != 0) {
    return error(Error::AccessFailed, path.native(), ": a copy in memory cannot be sealed ",
                 purpose, ": ", std::strerror(errno));
  }
  OpenedFile out{std::move(memory), path, platform::identity_of(status), trust};
  if (!descriptor_name(out).empty()) return out;
  return error(Error::NotSupported, path.native(),
               ": a copy in memory is loaded through /proc, which is not mounted");
}

/// A file in memory that is made of `bytes` and sealed.
///
/// errors: those of `seal`.
inline Result<OpenedFile> sealed_file(std::span<const std::byte> bytes,
                                      const std::filesystem::path& path, Trust trust,
                                      std::string_view purpose) {
  FileDescriptor memory(open_memory());
  if (!memory.valid() || !write_all(memory.get(), bytes.data(), bytes.size())) {
    return error(Error::AccessFailed, path.native(), ": a copy in memory cannot be written ",
                 purpose, ": ", std::strerror(errno));
  }
  return seal(std::move(memory), path, trust, purpose);
}

/// A copy of `file` in memory, sealed before this returns. A caller that checks the copy passes its
/// descriptor on, and with it the bytes that were checked. It has the path and the trust of `file`.
/// `purpose` ends the texts of failures.
///
/// errors: AccessFailed when the file cannot be read; InvalidState when it has another size than
/// when it was opened; those of `seal`.
inline Result<OpenedFile> sealed_copy(const OpenedFile& file, std::string_view purpose) {
  const auto failed = [&](const char* what) {
    return error(Error::AccessFailed, file.path.native(), ": ", std::string_view(what), " ",
                 purpose, ": ", std::strerror(errno));
  };
  FileDescriptor copy(open_memory());
  if (!copy.valid()) return failed("a copy in memory cannot be made");
  constexpr std::size_t piece = 256 * 1024;
  const std::unique_ptr<std::byte[]> buffer(new std::byte[piece]);
  std::uint64_t offset = 0;
  for (;;) {
    const std::ptrdiff_t size = platform::pread(file.descriptor.get(), buffer.get(), piece, offset);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed("cannot be read");
    // One that grows without end is not copied without end.
    if (size == 0 || offset > file.identity.size) break;
    if (!write_all(copy.get(), buffer.get(), static_cast<std::size_t>(size))) {
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
  return seal(std::move(copy), file.path, file.trust, purpose);
}

/// The same copy again, with a descriptor of its own.
inline Result<OpenedFile> same_copy(const OpenedFile& copy) {
  const int descriptor = ::fcntl(copy.descriptor.get(), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) {
    return error(Error::AccessFailed, copy.path.native(), ": ", std::strerror(errno));
  }
  return OpenedFile{FileDescriptor(descriptor), copy.path, copy.identity, copy.trust};
}

#else

inline constexpr bool has_sealed_copies = false;

/// Never called.
inline Result<OpenedFile> sealed_copy(const OpenedFile& file, std::string_view) {
  return error(Error::NotSupported, path_text(file.path), ": this system has no sealed files");
}
inline Result<OpenedFile> sealed_file(std::span<const std::byte>, const std::filesystem::path& path,
                                      Trust, std::string_view) {
  return error(Error::NotSupported, path_text(path), ": this system has no sealed files");
}
inline Result<OpenedFile> same_copy(const OpenedFile& copy) { return sealed_copy(copy, {}); }

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

}  // namespace tenon::inline TENON_RELEASE::host::detail
