// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The names in the directory `path` in UTF-8, sorted, without "." and "..". AccessFailed when it
/// is not a directory or cannot be read.
[[nodiscard]] inline Result<std::vector<std::string>> list_directory(
    const std::filesystem::path& path) {
  std::vector<std::string> names;
  ::WIN32_FIND_DATAW found{};
  const ::HANDLE search = ::FindFirstFileExW((path / L"*").c_str(), FindExInfoBasic, &found,
                                             FindExSearchNameMatch, nullptr, 0);
  ::DWORD failure = search == INVALID_HANDLE_VALUE ? ::GetLastError() : ERROR_SUCCESS;
  while (failure == ERROR_SUCCESS) {
    std::string name = platform::to_utf8(found.cFileName, -1);
    name.pop_back();  // The NUL, which was converted too.
    if (name != "." && name != "..") names.push_back(std::move(name));
    if (!::FindNextFileW(search, &found)) failure = ::GetLastError();
  }
  if (search != INVALID_HANDLE_VALUE) ::FindClose(search);
  if (failure != ERROR_NO_MORE_FILES) {
    return error(Error::AccessFailed, path_text(path), ": ", platform::reason_of(failure));
  }
  std::ranges::sort(names);
  return names;
}

}}}  // namespace tenon::TENON_RELEASE::host
