// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <string_view>
#include <system_error>

#include "tenon/core/status.hpp"

namespace tenon::isolated {

/// `what`, and the reason that `errno` has.
[[nodiscard]] inline Status system_failure(std::string_view what) {
  return error(Error::AccessFailed, what, ": ", std::generic_category().message(errno));
}

}  // namespace tenon::isolated
