// SPDX-License-Identifier: MIT
#pragma once

#include <fnmatch.h>

#include <string>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// Whether `name` as a whole matches `pattern`, as fnmatch(3) without flags.
[[nodiscard]] inline bool matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}}}  // namespace tenon::TENON_RELEASE::host::platform
