// SPDX-License-Identifier: MIT
#pragma once

namespace tenon::host::platform {

/// The same in all processes: none is forked.
[[nodiscard]] inline long process_number() noexcept { return 1; }

}  // namespace tenon::host::platform
