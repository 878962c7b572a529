// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/version.h"

namespace tenon::inline TENON_RELEASE::host::platform {

/// The accesses to a page that do not fault.
enum class PageAccess { none, read, read_and_write };

}  // namespace tenon::inline TENON_RELEASE::host::platform
