// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Keeps signals from this thread while it is in scope, for steps of which the last one removes the
/// traces of the others. They arrive afterwards. For a short time only: the process cannot be
/// interrupted.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);  // A macro on macOS.
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}}}  // namespace tenon::TENON_RELEASE::host
