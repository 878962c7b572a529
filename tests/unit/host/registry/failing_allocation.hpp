// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace tenon::test {

/// While it is in scope, `operator new` of this thread throws once: the call after `before` others.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::uint64_t before) noexcept;
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  ~FailingAllocation();

  [[nodiscard]] bool happened() const noexcept;
};

}  // namespace tenon::test
