// SPDX-License-Identifier: MIT
#pragma once

#include <sys/syscall.h>

#include <optional>
#include <string_view>

namespace tenon::isolated {

struct SystemCallName {
  std::string_view name;
  int number;
};

/// All calls of this architecture that the headers of the build knew, by name.
inline constexpr SystemCallName system_call_names[] = {
#include "sandbox/system_call_names.inc"
};

/// Number of the call `name` on this architecture; none when it has no such call.
[[nodiscard]] constexpr std::optional<int> system_call_number(std::string_view name) noexcept {
  for (const SystemCallName& call : system_call_names) {
    if (call.name == name) return call.number;
  }
  return std::nullopt;
}

/// Name of the call `number`; empty when it is newer than the headers of the build.
[[nodiscard]] constexpr std::string_view system_call_name(int number) noexcept {
  for (const SystemCallName& call : system_call_names) {
    if (call.number == number) return call.name;
  }
  return {};
}

/// The largest number that has a name. What is beyond it is answered by ENOSYS, so that a newer C
/// library does without.
[[nodiscard]] constexpr int last_system_call() noexcept {
  int last = 0;
  for (const SystemCallName& call : system_call_names)
    last = call.number > last ? call.number : last;
  return last;
}

}  // namespace tenon::isolated
