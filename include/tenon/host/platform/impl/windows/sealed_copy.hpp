// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstring>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/opened_file.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Identifies the content of a file, which no process can write to while it is open.
using FileState = FileIdentity;

/// errors: AccessFailed, with the path.
inline Result<FileState> state_of(const OpenedFile& file) {
  platform::FileStatus status;
  if (platform::get_status(file.descriptor.get(), status)) return status.identity;
  return error(Error::AccessFailed, path_text(file.path), ": ", std::strerror(errno));
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
