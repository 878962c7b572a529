// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "tenon/core/memory_file.hpp"
#include "tenon/host/platform/file_descriptor.hpp"
#include "tenon/host/platform/impl/page_access.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// Bytes of a page. Their protection changes by pages.
[[nodiscard]] inline std::size_t page_size() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

[[nodiscard]] constexpr int protection_of(PageAccess access) noexcept {
  return access == PageAccess::none   ? PROT_NONE
         : access == PageAccess::read ? PROT_READ
                                      : PROT_READ | PROT_WRITE;
}

/// Pages of zeros with room for `size` bytes, or null with `errno` set. Until they are written to
/// they take no memory.
[[nodiscard]] inline void* take_pages(std::size_t size,
                                      PageAccess access = PageAccess::read_and_write) noexcept {
  const bool writes = access == PageAccess::read_and_write;
  void* const pages = ::mmap(nullptr, size, protection_of(access),
                             MAP_PRIVATE | MAP_ANONYMOUS | (writes ? 0 : MAP_NORESERVE), -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

/// Takes pages of a file in memory, which another process can map as well; the file takes no more
/// seals. Otherwise as `take_pages`. Null also where the system has no such files.
[[nodiscard]] inline void* take_shared_pages(std::size_t size, FileDescriptor& file) noexcept {
#if defined(__linux__)
  FileDescriptor made(make_memory_file("tenon-pages", size, size_seals | F_SEAL_SEAL));
  if (!made.valid()) return nullptr;
  void* const pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, made.get(), 0);
  if (pages == MAP_FAILED) return nullptr;
  file = std::move(made);
  return pages;
#else
  static_cast<void>(size);
  static_cast<void>(file);
  errno = ENOTSUP;
  return nullptr;
#endif
}

/// Pages of `take_pages` or `take_shared_pages`, with the same size.
inline void give_back_pages(void* pages, std::size_t size) noexcept { ::munmap(pages, size); }

/// Returns false, with `errno` set, when the system refuses.
inline bool protect_pages(void* pages, std::size_t size, PageAccess access) noexcept {
  return ::mprotect(pages, size, protection_of(access)) == 0;
}

/// Calls `each(begin, end)` with the memory of this process that has exactly this access, or can be
/// run as well where it is `read`, in the order of its addresses. Never where the system does not
/// report it.
template <class Each>
void for_each_range(PageAccess access, const Each& each) {
  // Closed and freed also where `each` throws.
  struct Maps {
    std::FILE* file = std::fopen("/proc/self/maps", "re");
    char* line = nullptr;
    std::size_t capacity = 0;

    ~Maps() {
      std::free(line);
      if (file) std::fclose(file);
    }
  } maps;
  if (!maps.file) return;
  const std::string_view rights = access == PageAccess::none   ? "---"
                                  : access == PageAccess::read ? "r-"
                                                               : "rw-";
  while (::getline(&maps.line, &maps.capacity, maps.file) > 0) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char found[8] = {};
    const int count = std::sscanf(maps.line, "%" SCNxPTR "-%" SCNxPTR " %7s", &begin, &end, found);
    if (count == 3 && std::string_view(found).starts_with(rights)) each(begin, end);
  }
}

}}}  // namespace tenon::TENON_RELEASE::host::platform
