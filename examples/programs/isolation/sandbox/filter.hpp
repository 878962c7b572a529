// SPDX-License-Identifier: MIT
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

#include "sandbox/profile.hpp"

namespace tenon::isolated {

/// A call with this number ends the process by SIGSYS, whatever handlers there are. No call has it.
inline constexpr int ending_call = 0x5fffffff;

struct FilterOptions {
  Profile profile = Profile::strict;
  /// Other programs may be started. They have no handler of SIGSYS, so files are not opened by it,
  /// and what is refused fails with EPERM without it. `open` is always so.
  bool programs = false;
  /// Number of the process that is filtered.
  std::uint32_t process = 0;
  /// Landlock keeps signals to other processes back, so that `open` can let programs signal those
  /// that they started.
  bool signals_are_scoped = false;
};

/// The filter of `profile` for this architecture: the table of system_calls.hpp as a program for
/// the kernel. Calls of other architectures, also those of 32 bits, end the process. What is
/// refused or ends raises SIGSYS with the `Answer` in `si_errno`.
[[nodiscard]] std::vector<sock_filter> make_filter(const FilterOptions& options);

}  // namespace tenon::isolated
