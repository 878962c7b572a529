// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "tenon/core/bytes.hpp"
#include "tenon/core/memory_file.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// A file without a name, for code to be loaded.
///
/// It is in memory, and no process can change it. Where the system refuses that, it is a file that
/// was never linked into a directory (O_TMPFILE), in the first directory that supports it.
class MemoryFile {
 public:
  enum class Kind { memory, unlinked };

  /// A file with `content`, which is compared with it afterwards: until it is sealed, a process of
  /// the same user may write to it. If one does, this fails: a file without seals, in its place,
  /// could still be written to.
  /// errors: AccessFailed with the system's reason, or when the file was changed.
  [[nodiscard]] static Result<MemoryFile> create(Bytes content) {
    MemoryFile file(make(content, Kind::memory));
    // The system cannot seal a file that another process maps for writing.
    if (file.descriptor_ < 0 && errno != EBUSY) file = MemoryFile(make(content, Kind::unlinked));
    return checked(std::move(file), content);
  }

  [[nodiscard]] static Result<MemoryFile> create(Bytes content, Kind kind) {
    return checked(MemoryFile(make(content, kind)), content);
  }

  MemoryFile(MemoryFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  MemoryFile& operator=(MemoryFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~MemoryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// A path that opens this file and differs from all earlier ones.
  [[nodiscard]] std::string path() const { return path_of_descriptor(descriptor_); }

 private:
  explicit MemoryFile(int descriptor) noexcept : descriptor_(descriptor) {}

  /// A descriptor of a file with `content`; -1 with `errno` set when the system refuses.
  static int make(Bytes content, Kind kind) noexcept {
    if (kind == Kind::memory) {
      return make_sealed_file("tenon-aoti-model", {&content, 1}, MemoryFileUse::code);
    }
    const int descriptor = open_unlinked();
    if (descriptor < 0 || write_all(descriptor, content)) return descriptor;
    const int reason = errno;
    ::close(descriptor);
    errno = reason;
    return -1;
  }

  static Result<MemoryFile> checked(MemoryFile file, Bytes content) {
    if (file.descriptor_ < 0) return refuse("create");
    void* data = ::mmap(nullptr, content.size(), PROT_READ, MAP_PRIVATE, file.descriptor_, 0);
    if (data == MAP_FAILED) return refuse("read");
    const bool is_same = std::memcmp(data, content.data(), content.size()) == 0;
    ::munmap(data, content.size());
    if (is_same) return file;
    return error(Error::AccessFailed,
                 "the private file for the model's library was changed before it was sealed");
  }

  static Status refuse(std::string_view what) {
    return error(Error::AccessFailed, "cannot ", what, " a private file for the model's library: ",
                 std::generic_category().message(errno));
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

  int descriptor_;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
