// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "threadgroup.hpp"

namespace tenon::metal_stand_in {

/// The interface of the stand-in for tests: counts of the whole process, and failures on request.
struct Control {
  std::atomic<int> num_buffers = 0;  ///< Buffers that are alive, also by enqueued work.
  std::atomic<int> num_adopted = 0;  ///< Buffers of another owner's memory, as above.
  std::atomic<int> num_queues = 0;   ///< Queues that are alive.
  std::atomic<int> num_events = 0;   ///< Events that are alive.
  std::atomic<int> num_compiled = 0;
  std::atomic<int> num_dispatches = 0;
  std::atomic<int> num_commits = 0;
  std::atomic<int> num_waits = 0;  ///< Of the CPU, for command buffers and events.
  /// Where each dispatch adds the number of threads of its threadgroups, unless it is null.
  std::atomic<std::vector<std::uint64_t>*> group_sizes = nullptr;
  /// Where each dispatch adds the addresses of its arguments in buffers, unless it is null.
  std::atomic<std::vector<const std::byte*>*> arguments = nullptr;
  /// Calls that succeed before one fails; negative: none fails.
  std::atomic<int> calls_until_failure = -1;
  /// Whether the next kernel that is executed fails.
  std::atomic<bool> fails_next_dispatch = false;
  /// The handle of a queue that `use_queue` refuses, as one of another device.
  std::atomic<void*> queue_of_other_device = nullptr;
  /// Where dispatches add their work, unless it is null. Sources that are compiled meanwhile are
  /// compiled to be counted; the work of other sources is not known.
  std::atomic<Work*> work = nullptr;
  /// False simulates a device with memory of its own.
  std::atomic<bool> adopts = true;
  /// False simulates a machine without a device.
  std::atomic<bool> has_device = true;
};
[[nodiscard]] Control& control() noexcept;

inline constexpr const char* device_name = "stand-in for a Metal device, for tests";

}  // namespace tenon::metal_stand_in
