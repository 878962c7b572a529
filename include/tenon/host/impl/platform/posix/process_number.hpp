// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

namespace tenon::host::platform {

/// Of this process; a fork has another one.
[[nodiscard]] inline long process_number() noexcept { return ::getpid(); }

}  // namespace tenon::host::platform
