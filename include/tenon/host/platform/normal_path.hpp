// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <vector>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// `path` without ".", without "NAME/.." and without a separator at its end; links are not
/// followed. "." for what is empty then.
///
/// In place of `std::filesystem::path::lexically_normal`: if an allocation fails in it, libstdc++
/// 12 destroys a path whose parts `path::remove_filename` has left half made.
///
/// errors: throws std::bad_alloc.
[[nodiscard]] inline std::filesystem::path normal_path(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> names;
  for (const std::filesystem::path& name : path.relative_path()) {
    if (name.empty() || name == ".") continue;
    if (name != "..") {
      names.push_back(name);
    } else if (!names.empty() && names.back() != "..") {
      names.pop_back();
    } else if (!path.has_root_directory()) {
      names.push_back(name);
    }
  }
  std::filesystem::path out = path.root_path();
  for (const std::filesystem::path& name : names) out /= name;
  if (out.empty() && !path.empty()) out = ".";
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::host
