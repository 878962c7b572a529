// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// Of this process; a fork has another one.
[[nodiscard]] inline long process_number() noexcept { return ::getpid(); }

}}}  // namespace tenon::TENON_RELEASE::host::platform
