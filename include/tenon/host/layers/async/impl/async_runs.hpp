// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The asynchronous runs of one method, from its first one on. Only programs that include
/// <tenon/host/async.hpp> compile what is behind it.
///
/// Threads: any.
class AsyncRuns {
 public:
  /// Waits for all runs and their completions, except those that the calling thread is in.
  virtual void wait() = 0;

  /// A thread of the executor now waits for the run that is going on, if none does.
  virtual void hurry() noexcept = 0;

  AsyncRuns() = default;
  AsyncRuns(const AsyncRuns&) = delete;
  AsyncRuns& operator=(const AsyncRuns&) = delete;
  virtual ~AsyncRuns() = default;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
