// SPDX-License-Identifier: MIT
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// A new directory that only this user can look into.
/// errors: AccessFailed.
[[nodiscard]] inline Result<std::filesystem::path> make_temporary_directory() {
  std::error_code failed;
  std::string name = (std::filesystem::temp_directory_path(failed) / "tenon-XXXXXX").native();
  if (!failed && ::mkdtemp(name.data())) return std::filesystem::path(std::move(name));
  return error(Error::AccessFailed, "no directory for files of tests: ", name);
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
