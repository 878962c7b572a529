// SPDX-License-Identifier: MIT
#pragma once

#include <string.h>

#include <string>

#include "tenon/core/concat.hpp"

namespace tenon::isolated {

/// "SIGSEGV"; "signal 40" where there is no name.
[[nodiscard]] inline std::string signal_name(int number) {
#if defined(__GLIBC__)
  if (const char* const name = ::sigabbrev_np(number)) return concat("SIG", name);
#endif
  return concat("signal ", number);
}

}  // namespace tenon::isolated
