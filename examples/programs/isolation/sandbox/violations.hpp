// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace tenon::isolated {

/// The calls that a worker was refused: written by the handler of SIGSYS in the worker, read by the
/// application. In memory that both map; all bytes zero is an empty one.
///
/// The worker can write anything here: the application reads it by `read_violations` alone.
struct Violations {
  static constexpr std::uint32_t max_entries = 16;

  struct Entry {
    /// 0: free; 1: being written; 2: can be read.
    std::atomic<std::uint32_t> state;
    std::int32_t call;
    /// AUDIT_ARCH of the call, by which a call of another architecture is known.
    std::uint32_t architecture;
    /// How often this call, with this path, was refused.
    std::atomic<std::uint32_t> count;
    std::int32_t thread;
    std::uint32_t ended;
    /// Of the instruction after the call.
    std::uint64_t address;
    std::array<std::uint64_t, 6> arguments;
    /// Ends with a zero; empty when the call has no path.
    std::array<char, 256> path;
  };

  /// Refused calls, also those that have no entry because there are too many different ones.
  std::atomic<std::uint32_t> count;
  /// 1 once a call ended the process.
  std::atomic<std::uint32_t> ended;
  std::array<Entry, max_entries> entries;
};
static_assert(std::is_standard_layout_v<Violations>);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// One kind of call that was refused.
struct Violation {
  /// "connect"; "number 500" where there is no name, "call 3 of another architecture".
  std::string call;
  std::uint32_t count = 0;
  bool ended = false;
  std::int32_t thread = 0;
  std::uint64_t address = 0;
  std::array<std::uint64_t, 6> arguments{};
  std::string path;
};

/// A copy of what was written, in the order of the first refusals. Accepts any bytes.
[[nodiscard]] std::vector<Violation> read_violations(const Violations& shared);

/// "refused open of /etc/passwd (2 times)", "ended by ptrace(0x10, 0x1f4, ...) at 0x7f..., thread
/// 12".
[[nodiscard]] std::string describe(const Violation& violation);

}  // namespace tenon::isolated
