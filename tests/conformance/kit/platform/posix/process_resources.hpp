// SPDX-License-Identifier: MIT
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__APPLE__)
#include <malloc/malloc.h>
#endif

#include "kit/platform/mapping.hpp"
#include "kit/platform/tasks.hpp"
#include "tenon/core/concat.hpp"

/// The resources of this process: on Linux all of them, elsewhere memory and descriptors. Counting
/// leaves nothing allocated.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// Calls `each` with the name of each entry of a directory of numbers, such as "/proc/self/fd".
template <class Each>
void for_each_number(const char* directory, const Each& each) {
  DIR* open = ::opendir(directory);
  if (!open) return;
  while (const dirent* entry = ::readdir(open)) {
    const std::string_view name = entry->d_name;
    int number = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failed == std::errc() && end == name.data() + name.size() && number != ::dirfd(open)) {
      each(number);
    }
  }
  ::closedir(open);
}

[[nodiscard]] inline std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

#if defined(__APPLE__)
inline constexpr const char* descriptors_directory = "/dev/fd";
#else
inline constexpr const char* descriptors_directory = "/proc/self/fd";
#endif

[[nodiscard]] inline std::int64_t num_descriptors() {
  std::int64_t out = 0;
  for_each_number(descriptors_directory, [&](int) { ++out; });
  return out;
}

[[nodiscard]] inline TaskCounts count_tasks() {
  TaskCounts out;
  for_each_number("/proc/self/task", [&](int task) {
    ++out.threads;
    const std::string children = first_line(concat("/proc/self/task/", task, "/children"));
    for (const char letter : children) out.processes += letter == ' ' ? 1 : 0;
  });
  return out;
}

/// By number; the file of each.
[[nodiscard]] inline std::map<int, std::string> descriptors() {
  std::map<int, std::string> out;
  for_each_number(descriptors_directory, [&](int number) {
    std::array<char, 4096> target;
    const ssize_t size = ::readlink(concat(descriptors_directory, "/", number).c_str(),
                                    target.data(), target.size());
    out[number] =
        size < 0 ? std::string("?") : std::string(target.data(), static_cast<std::size_t>(size));
  });
  return out;
}

[[nodiscard]] inline Tasks tasks() {
  Tasks out;
  for_each_number("/proc/self/task", [&](int task) {
    const std::string directory = concat("/proc/self/task/", task);
    out.threads[task] = first_line(directory + "/comm");
    const std::string children = first_line(directory + "/children");
    for (const char *at = children.data(), *end = at + children.size(); at < end; ++at) {
      int child = 0;
      at = std::from_chars(at, end, child).ptr;
      if (child != 0) out.processes[child] = first_line(concat("/proc/", child, "/comm"));
    }
  });
  return out;
}

/// Bytes of allocated memory, without freed blocks, as the allocator reports.
[[nodiscard]] inline std::int64_t allocated_bytes() noexcept {
#if defined(__GLIBC__)
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
#elif defined(__APPLE__)
  struct mstats info = ::mstats();
  return static_cast<std::int64_t>(info.bytes_used);
#else
  return 0;
#endif
}

/// Bytes of resident pages without a file; 0 where the system does not report them.
[[nodiscard]] inline std::int64_t resident_bytes() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
  std::ifstream status("/proc/self/status");
  constexpr std::string_view name = "RssAnon:";
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return 1024 * std::atoll(line.c_str() + name.size());
  }
  return 0;
}

/// In the order of their addresses; none where the system does not report them.
[[nodiscard]] inline std::vector<Mapping> mappings() {
  std::vector<Mapping> out;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    if (auto one = mapping_of(line)) out.push_back(*std::move(one));
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
