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
#include <span>
#include <string_view>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/files/file_descriptor.hpp"
#include "tenon/host/files/read_at.hpp"

namespace tenon::host {

/// A regular file mapped into memory, read-only and private. Nothing is copied: a page is read when
/// it is first touched.
///
/// Const members may be called from any thread. The file may be removed or replaced by `rename`
/// while it is mapped. If another process makes it shorter, touching the lost pages raises SIGBUS,
/// as with any mapping: replace files, do not rewrite them.
class MappedFile {
 public:
  /// No file; `bytes()` is empty.
  MappedFile() noexcept = default;

  /// Maps all of `path`. The descriptor is closed again before this returns.
  ///
  /// errors: AccessFailed when there is no such file, it cannot be read, it is empty or not a
  ///         regular file (a directory, FIFO, socket or device), or the system cannot map it. The
  ///         text names the path and the reason. (ExecuTorch's MmapDataLoader::from uses the code.)
  ///
  /// `head`, when it is not empty, receives a copy of the first bytes of the file, and is cut to
  /// the size of the file: reading a few bytes costs less than touching the mapping for the first
  /// time.
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path,
                                               std::span<std::byte>* head = nullptr) {
    // O_NONBLOCK: opening a FIFO must not wait for a writer. It changes nothing for regular files.
    const FileDescriptor descriptor(
        ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!descriptor.valid()) return refused(path, std::strerror(errno));
    TENON_TRY(MappedFile file, map_checked(descriptor.get(), path));
    if (head) {
      const ::ssize_t size = read_at(descriptor.get(), *head, 0);
      if (size < 0) return refused(path, std::strerror(errno));
      *head = head->first(static_cast<std::size_t>(size));
    }
    return file;
  }

  /// Maps the first `size` bytes, which must not be 0, of an open file. The descriptor stays the
  /// caller's and may be closed. `path` is for the text of AccessFailed.
  [[nodiscard]] static Result<MappedFile> map(int descriptor, std::size_t size,
                                              const std::filesystem::path& path) {
    void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) return refused(path, std::strerror(errno));
    return MappedFile(address, size);
  }

  MappedFile(MappedFile&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (address_ != nullptr) ::munmap(address_, size_);
  }

  /// The file's bytes, page-aligned. Valid while this object lives.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {static_cast<const std::byte*>(address_), size_};
  }

  /// Gives the memory of the whole pages inside `part` back to the system. The bytes stay readable:
  /// a later touch reads them from the file again. A part that is not inside `bytes()` is ignored.
  void drop(std::span<const std::byte> part) const noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
    const auto base = reinterpret_cast<std::uintptr_t>(address_);
    if (begin < base || begin - base > size_ || part.size() > size_ - (begin - base)) return;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first = (begin + page - 1) / page * page;
    const auto last = (begin + part.size()) / page * page;
    if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }

 private:
  MappedFile(void* address, std::size_t size) noexcept : address_(address), size_(size) {}

  static Status refused(const std::filesystem::path& path, std::string_view why) {
    return error(Error::AccessFailed, path.native(), ": ", why);
  }

  static Result<MappedFile> map_checked(int descriptor, const std::filesystem::path& path) {
    struct stat status{};
    if (::fstat(descriptor, &status) != 0) return refused(path, std::strerror(errno));
    if (S_ISDIR(status.st_mode)) return refused(path, "is a directory, expected a regular file");
    if (S_ISFIFO(status.st_mode)) return refused(path, "is a FIFO, expected a regular file");
    if (!S_ISREG(status.st_mode)) return refused(path, "is not a regular file");
    if (status.st_size == 0) return refused(path, "file is empty");
    // The address space of a 32-bit process; all offsets in the file then fit as well.
    if (!std::in_range<std::ptrdiff_t>(status.st_size)) {
      return refused(path, concat("has ", static_cast<std::int64_t>(status.st_size),
                                  " bytes, this process of ", 8 * sizeof(void*),
                                  " bits maps at most ", PTRDIFF_MAX));
    }
    return map(descriptor, static_cast<std::size_t>(status.st_size), path);
  }

  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tenon::host
