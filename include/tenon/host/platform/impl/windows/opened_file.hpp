// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/platform/opened_file.hpp"

#include <cerrno>
#include <filesystem>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/file.hpp"
#include "tenon/host/platform/impl/windows/regular_file.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<OpenedFile> open_named_file(const std::filesystem::path& path) {
  TENON_RETURN_IF_ERROR(check_absolute(path));
  platform::Handle handle = platform::open_handle(path, FILE_SHARE_READ);
  if (!handle.valid()) return platform::system_refusal(path, path, errno);
  return platform::take_file(std::move(handle), path, Trust::caller);
}

}}}  // namespace tenon::TENON_RELEASE::host
