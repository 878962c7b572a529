// SPDX-License-Identifier: MIT
#pragma once

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};
using OpenDirectory = std::unique_ptr<DIR, CloseDirectory>;

/// The names that are left in `directory`, sorted, without "." and "..". AccessFailed, with `path`,
/// when they cannot be read.
[[nodiscard]] inline Result<std::vector<std::string>> read_names(
    const OpenDirectory& directory, const std::filesystem::path& path) {
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return error(Error::AccessFailed, path.native(), ": ", std::strerror(errno));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace detail

/// The names in the directory `path`, sorted, without "." and "..". AccessFailed when it is not a
/// directory or cannot be read. libstdc++'s directory_iterator would abort the process where memory
/// runs out.
[[nodiscard]] inline Result<std::vector<std::string>> list_directory(
    const std::filesystem::path& path) {
  const detail::OpenDirectory directory(::opendir(path.c_str()));
  if (!directory) return error(Error::AccessFailed, path.native(), ": ", std::strerror(errno));
  return detail::read_names(directory, path);
}

}}}  // namespace tenon::TENON_RELEASE::host
