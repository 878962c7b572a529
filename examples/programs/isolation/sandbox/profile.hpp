// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tenon/host/layers/isolation/worker_settings.hpp"

namespace tenon::isolated {

/// How much a worker may do. Each one refuses what the one before it refuses, and more.
enum class Profile : std::uint8_t {
  /// Files, network and processes as the user has them; what concerns other processes, the kernel
  /// and more privileges is refused.
  open,
  /// For drivers of devices: devices, what describes the system, and directories that are named.
  driver,
  /// For code that computes: its libraries, memory, threads, and the descriptors that it was given.
  strict,
};

/// Their names, in their order: the names of `host::WorkerProfile`, without "none".
inline constexpr auto profile_names = std::span(host::worker_profile_names).subspan<1>();

}  // namespace tenon::isolated
