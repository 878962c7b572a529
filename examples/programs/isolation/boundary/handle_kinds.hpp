// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/abi/native_handle.h"
#include "tenon/core/application/external_memory.hpp"

/// Kinds of memory and fences in messages: their places in these lists, and sets of them as bits.
/// Only descriptors cross to a worker, so that a vendor's own kinds do not.
namespace tenon::isolated {

using tenon::detail::HandleKinds;

/// The last one crosses where memory of the host is shared.
inline constexpr std::array sent_memory_kinds{TENON_KIND_MEMFD, TENON_KIND_DMA_BUF,
                                              TENON_KIND_OPAQUE_FD, TENON_KIND_HOST_MEMORY};
inline constexpr std::array sent_fence_kinds{TENON_KIND_SYNC_FILE, TENON_KIND_EVENTFD,
                                             TENON_KIND_VULKAN_SEMAPHORE_FD};

[[nodiscard]] constexpr HandleKinds memory_kinds_to_send(bool with_host_memory) noexcept {
  return HandleKinds(sent_memory_kinds).first(with_host_memory ? 4 : 3);
}

/// The number of a kind in `sent`, or `sent.size()`.
[[nodiscard]] constexpr std::uint32_t number_of(HandleKinds sent, HandleKind kind) noexcept {
  std::uint32_t out = 0;
  while (out < sent.size() && HandleKind(sent[out]) != kind) ++out;
  return out;
}
/// The kind of a number that was received; null for another number.
[[nodiscard]] constexpr const char* kind_of(HandleKinds sent, std::uint32_t number) noexcept {
  return number < sent.size() ? sent[number] : nullptr;
}
/// A bit for each kind in `sent` that is in `kinds`.
[[nodiscard]] constexpr std::uint64_t bits_of(HandleKinds sent, HandleKinds kinds) noexcept {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (tenon::detail::has_kind(kinds, sent[i])) out |= std::uint64_t{1} << i;
  }
  return out;
}

}  // namespace tenon::isolated
