// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Gives planned buffers of the host their memory in place of the host's allocators. The layer
/// external_memory has one. One thread.
class PageSource {
 public:
  /// Whether a buffer of `nbytes` gets its memory here.
  [[nodiscard]] virtual bool takes(std::uint64_t nbytes) const noexcept = 0;

  /// At least `nbytes` zeroed bytes, which the source has for as long as the method exists; empty
  /// when there is no memory.
  [[nodiscard]] virtual std::span<std::byte> take(std::uint64_t nbytes) = 0;

  /// All planned buffers have their memory, and nothing was written there.
  virtual void end() = 0;

 protected:
  ~PageSource() = default;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
