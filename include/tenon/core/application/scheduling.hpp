// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/abi/extensions/scheduling.h"
#include "tenon/core/struct_size.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Against the other work of the device. `Any` leaves it open.
enum class Priority : std::uint32_t {
  Any = 0,
  Low = TENON_PRIORITY_LOW,
  Normal = TENON_PRIORITY_NORMAL,
  High = TENON_PRIORITY_HIGH,
};

/// One run as soon as possible, or as many as possible in a time.
enum class Goal : std::uint32_t {
  Any = 0,
  Latency = TENON_GOAL_LATENCY,
  Throughput = TENON_GOAL_THROUGHPUT,
};

/// The power that the device may draw.
enum class Power : std::uint32_t {
  Any = 0,
  Low = TENON_POWER_LOW,
  Balanced = TENON_POWER_BALANCED,
  High = TENON_POWER_HIGH,
};

/// Hints of an application for the runs of a method. A backend follows those that its device knows;
/// none changes what is computed.
struct Scheduling {
  Priority priority = Priority::Any;
  Goal goal = Goal::Any;
  Power power = Power::Any;

  friend bool operator==(const Scheduling&, const Scheduling&) = default;
};

namespace detail {

[[nodiscard]] inline tenon_scheduling to_abi(const Scheduling& from) noexcept {
  return {sizeof(tenon_scheduling), static_cast<std::uint32_t>(from.priority),
          static_cast<std::uint32_t>(from.goal), static_cast<std::uint32_t>(from.power)};
}

/// Null, and values that are not known here, leave everything or that member open.
[[nodiscard]] inline Scheduling to_scheduling(const tenon_scheduling* from) noexcept {
  Scheduling out;
  if (!from) return out;
  if (TENON_HAS_MEMBER(*from, priority) && from->priority <= TENON_PRIORITY_HIGH) {
    out.priority = static_cast<Priority>(from->priority);
  }
  if (TENON_HAS_MEMBER(*from, goal) && from->goal <= TENON_GOAL_THROUGHPUT) {
    out.goal = static_cast<Goal>(from->goal);
  }
  if (TENON_HAS_MEMBER(*from, power) && from->power <= TENON_POWER_HIGH) {
    out.power = static_cast<Power>(from->power);
  }
  return out;
}

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
