// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/aot/program_data.hpp"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aot {

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
/// tensor into the space of earlier ones; this one may use any gap. Time grows with the square of
/// the number of requests: about a second for twenty thousand.
///
/// errors: InvalidArgument for an alignment that is not a power of two, a request that ends before
/// it
///         begins, and requests of more than 2^62 bytes together.
[[nodiscard]] TENON_API Result<MemoryPlan> plan_memory(std::span<const MemoryRequest> requests,
                                                       std::uint64_t alignment = 16);

/// Proves a plan right: every request is in a memory of its device, at a multiple of `alignment`,
/// and no two share a byte while both are needed. Independent of how the plan was made.
///
/// errors: InvalidProgram, which says which requests collide and where.
[[nodiscard]] TENON_API Status check_memory_plan(std::span<const MemoryRequest> requests,
                                                 const MemoryPlan& plan,
                                                 std::uint64_t alignment = 16);

}  // namespace tenon::aot

#if TENON_COMPILER_DEFINITIONS

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "tenon/core/concat.hpp"

namespace tenon::aot {

namespace detail {

[[nodiscard]] inline bool at_once(const MemoryRequest& a, const MemoryRequest& b) noexcept {
  return a.first <= b.last && b.first <= a.last;
}

/// Places the requests of one memory, the largest first, each in the smallest gap that holds it
/// between those that are alive at the same time.
class GreedyPlanner {
 public:
  GreedyPlanner(std::span<const MemoryRequest> requests, std::uint64_t alignment) noexcept
      : requests_(requests), alignment_(alignment) {}

  /// Fills in the places of the requests `members`. Returns the bytes of the memory.
  std::uint64_t plan(std::vector<std::size_t> members, std::span<Place> places) {
    // Of equal sizes the one that is needed first, then the one named first: nothing is left to
    // chance, so equal requests give equal plans.
    std::sort(members.begin(), members.end(), [this](std::size_t a, std::size_t b) {
      return std::tuple(requests_[b].nbytes, requests_[a].first, a) <
             std::tuple(requests_[a].nbytes, requests_[b].first, b);
    });
    std::uint64_t size = 0;
    for (const std::size_t member : members) {
      const auto offset = smallest_gap(member);
      places[member].offset = offset;
      const auto end = offset + rounded(member);
      size = std::max(size, end);
      const Placed placed{offset, end, member};
      placed_.insert(std::upper_bound(placed_.begin(), placed_.end(), placed), placed);
    }
    return size;
  }

 private:
  struct Placed {
    std::uint64_t begin;
    std::uint64_t end;
    std::size_t member;
    friend bool operator<(const Placed& a, const Placed& b) noexcept { return a.begin < b.begin; }
  };

  [[nodiscard]] std::uint64_t rounded(std::size_t member) const noexcept {
    return (requests_[member].nbytes + alignment_ - 1) / alignment_ * alignment_;
  }

  /// The place after the last neighbour in time, or a gap before it.
  [[nodiscard]] std::uint64_t smallest_gap(std::size_t member) const noexcept {
    const auto needed = rounded(member);
    std::optional<std::uint64_t> best;
    std::uint64_t best_size = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t end = 0;
    for (const Placed& neighbour : placed_) {
      if (!at_once(requests_[neighbour.member], requests_[member])) continue;
      if (neighbour.begin > end) {
        const auto gap = neighbour.begin - end;
        if (gap >= needed && gap < best_size) {
          best = end;
          best_size = gap;
        }
      }
      end = std::max(end, neighbour.end);
    }
    return best.value_or(end);
  }

  std::span<const MemoryRequest> requests_;
  std::uint64_t alignment_;
  std::vector<Placed> placed_;  ///< Sorted by begin.
};

}  // namespace detail

TENON_API Result<MemoryPlan> plan_memory(std::span<const MemoryRequest> requests,
                                         std::uint64_t alignment) {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  if (!std::has_single_bit(alignment) || alignment > most) {
    return error(Error::InvalidArgument, "alignment is ", alignment, ", expected a power of two");
  }
  // CPU memory has the smallest key.
  std::map<std::tuple<ProgramDeviceType, std::int8_t, std::uint32_t>, std::vector<std::size_t>>
      by_memory;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& one = requests[i];
    if (one.last < one.first) {
      return error(Error::InvalidArgument, "request ", i, " ends at ", one.last,
                   ", before it begins at ", one.first);
    }
    if (one.nbytes > most - alignment || total > most - alignment - one.nbytes) {
      return error(Error::InvalidArgument, "request ", i, ": ", one.nbytes,
                   " bytes are too many, together with those before it");
    }
    total += one.nbytes + alignment;
    by_memory[{one.device.type, one.device.index, one.pool}].push_back(i);
  }
  MemoryPlan plan{std::vector<PlannedBuffer>(1), std::vector<Place>(requests.size())};
  for (auto& [key, members] : by_memory) {
    const auto id = static_cast<std::uint32_t>(plan.memories.size());
    for (const std::size_t member : members) plan.places[member].memory_id = id;
    const ProgramDevice device{std::get<0>(key), std::get<1>(key)};
    detail::GreedyPlanner planner(requests, alignment);
    plan.memories.push_back({planner.plan(std::move(members), plan.places), device});
  }
  return plan;
}

namespace detail {

/// The proof of check_memory_plan; `name_of(i)` names request i in a text.
template <class NameOf>
[[nodiscard]] Status prove_plan(std::span<const MemoryRequest> requests, const MemoryPlan& plan,
                                std::uint64_t alignment, const NameOf& name_of) {
  constexpr auto code = Error::InvalidProgram;
  if (plan.places.size() != requests.size()) {
    return error(code, "the plan has ", plan.places.size(), " places for ", requests.size(),
                 " requests");
  }
  if (plan.memories.empty() || plan.memories.front() != PlannedBuffer()) {
    return error(code, "memory 0 is reserved, expected it to be there without bytes and device");
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Place& place = plan.places[i];
    if (place.memory_id == 0 || place.memory_id >= plan.memories.size()) {
      return error(code, name_of(i), " is in memory ", place.memory_id, " of ",
                   plan.memories.size());
    }
    const auto& memory = plan.memories[place.memory_id];
    if (place.offset > memory.nbytes || requests[i].nbytes > memory.nbytes - place.offset) {
      return error(code, name_of(i), ": ", requests[i].nbytes, " bytes at ", place.offset,
                   " do not fit in memory ", place.memory_id, ", which has ", memory.nbytes);
    }
    if (place.offset % alignment != 0) {
      return error(code, name_of(i), ": offset ", place.offset, " is not a multiple of ",
                   alignment);
    }
    if (memory.device != requests[i].device) {
      return error(code, name_of(i), " is in memory ", place.memory_id, " of another device");
    }
  }
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    return std::tuple(plan.places[i].memory_id, plan.places[i].offset);
  };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& a = plan.places[order[i]];
    const auto end = a.offset + requests[order[i]].nbytes;
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      const auto& b = plan.places[order[j]];
      if (b.memory_id != a.memory_id || b.offset >= end) break;
      if (requests[order[j]].nbytes == 0) continue;
      if (!detail::at_once(requests[order[i]], requests[order[j]])) continue;
      return error(code, name_of(order[i]), " and ", name_of(order[j]),
                   " are needed at once and share memory ", a.memory_id, " at ", b.offset);
    }
  }
  return ok();
}

}  // namespace detail

TENON_API Status check_memory_plan(std::span<const MemoryRequest> requests, const MemoryPlan& plan,
                                   std::uint64_t alignment) {
  return detail::prove_plan(requests, plan, alignment,
                            [](std::size_t i) { return concat("request ", i); });
}

}  // namespace tenon::aot

#endif  // TENON_COMPILER_DEFINITIONS
