// SPDX-License-Identifier: MIT
#pragma once

#include <sys/utsname.h>

#include <string>
#include <string_view>

#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// "Linux x86_64".
[[nodiscard]] inline std::string system_name() {
  utsname names{};
  ::uname(&names);
  return concat(std::string_view(names.sysname), " ", std::string_view(names.machine));
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
