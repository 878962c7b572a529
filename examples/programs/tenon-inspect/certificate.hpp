// SPDX-License-Identifier: MIT
#pragma once

#include "inspect.hpp"
#include "tool.hpp"

namespace tenon::inspect {

/// Checks whether the report of the conformance kit at `arguments.certificate` vouches for the
/// plugin, whose file is read and not loaded. The output is the statement of the report.
///
/// With the variable TENON_PUBLISHERS the report needs a signature that these publishers admit.
[[nodiscard]] tool::Outcome check_certificate(const Arguments& arguments);

}  // namespace tenon::inspect
