// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "tenon/host/platform/file_descriptor.hpp"
#include "tenon/host/platform/impl/page_access.hpp"
#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// Bytes of a page. Their protection changes by pages.
[[nodiscard]] inline std::size_t page_size() noexcept {
  static const std::size_t size = [] {
    ::SYSTEM_INFO facts{};
    ::GetSystemInfo(&facts);
    return std::size_t{facts.dwPageSize};
  }();
  return size;
}

[[nodiscard]] constexpr ::DWORD protection_of(PageAccess access) noexcept {
  return access == PageAccess::none   ? PAGE_NOACCESS
         : access == PageAccess::read ? PAGE_READONLY
                                      : PAGE_READWRITE;
}

/// Pages of zeros with room for `size` bytes, or null with `errno` set. Until they are written to
/// they take no memory, but count as memory that the system has promised.
[[nodiscard]] inline void* take_pages(std::size_t size,
                                      PageAccess access = PageAccess::read_and_write) noexcept {
  void* const pages =
      ::VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, protection_of(access));
  if (!pages) set_errno();
  return pages;
}

/// Null: this system has no files in memory.
[[nodiscard]] inline void* take_shared_pages(std::size_t /*size*/,
                                             FileDescriptor& /*file*/) noexcept {
  errno = ENOTSUP;
  return nullptr;
}

/// Pages of `take_pages`, with the same size.
inline void give_back_pages(void* pages, std::size_t /*size*/) noexcept {
  ::VirtualFree(pages, 0, MEM_RELEASE);
}

/// Returns false, with `errno` set, when the system refuses.
inline bool protect_pages(void* pages, std::size_t size, PageAccess access) noexcept {
  ::DWORD before = 0;
  if (::VirtualProtect(pages, size, protection_of(access), &before)) return true;
  set_errno();
  return false;
}

/// Calls `each(begin, end)` with the memory of this process that has exactly this access, or can be
/// run as well where it is `read`, in the order of its addresses.
template <class Each>
void for_each_range(PageAccess access, const Each& each) {
  ::MEMORY_BASIC_INFORMATION facts{};
  for (std::uintptr_t at = 0;
       ::VirtualQuery(reinterpret_cast<const void*>(at), &facts, sizeof facts) != 0;
       at += facts.RegionSize) {
    if (facts.State != MEM_COMMIT) continue;
    const bool reads_and_runs = access == PageAccess::read && facts.Protect == PAGE_EXECUTE_READ;
    if (reads_and_runs || facts.Protect == protection_of(access)) each(at, at + facts.RegionSize);
  }
}

}}}  // namespace tenon::TENON_RELEASE::host::platform
