// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "kit/platform/windows/shared_file.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// Makes a directory in the user's directory for temporary files, which other users cannot read.
/// errors: AccessFailed.
[[nodiscard]] inline Result<std::filesystem::path> make_temporary_directory() {
  std::error_code failure;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(failure);
  std::uint64_t number = 0;
  if (!failure && fill_random(&number, sizeof number)) {
    std::filesystem::path directory = parent / concat("tenon-", number);
    if (::CreateDirectoryW(directory.c_str(), nullptr)) return directory;
  }
  return error(Error::AccessFailed, "no directory for files of tests: ", host::path_text(parent));
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
