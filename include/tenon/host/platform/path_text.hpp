// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "tenon/core/result.hpp"
#if defined(_WIN32)
#include "tenon/host/platform/windows/path_text.hpp"
#else
#include "tenon/host/platform/posix/path_text.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Checks that `path` holds no NUL, at which the functions of the system would end it.
///
/// errors: InvalidArgument. The text begins with the path.
[[nodiscard]] inline Status check_no_nul(const std::filesystem::path& path) {
  if (path.native().find(std::filesystem::path::value_type()) ==
      std::filesystem::path::string_type::npos) {
    return ok();
  }
  return error(Error::InvalidArgument, path_text(path.c_str()),
               ": is not a path: a NUL character follows");
}

/// Checks that `path` is absolute and holds no NUL. Fails as `check_no_nul`.
[[nodiscard]] inline Status check_absolute(const std::filesystem::path& path) {
  if (path.is_absolute()) return check_no_nul(path);
  return error(Error::InvalidArgument, path_text(path), ": is a relative path, expected ",
               absolute_path);
}

}}}  // namespace tenon::TENON_RELEASE::host
