// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The privileges that a worker gives up before it opens the plugin
/// (docs/hosts/isolation-profiles.md). Each one refuses what the one before it refuses, and more.
enum class WorkerProfile : std::uint8_t { none, open, driver, strict };

/// Their names, in their order.
inline constexpr std::string_view worker_profile_names[] = {"none", "open", "driver", "strict"};

/// "none", "open", "driver", "strict"
[[nodiscard]] constexpr std::string_view worker_profile_name(WorkerProfile profile) noexcept {
  return worker_profile_names[static_cast<std::size_t>(profile)];
}

/// The profile of a name; nothing when no profile has it.
[[nodiscard]] constexpr std::optional<WorkerProfile> parse_worker_profile(
    std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(worker_profile_names); ++i) {
    if (worker_profile_names[i] == name) return static_cast<WorkerProfile>(i);
  }
  return std::nullopt;
}

/// The beginnings of permissions; an absolute path follows.
inline constexpr std::string_view read_permission = "read=";
inline constexpr std::string_view write_permission = "write=";
inline constexpr std::string_view device_permission = "device=";
inline constexpr std::string_view program_permission = "program=";

/// In the text of the call in which a worker died, and of later calls of its delegates.
inline constexpr std::string_view worker_died_text = "the worker died in ";
inline constexpr std::string_view worker_dead_text = "the worker has died before: ";

/// How a plugin runs in a worker: what `tenon-isolate` takes as options.
struct WorkerSettings {
  WorkerProfile profile = WorkerProfile::none;
  /// Exceptions from the profile: "read=/opt/acme", and for `driver` also "write=", "device=",
  /// "program=". The directory of the plugin may always be read.
  std::vector<std::string> permissions{};
  std::uint64_t deadline_ms = 0;  ///< A call that takes longer ends the worker; 0: no limit.
  std::uint32_t restart = 0;      ///< New workers for a delegate whose worker died.
  bool own_worker = false;        ///< One for each delegate, and not one for a backend.
  /// Buffers of a page or more of a method's memory plan are the worker's as well: calls copy
  /// nothing of them, and the plugin can change all of their bytes at any time.
  bool share_memory = false;
};

}}}  // namespace tenon::TENON_RELEASE::host
