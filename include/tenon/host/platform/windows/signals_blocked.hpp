// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/platform/windows/api.hpp"

namespace tenon::host {

/// Keeps Ctrl+C from this process while it is in scope, for steps of which the last one removes the
/// traces of the others. Unlike signals of POSIX it does not arrive afterwards. For a short time
/// only: the process cannot be interrupted.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept { ::SetConsoleCtrlHandler(nullptr, TRUE); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::SetConsoleCtrlHandler(nullptr, FALSE); }
};

}  // namespace tenon::host
