// SPDX-License-Identifier: MIT
#include "kit/process/interposition.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

// The declarations alone: a program decides whether it has the functions.
#define TENON_INTERPOSE 0
#include "tenon/conformance/interpose.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::detail {

void count_taken(void* block, std::size_t size) noexcept {
  ++interposition.live_blocks;
  interposition.live_bytes += static_cast<std::int64_t>(size);
  // A block that malloc returns is not in a lent block any more: the host has freed that block.
  if (interposition.watch_lent) interposition.take_back(block);
  if (plugin_depth != 0) ++interposition.plugin_allocations;
}

bool is_of_host(const void* block) noexcept {
  const bool lent = plugin_depth != 0 && interposition.watch_lent && interposition.is_lent(block);
  if (lent) ++interposition.lent_and_freed;
  return lent;
}

void count_given_back(std::size_t size) noexcept {
  --interposition.live_blocks;
  interposition.live_bytes -= static_cast<std::int64_t>(size);
}

void keep_counted(std::size_t size) noexcept {
  ++interposition.live_blocks;
  interposition.live_bytes += static_cast<std::int64_t>(size);
}

bool must_fail() noexcept {
  if (plugin_depth == 0) return false;
  Faults* faults = interposition.faults;
  return faults && faults->should_fail(Service::file);
}

void note_variable(const char* name, const char* value) noexcept {
  if (plugin_depth == 0) return;
  std::array<char, 64> copy{};
  const std::size_t size = std::strcspn(name, "=");
  std::memcpy(copy.data(), name, size < copy.size() ? size : copy.size() - 1);
  // A name that was cut is no variable: it counts as changed.
  const char* const old = size < copy.size() ? std::getenv(copy.data()) : "";
  if (value ? (old && std::strcmp(old, value) == 0) : !old) return;
  if (environment_changes.count++ == 0) environment_changes.first = copy;
}

bool mark_interposed() noexcept {
  interposition.present = true;
  return true;
}

}}}  // namespace tenon::TENON_RELEASE::conformance::detail
