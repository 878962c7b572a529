// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// A directory that was walked to.
struct HeldDirectory {
  FileDescriptor descriptor;
  struct stat status{};  ///< At the time of opening.
};

}}}  // namespace tenon::TENON_RELEASE::host::platform
