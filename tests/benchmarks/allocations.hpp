// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "harness.hpp"

namespace tenon::bench {

/// True when this build sees the heap allocations of every module in the process (glibc).
[[nodiscard]] bool can_count_allocations();

/// Heap allocations of one run of `work(repeats)`, of C and C++ alike, whichever module makes them.
[[nodiscard]] std::uint64_t count_allocations(const Work& work, std::uint64_t repeats);

}  // namespace tenon::bench
