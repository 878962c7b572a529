// SPDX-License-Identifier: MIT
#pragma once

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
#include "tenon/host/platform/file_descriptor.hpp"
#include "tenon/host/platform/file_identity.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_at.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

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
    TENON_RETURN_IF_ERROR(check_no_nul(path));
    const FileDescriptor descriptor(platform::open_to_read(path));
    if (!descriptor.valid()) return refused(path, std::strerror(errno));
    TENON_TRY(MappedFile file, map_checked(descriptor.get(), path));
    if (head) {
      const std::ptrdiff_t size = read_at(descriptor.get(), *head, 0);
      if (size < 0) return refused(path, std::strerror(errno));
      *head = head->first(static_cast<std::size_t>(size));
    }
    return file;
  }

  /// Maps the first `size` bytes, which must not be 0, of an open file. The descriptor stays the
  /// caller's and may be closed.
  ///
  /// errors: AccessFailed, with a text that begins with `path`, when the system cannot map it or
  ///         the process, of 32 bits, has no address space for it.
  [[nodiscard]] static Result<MappedFile> map(int descriptor, std::uint64_t size,
                                              const std::filesystem::path& path) {
    // All offsets in the file then fit as well.
    if (!std::in_range<std::ptrdiff_t>(size)) {
      return refused(path, concat("has ", size, " bytes, this process of ", 8 * sizeof(void*),
                                  " bits maps at most ", PTRDIFF_MAX));
    }
    const auto mapped_size = static_cast<std::size_t>(size);
    void* const address = platform::map(descriptor, mapped_size);
    if (!address) return refused(path, std::strerror(errno));
    return MappedFile(address, mapped_size);
  }

  MappedFile(MappedFile&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        identity_(other.identity_) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    std::swap(identity_, other.identity_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (address_ != nullptr) platform::unmap(address_, size_);
  }

  /// The file's bytes, page-aligned. Valid while this object lives.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {static_cast<const std::byte*>(address_), size_};
  }

  /// The file as `open` found it; all zero for no file, and for one that was mapped by `map`.
  [[nodiscard]] const FileIdentity& identity() const noexcept { return identity_; }

  /// Gives the memory of the whole pages inside `part` back to the system. The bytes stay readable:
  /// a later touch reads them from the file again. A part that is not inside `bytes()` is ignored.
  void drop(std::span<const std::byte> part) const noexcept {
    if (has(part)) platform::drop_pages(begin_of(part), begin_of(part) + part.size());
  }

  /// Whether the system reads a page of `part` alone when it is touched, or, as is usual, what is
  /// around it as well: up to megabytes. A part that is not inside `bytes()` is ignored.
  void read_alone(std::span<const std::byte> part, bool alone) const noexcept {
    if (has(part)) platform::read_pages_alone(begin_of(part), begin_of(part) + part.size(), alone);
  }

  /// Lets the system begin to read `part`, and nothing around it. A part that is not inside
  /// `bytes()` is ignored.
  void read_ahead(std::span<const std::byte> part) const noexcept {
    if (has(part)) platform::read_pages_ahead(begin_of(part), begin_of(part) + part.size());
  }

 private:
  MappedFile(void* address, std::size_t size) noexcept : address_(address), size_(size) {}

  static std::uintptr_t begin_of(std::span<const std::byte> part) noexcept {
    return reinterpret_cast<std::uintptr_t>(part.data());
  }
  [[nodiscard]] bool has(std::span<const std::byte> part) const noexcept {
    const std::uintptr_t begin = begin_of(part);
    const auto base = reinterpret_cast<std::uintptr_t>(address_);
    return begin >= base && begin - base <= size_ && part.size() <= size_ - (begin - base);
  }

  static Status refused(const std::filesystem::path& path, std::string_view why) {
    return error(Error::AccessFailed, path_text(path), ": ", why);
  }

  static Result<MappedFile> map_checked(int descriptor, const std::filesystem::path& path) {
    platform::FileStatus status;
    if (!platform::get_status(descriptor, status)) return refused(path, std::strerror(errno));
    if (status.kind == platform::FileKind::directory || status.kind == platform::FileKind::fifo) {
      return error(Error::AccessFailed, path_text(path), ": is ", platform::describe(status.kind),
                   ", expected a regular file");
    }
    if (status.kind != platform::FileKind::regular) return refused(path, "is not a regular file");
    if (status.identity.size == 0) return refused(path, "file is empty");
    TENON_TRY(MappedFile file, map(descriptor, status.identity.size, path));
    file.identity_ = status.identity;
    return file;
  }

  void* address_ = nullptr;
  std::size_t size_ = 0;
  FileIdentity identity_;
};

}}}  // namespace tenon::TENON_RELEASE::host
