// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// One number for all processes, as Windows forks none.
[[nodiscard]] inline long process_number() noexcept { return 1; }

}}}  // namespace tenon::TENON_RELEASE::host::platform
