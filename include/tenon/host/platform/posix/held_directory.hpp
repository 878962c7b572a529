// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon::inline TENON_RELEASE::host::platform {

/// A directory that was walked to.
struct HeldDirectory {
  FileDescriptor descriptor;
  struct stat status{};  ///< At the time of opening.
};

}  // namespace tenon::inline TENON_RELEASE::host::platform
