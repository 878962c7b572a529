// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include "tenon/abi/version.h"

namespace tenon::inline TENON_RELEASE::host::platform {

/// Of this process; a fork has another one.
[[nodiscard]] inline long process_number() noexcept { return ::getpid(); }

}  // namespace tenon::inline TENON_RELEASE::host::platform
