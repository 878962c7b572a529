// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/version.h"

namespace tenon::inline TENON_RELEASE {

/// The id for which a host whose application admits libraries by a policy answers `get_extension`
/// with something other than null. No part of the boundary: isolated plugins and Tenon's own
/// backends ask for it. They then load no library by a path, and the variable TENON_WORKER does not
/// count.
inline constexpr const char* library_policy_id = "tenon.host.library_policy";

}  // namespace tenon::inline TENON_RELEASE
