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

namespace tenon::inline TENON_RELEASE::aoti {

/// A file without a name, for code to be loaded.
///
/// It is in memory, and no process can change it. Where the system refuses that, it is a file that
/// was never linked into a directory (O_TMPFILE), in the first directory that supports it.
class MemoryFile {
 public:
  enum class Kind { memory, unlinked };

  /// A file with `content`, which is compared with it afterwards: until it is sealed, a process of
  /// the same user may write to it.
  /// errors: AccessFailed with the system's reason, or when the file was changed.
  [[nodiscard]] static Result<MemoryFile> create(Bytes content) {
    auto file = create(content, Kind::memory);
    return file.ok() ? std::move(file) : create(content, Kind::unlinked);
  }

  [[nodiscard]] static Result<MemoryFile> create(Bytes content, Kind kind) {
    MemoryFile file(kind == Kind::memory
                        ? make_sealed_file("tenon-aoti-model", {&content, 1}, MemoryFileUse::code)
                        : open_unlinked());
    if (file.descriptor_ < 0) return refuse("create");
    if (kind == Kind::unlinked && !write_all(file.descriptor_, content)) return refuse("write");
    void* data = ::mmap(nullptr, content.size(), PROT_READ, MAP_PRIVATE, file.descriptor_, 0);
    if (data == MAP_FAILED) return refuse("read");
    const bool is_same = std::memcmp(data, content.data(), content.size()) == 0;
    ::munmap(data, content.size());
    if (is_same) return file;
    return error(Error::AccessFailed,
                 "the private file for the model's library was changed before it was sealed");
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

}  // namespace tenon::inline TENON_RELEASE::aoti
