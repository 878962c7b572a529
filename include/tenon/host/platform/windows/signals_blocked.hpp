// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Keeps Ctrl+C and Ctrl+Break from this process while it is in scope, for steps of which the last
/// one removes the traces of the others. Unlike signals of POSIX they do not arrive afterwards. For
/// a short time only: the process cannot be interrupted.
class SignalsBlocked {
 public:
  // A handler, and not the switch that makes a process ignore Ctrl+C: a parent may have set that
  // one, and Windows has no function that reads it. The last handler that was added is called
  // first.
  SignalsBlocked() noexcept { ::SetConsoleCtrlHandler(&handled, TRUE); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::SetConsoleCtrlHandler(&handled, FALSE); }

 private:
  static ::BOOL WINAPI handled(::DWORD event) noexcept {
    return event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT ? TRUE : FALSE;
  }
};

}}}  // namespace tenon::TENON_RELEASE::host
