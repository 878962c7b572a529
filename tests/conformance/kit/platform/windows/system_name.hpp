// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// "Windows x86_64": of this program. Windows has many answers to the question for its version.
[[nodiscard]] inline std::string system_name() { return "Windows x86_64"; }

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
