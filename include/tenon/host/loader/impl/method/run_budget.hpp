// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/host/loader/files/limits.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Where a run is: the instruction that it runs next.
struct RunPosition {
  std::size_t chain = 0;
  std::size_t index = 0;
  std::uint64_t left = 0;  ///< Instructions before the budget is asked for the next slice.
};

/// How many instructions one run may still execute, in slices. A run gets all of them in its first
/// slice, so that counting them is all that an instruction pays for. A layer that is asked before
/// each instruction takes one at a time.
class RunBudget {
 public:
  explicit RunBudget(const HostLimits& limits) noexcept
      : condition_bytes(limits.condition_bytes), instructions_(limits.instructions) {}

  /// Number of instructions that may be run before the next call; 0 when the limit was reached.
  [[nodiscard]] std::uint64_t next_slice() noexcept { return std::exchange(instructions_, 0); }

  std::uint64_t condition_bytes;  ///< Of conditions that may still be looked at.

 protected:
  /// A slice of one; false when the limit was reached.
  [[nodiscard]] bool take_one() noexcept {
    if (instructions_ == 0) return false;
    --instructions_;
    return true;
  }

 private:
  std::uint64_t instructions_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
