// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tenon/abi/version.h"

/// The processes in which isolated plugins (docs/hosts/isolation.md) of this process run.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace detail {

/// The number after `name` in a file of lines such as "RssAnon:     1234 kB"; 0 without one.
inline std::int64_t number_in(const std::filesystem::path& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t begin = line.find_first_of("0123456789", name.size());
    std::int64_t out = 0;
    if (begin != std::string::npos) {
      std::from_chars(line.data() + begin, line.data() + line.size(), out);
    }
    return out;
  }
  return 0;
}

}  // namespace detail

/// The directories in /proc of the workers: processes whose parent has an application's descriptor
/// that is of this process.
[[nodiscard]] inline std::vector<std::filesystem::path> worker_processes() {
  std::vector<std::filesystem::path> out;
  std::error_code failure;
  // The number of this process; empty where there is no such directory.
  const std::string self = std::filesystem::read_symlink("/proc/self", failure).string();
  for (const auto& each : std::filesystem::directory_iterator("/proc", failure)) {
    std::ifstream file(each.path() / "comm");
    std::string name;
    if (!std::getline(file, name) || name != "tenon-worker") continue;
    const std::int64_t parent = detail::number_in(each.path() / "status", "PPid:");
    // The descriptor that the supervisor watches the application with.
    const std::string watched = "/proc/" + std::to_string(parent) + "/fdinfo/5";
    if (std::to_string(detail::number_in(watched, "Pid:")) == self) out.push_back(each.path());
  }
  return out;
}

/// Bytes that the workers hold: pages without a file, and mappings of files, without those that
/// they have in common with this process.
[[nodiscard]] inline std::int64_t worker_bytes() {
  std::int64_t out = 0;
  for (const std::filesystem::path& process : worker_processes()) {
    out += 1024 * detail::number_in(process / "status", "RssAnon:");
    std::ifstream file(process / "maps");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string range;
      std::string ignored;
      std::string name;
      words >> range >> ignored >> ignored >> ignored >> ignored >> name;
      if (name.empty() || name.starts_with('[') || name.starts_with("/memfd:tenon-")) continue;
      std::uint64_t begin = 0;
      std::uint64_t end = 0;
      const char* const last = range.data() + range.size();
      const auto middle = std::from_chars(range.data(), last, begin, 16).ptr;
      if (middle != last) std::from_chars(middle + 1, last, end, 16);
      out += static_cast<std::int64_t>(end - begin);
    }
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
