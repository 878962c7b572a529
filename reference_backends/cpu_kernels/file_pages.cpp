// SPDX-License-Identifier: MIT
#include "file_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace tenon::cpu_aoti {
namespace {

/// Whether a page is in memory and its contents are elsewhere, too: in a file, or in an object of
/// shared memory. Anonymous pages and private copies of a file's page are not (Linux:
/// Documentation/admin-guide/mm/pagemap.rst, bits 63 and 61).
[[nodiscard]] bool is_of_file(std::uint64_t entry) noexcept {
  return (entry >> 63 & 1) != 0 && (entry >> 61 & 1) != 0;
}

}  // namespace

void release_file_pages(const std::byte* data, std::size_t nbytes) noexcept {
  const auto page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  std::uintptr_t page = (begin + page_size - 1) / page_size;
  const std::uintptr_t end = (begin + nbytes) / page_size;
  if (page >= end) return;
  const int pages = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pages < 0) return;
  std::array<std::uint64_t, 512> entries;
  while (page < end) {
    const std::size_t wanted = std::min<std::size_t>(entries.size(), end - page);
    const ::ssize_t got = ::pread(pages, entries.data(), wanted * sizeof entries[0],
                                  static_cast<::off_t>(page * sizeof entries[0]));
    const std::size_t count = got > 0 ? static_cast<std::size_t>(got) / sizeof entries[0] : 0;
    if (count == 0) break;
    for (std::size_t i = 0; i < count;) {
      std::size_t last = i;
      while (last < count && is_of_file(entries[last])) ++last;
      if (last != i) {
        auto* const first = reinterpret_cast<void*>((page + i) * page_size);
        // Locked pages remain; that is no failure.
        static_cast<void>(::madvise(first, (last - i) * page_size, MADV_DONTNEED));
      }
      i = std::max(last, i + 1);
    }
    page += count;
  }
  ::close(pages);
}

}  // namespace tenon::cpu_aoti
