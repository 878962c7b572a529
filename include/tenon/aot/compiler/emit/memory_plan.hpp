// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Bytes that are needed from one time to another, both included. Two requests may share bytes when
/// no time belongs to both.
struct MemoryRequest {
  std::uint64_t nbytes = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  ProgramDevice device;
  /// Requests of different pools never share memory: a small fast memory and a large one.
  std::uint32_t pool = 0;
};

/// The place of each request.
struct MemoryPlan {
  std::vector<PlannedBuffer> memories;  ///< By memory id; entry 0 is reserved and has no bytes.
  std::vector<Place> places;            ///< One for each request.
};

/// Plans memory: each device and pool that is asked for gets one memory, the CPU's first pool
/// before all others, then by device and pool; ids count from 1. Within a memory, requests that are
/// never needed at once share bytes. No memory is larger than the sum of its requests, each rounded
/// up to `alignment`; offsets are multiples of it. Equal requests give equal plans.
///
/// ExecuTorch's greedy algorithm (exir/memory_planning.py) takes the largest first, too, and lets a
/// tensor into the space of earlier ones; this one may use any gap. A request that is needed at the
/// same time as more than 512 larger ones is placed above them, so that time grows as n log n.
///
/// errors: InvalidArgument for an alignment that is not a power of two, a request that ends before
///         it begins, and requests of more than 2^62 bytes together.
[[nodiscard]] Result<MemoryPlan> plan_memory(std::span<const MemoryRequest> requests,
                                             std::uint64_t alignment = 16);

/// Proves a plan right: every request is in a memory of its device, at a multiple of `alignment`,
/// and no two share a byte while both are needed. Independent of how the plan was made.
///
/// errors: InvalidProgram, which says which requests collide and where.
[[nodiscard]] Status check_memory_plan(std::span<const MemoryRequest> requests,
                                       const MemoryPlan& plan, std::uint64_t alignment = 16);

}}}  // namespace tenon::TENON_RELEASE::aot
