// SPDX-License-Identifier: MIT
//
// What an application says about the importance of a method's runs: hints, which a backend hands to
// its device where the device knows them. They are in `tenon_init_context.scheduling`
// (abi/backend.h) for each load. A backend that follows some has the extension
// "tenon.scheduling/1", which says so.

#ifndef TENON_ABI_EXTENSIONS_SCHEDULING_H
#define TENON_ABI_EXTENSIONS_SCHEDULING_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

// Values of `tenon_scheduling.priority`: against the other work of the device. 0 leaves it open, as
// in all members.
enum { TENON_PRIORITY_LOW = 1, TENON_PRIORITY_NORMAL = 2, TENON_PRIORITY_HIGH = 3 };

// Values of `tenon_scheduling.goal`: one run as soon as possible, or as many as possible in a time.
enum { TENON_GOAL_LATENCY = 1, TENON_GOAL_THROUGHPUT = 2 };

// Values of `tenon_scheduling.power`: what the device may draw.
enum { TENON_POWER_LOW = 1, TENON_POWER_BALANCED = 2, TENON_POWER_HIGH = 3 };

/// Hints of the application for a method.
///
///   TN-SCH-1  `init` MUST accept every scheduling: a value that the backend does not know, or
///             cannot follow, counts as 0.
///   TN-SCH-2  A scheduling MUST NOT change what is computed: the outputs are those of the program
///             that was lowered, within the tolerance that the author states.
typedef struct tenon_scheduling {
  uint32_t struct_size;
  uint32_t priority;  ///< TENON_PRIORITY_...
  uint32_t goal;      ///< TENON_GOAL_...
  uint32_t power;     ///< TENON_POWER_...
} tenon_scheduling;

#define TENON_EXTENSION_SCHEDULING "tenon.scheduling/1"

/// Functions of a backend, and what it makes of each member, for people to read ("CUDA streams of
/// that priority"); NULL for a member that it does not follow.
typedef struct tenon_scheduling_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  const char* priority;
  const char* goal;
  const char* power;

  /// Changes the scheduling that `delegate` was loaded with, for later runs; a session has the
  /// scheduling of the delegate that it was made of. NULL, or NOT_SUPPORTED, when it is fixed by
  /// `init`.
  ///
  ///   TN-SCH-3  A failure of `set_scheduling` MUST leave the delegate as it was, and values that
  ///             it does not know MUST count as 0.
  ///
  /// [per-delegate] From `init` to `destroy` of `delegate`.
  tenon_status(TENON_CALL* set_scheduling)(tenon_backend* backend, tenon_delegate* delegate,
                                           const tenon_scheduling* scheduling);
} tenon_scheduling_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_SCHEDULING_H
