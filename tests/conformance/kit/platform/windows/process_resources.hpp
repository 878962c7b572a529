// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kit/platform/mapping.hpp"
#include "kit/platform/tasks.hpp"
#include "kit/platform/windows/kept_libraries.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/platform/windows/api.hpp"

// After <windows.h>.
#include <tlhelp32.h>

/// The resources of this process. Descriptors are handles of files, pipes and devices; others
/// belong to locks of the C++ library as well, which makes them when they are first waited for.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// Calls `each` with each handle of a file that is open, and its type. Handles are multiples of
/// four; where there is none over a long stretch, there are no more.
template <class Each>
void for_each_handle(const Each& each) {
  constexpr std::uintptr_t stretch = 4 * 1024;
  for (std::uintptr_t number = 4, last = 0; number < last + stretch; number += 4) {
    ::DWORD flags = 0;
    const auto handle = reinterpret_cast<::HANDLE>(number);
    if (!::GetHandleInformation(handle, &flags)) continue;
    last = number;
    const ::DWORD type = ::GetFileType(handle);
    if (type != FILE_TYPE_UNKNOWN) each(handle, type, static_cast<int>(number));
  }
}

[[nodiscard]] inline std::int64_t num_descriptors() {
  std::int64_t out = 0;
  for_each_handle([&](::HANDLE, ::DWORD, int) { ++out; });
  return out;
}

/// By number; the path of each file, and the kind of all else.
[[nodiscard]] inline std::map<int, std::string> descriptors() {
  std::map<int, std::string> out;
  for_each_handle([&](::HANDLE handle, ::DWORD type, int number) {
    std::string& name = out[number];
    name = type == FILE_TYPE_PIPE ? "a pipe" : "a character device";
    if (type != FILE_TYPE_DISK) return;
    std::array<wchar_t, 1024> path;
    const ::DWORD length = ::GetFinalPathNameByHandleW(
        handle, path.data(), static_cast<::DWORD>(path.size()), FILE_NAME_NORMALIZED);
    name = length == 0 || length >= path.size()
               ? "a file"
               : host::platform::to_utf8(path.data(), static_cast<int>(length));
  });
  return out;
}

/// Calls `on_thread` with the id of each thread of this process, and `on_child` with the id and the
/// name of each child.
template <class OnThread, class OnChild>
void for_each_task(const OnThread& on_thread, const OnChild& on_child) {
  const host::platform::Handle snapshot(
      ::CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD | TH32CS_SNAPPROCESS, 0));
  if (!snapshot.valid()) return;
  const ::DWORD mine = ::GetCurrentProcessId();
  ::THREADENTRY32 thread{};
  thread.dwSize = sizeof thread;
  for (::BOOL more = ::Thread32First(snapshot.get(), &thread); more;
       more = ::Thread32Next(snapshot.get(), &thread)) {
    if (thread.th32OwnerProcessID == mine) on_thread(static_cast<int>(thread.th32ThreadID));
  }
  ::PROCESSENTRY32W process{};
  process.dwSize = sizeof process;
  for (::BOOL more = ::Process32FirstW(snapshot.get(), &process); more;
       more = ::Process32NextW(snapshot.get(), &process)) {
    if (process.th32ParentProcessID != mine) continue;
    on_child(static_cast<int>(process.th32ProcessID), process.szExeFile);
  }
}

[[nodiscard]] inline TaskCounts count_tasks() {
  TaskCounts out;
  for_each_task([&](int) { ++out.threads; }, [&](int, const wchar_t*) { ++out.processes; });
  return out;
}

[[nodiscard]] inline Tasks tasks() {
  Tasks out;
  for_each_task([&](int id) { out.threads[id] = "without a name"; },
                [&](int id, const wchar_t* name) {
                  out.processes[id] = host::platform::to_utf8(
                      name, static_cast<int>(std::char_traits<wchar_t>::length(name)));
                });
  return out;
}

/// Bytes of allocated memory, without freed blocks, in all heaps of the process.
[[nodiscard]] inline std::int64_t allocated_bytes() noexcept {
  std::array<::HANDLE, 64> heaps;
  const ::DWORD count = ::GetProcessHeaps(static_cast<::DWORD>(heaps.size()), heaps.data());
  std::int64_t out = 0;
  for (::DWORD i = 0; i < count && i < heaps.size(); ++i) {
    if (!::HeapLock(heaps[i])) continue;
    ::PROCESS_HEAP_ENTRY entry{};
    while (::HeapWalk(heaps[i], &entry)) {
      if ((entry.wFlags & PROCESS_HEAP_ENTRY_BUSY) != 0) out += entry.cbData;
    }
    ::HeapUnlock(heaps[i]);
  }
  return out;
}

/// The system does not report them.
[[nodiscard]] inline std::int64_t resident_bytes() noexcept { return 0; }

/// In the order of their addresses. Libraries and the program have their path; memory of this
/// process alone, with heaps and stacks, is "[private]".
[[nodiscard]] inline std::vector<Mapping> mappings() {
  std::vector<Mapping> out;
  ::MEMORY_BASIC_INFORMATION facts{};
  const void* named = nullptr;
  std::string name;
  for (std::uintptr_t at = 0;
       ::VirtualQuery(reinterpret_cast<const void*>(at), &facts, sizeof facts) != 0;
       at += facts.RegionSize) {
    if (facts.State != MEM_COMMIT) continue;
    if (facts.Type == MEM_IMAGE && facts.AllocationBase != named) {
      named = facts.AllocationBase;
      name = module_path(static_cast<::HMODULE>(facts.AllocationBase));
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(facts.BaseAddress);
    const auto base = reinterpret_cast<std::uintptr_t>(facts.AllocationBase);
    const ::DWORD rights = facts.Protect & 0xFF;  // Without PAGE_GUARD and what is about caches.
    const bool executable = rights >= PAGE_EXECUTE;
    out.push_back(
        {begin, begin + facts.RegionSize,
         rights != PAGE_NOACCESS && rights != PAGE_EXECUTE && (facts.Protect & PAGE_GUARD) == 0,
         executable, begin - base,
         facts.Type == MEM_IMAGE     ? name
         : facts.Type == MEM_PRIVATE ? "[private]"
                                     : ""});
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
