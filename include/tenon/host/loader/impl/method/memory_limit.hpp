// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A layer's limit on the memory that the arenas of a method take from the system.
class MemoryLimit {
 public:
  MemoryLimit() noexcept = default;

  /// Counts `nbytes`; false, and counts nothing, when that is more than is left.
  [[nodiscard]] virtual bool take(std::uint64_t nbytes) noexcept = 0;
  virtual void give(std::uint64_t nbytes) noexcept = 0;

  /// The latest refusal is no reason for a failure: the method does without that memory.
  virtual void forget_refusal() noexcept = 0;

 protected:
  MemoryLimit(const MemoryLimit&) noexcept = default;
  MemoryLimit& operator=(const MemoryLimit&) noexcept = default;
  ~MemoryLimit() = default;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
