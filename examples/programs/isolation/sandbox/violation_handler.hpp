// SPDX-License-Identifier: MIT
#pragma once

#include "sandbox/violations.hpp"
#include "tenon/core/status.hpp"

namespace tenon::isolated {

/// Installs the handler of SIGSYS that a filter of `make_filter` needs, for the rest of the
/// process. It writes what was refused into `violations`, which must not be unmapped.
[[nodiscard]] Status install_violation_handler(Violations& violations);

}  // namespace tenon::isolated
