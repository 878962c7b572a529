// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon::isolated {

/// The calls that a process made of the system, and none refused: for choosing a profile.
struct CallReport {
  /// How often each call was made, by its name.
  std::map<std::string, std::uint64_t> calls;
  /// Paths that were opened, and whether for writing, at most `max_files`.
  std::map<std::string, bool> files;

  static constexpr std::size_t max_files = 4096;
};

/// In the worker, in place of `restrict_process`: from now on each call of this process, and of
/// those that it starts, waits until the process at the other end of `socket`, a stream socket of
/// AF_UNIX, has counted it. When that one ends, all calls fail with ENOSYS.
///
/// Nothing is refused but more privileges: for code that is trusted. [one thread]
[[nodiscard]] Status report_calls(int socket);

/// The other end.
class CallReporter {
 public:
  /// Waits for the worker's `report_calls`. AccessFailed: it ended before.
  [[nodiscard]] static Result<CallReporter> receive(int socket);

  /// Counts calls, and lets each continue, until all processes that report have ended. Blocks, so
  /// give it a thread of its own: while it does not run, the worker waits.
  [[nodiscard]] Result<CallReport> serve();

 private:
  explicit CallReporter(host::FileDescriptor calls) noexcept : calls_(std::move(calls)) {}

  host::FileDescriptor calls_;
};

}  // namespace tenon::isolated
