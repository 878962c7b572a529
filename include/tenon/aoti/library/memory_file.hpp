// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "tenon/core/result.hpp"

namespace tenon::inline TENON_RELEASE::aoti {

/// A file without a name, for code to be loaded: other processes cannot guess, replace or find it,
/// and the system frees it with its last descriptor, however the process ends.
///
/// It is in memory (memfd_create). Where the system refuses that, it is a file that was never
/// linked into a directory (O_TMPFILE), in the first directory that supports it.
class MemoryFile {
 public:
  enum class Kind { memory, unlinked };

  /// Creates a file of `nbytes` zeroes, to be written through `bytes()`.
  /// errors: AccessFailed with the system's reason.
  [[nodiscard]] static Result<MemoryFile> create(std::size_t nbytes) {
    auto file = create(nbytes, Kind::memory);
    return file.ok() ? std::move(file) : create(nbytes, Kind::unlinked);
  }

  [[nodiscard]] static Result<MemoryFile> create(std::size_t nbytes, Kind kind) {
    MemoryFile file;
    file.descriptor_ = kind == Kind::memory ? open_memory() : open_unlinked();
    if (file.descriptor_ < 0) return refuse("create");
    if (::ftruncate(file.descriptor_, static_cast<off_t>(nbytes)) != 0) return refuse("size");
    void* data = ::mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor_, 0);
    if (data == MAP_FAILED) return refuse("map");
    file.bytes_ = {static_cast<std::byte*>(data), nbytes};
    return file;
  }

  /// A file with `content`, sealed, and then compared with `content`: until it is sealed, a process
  /// of the same user may open it by /proc/PID/fd and write to it.
  /// errors: AccessFailed with the system's reason, or when the file was changed.
  [[nodiscard]] static Result<MemoryFile> create_sealed(std::span<const std::byte> content) {
    TENON_TRY(MemoryFile file, create(content.size()));
    std::memcpy(file.bytes().data(), content.data(), content.size());
    file.finish();
    void* data = ::mmap(nullptr, content.size(), PROT_READ, MAP_PRIVATE, file.descriptor_, 0);
    if (data == MAP_FAILED) return refuse("read");
    const bool is_same = std::memcmp(data, content.data(), content.size()) == 0;
    ::munmap(data, content.size());
    if (is_same) return file;
    return error(Error::AccessFailed,
                 "the private file for the model's library was changed before it was sealed");
  }

  MemoryFile(MemoryFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        bytes_(std::exchange(other.bytes_, {})) {}
  MemoryFile& operator=(MemoryFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryFile() {
    unmap();
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// The whole file; empty after `finish`.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

  /// Ends writing. A file in memory is sealed, so that no process can change it before it is
  /// loaded.
  void finish() noexcept {
    unmap();
#if defined(F_ADD_SEALS)
    // Fails for a file on disk, whose descriptor only this process has.
    static_cast<void>(::fcntl(descriptor_, F_ADD_SEALS,
                              F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
#endif
  }

  /// A path that opens this file and differs from all earlier ones. The dynamic loader compares
  /// names before it opens anything, and descriptor numbers are reused.
  [[nodiscard]] std::string path() const {
    static std::atomic<std::uint64_t> counter = 1;
    std::string name = concat("/proc/", static_cast<std::int64_t>(::getpid()));
    for (std::uint64_t bits = counter++; bits != 0; bits >>= 1) {
      name += (bits & 1) != 0 ? "/." : "/";
    }
    return name + concat("/fd/", descriptor_);
  }

 private:
  MemoryFile() = default;

  static Status refuse(std::string_view what) {
    return error(Error::AccessFailed, "cannot ", what, " a private file for the model's library: ",
                 std::generic_category().message(errno));
  }

  static int open_memory() noexcept {
    const char* const name = "tenon-aoti-model";  // Visible only in /proc/PID/maps.
#if defined(MFD_EXEC)
    // Required on systems where memory files are not executable by default.
    const int executable = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    if (executable >= 0 || errno != EINVAL) return executable;
#endif
    return ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  }

  static int open_unlinked() noexcept {
    const char* const chosen = ::secure_getenv("TMPDIR");
    for (const char* directory : {chosen, "/tmp", "/var/tmp", "/dev/shm"}) {
      if (!directory || *directory != '/') continue;
      const int descriptor = ::open(directory, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0700);
      if (descriptor < 0) continue;
      if (may_execute(descriptor)) return descriptor;
      ::close(descriptor);
      errno = EACCES;
    }
    return -1;
  }

  /// False in a directory that is mounted noexec: mapping a page of code fails there.
  static bool may_execute(int descriptor) noexcept {
    if (::ftruncate(descriptor, 1) != 0) return false;
    void* page = ::mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0);
    if (page == MAP_FAILED) return false;
    ::munmap(page, 1);
    return true;
  }

  void unmap() noexcept {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
    bytes_ = {};
  }

  int descriptor_ = -1;
  std::span<std::byte> bytes_;
};

}  // namespace tenon::inline TENON_RELEASE::aoti
