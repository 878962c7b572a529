// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>

#include "tenon/core/application/scheduling.hpp"

namespace tenon::test {

/// The record of the delegates of pooled.cpp in this process, for a test that links it.
struct PooledRecord {
  std::atomic<int> running = 0;  ///< Ranges that are being computed.
  std::atomic<int> most = 0;     ///< Of those, the most at once.
  std::atomic<int> at_init = 0;  ///< Threads in the latest `init`; 0 without a pool.
  std::atomic<int> at_run = 0;   ///< Threads in the latest `execute`.
  Scheduling scheduling;         ///< In the latest `init` or `set_scheduling`.
  int num_set = 0;               ///< Calls of `set_scheduling`.

  void begin() {
    const int now = ++running;
    int before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
  }
  void end() { --running; }
};

PooledRecord& pooled_record();

}  // namespace tenon::test
