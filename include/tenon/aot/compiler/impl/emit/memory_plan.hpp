// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/emit/memory_plan.hpp"

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

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

[[nodiscard]] inline bool at_once(const MemoryRequest& a, const MemoryRequest& b) noexcept {
  return a.first <= b.last && b.first <= a.last;
}

/// The requests of one memory that have a place, by the time in which they are alive. All requests
/// are known before the first one is placed; n is their number.
class Alive {
 public:
  Alive(std::span<const MemoryRequest> requests, std::span<const std::size_t> members)
      : requests_(requests), members_(members.begin(), members.end()) {
    std::sort(members_.begin(), members_.end(), [&](std::size_t a, std::size_t b) {
      return std::tuple(requests[a].first, a) < std::tuple(requests[b].first, b);
    });
    for (const std::size_t member : members_) {
      times_.push_back(requests[member].first);
      times_.push_back(requests[member].last);
    }
    std::sort(times_.begin(), times_.end());
    times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
    leaves_ = std::bit_ceil(members_.size());
    latest_.resize(2 * leaves_);
    slots_ = std::bit_ceil(times_.size());
    heights_.resize(2 * slots_);
    reached_.resize(2 * slots_);
  }

  /// Request `member` has a place that ends at `end`.
  void add(std::size_t member, std::uint64_t end) {
    std::size_t at = leaves_ + position(member);
    // One more than the last time, so that 0 is a request without a place.
    for (const auto last = std::uint64_t{requests_[member].last} + 1; at != 0; at /= 2) {
      latest_[at] = std::max<std::uint64_t>(latest_[at], last);
    }
    raise(1, 0, slots_, slot(requests_[member].first), slot(requests_[member].last) + 1, end);
  }

  /// The requests with a place that are alive at the same time as `member`; false when there are
  /// more than `most`. Time: their number, times log n.
  [[nodiscard]] bool find(std::size_t member, std::size_t most,
                          std::vector<std::size_t>& out) const {
    out.clear();
    const auto end = std::upper_bound(
        members_.begin(), members_.end(), requests_[member].last,
        [&](const auto& time, std::size_t other) { return time < requests_[other].first; });
    return find(1, 0, leaves_, static_cast<std::size_t>(end - members_.begin()),
                requests_[member].first, most, out);
  }

  /// The end of the highest of them. Time: log n.
  [[nodiscard]] std::uint64_t height(std::size_t member) const {
    return height(1, 0, slots_, slot(requests_[member].first), slot(requests_[member].last) + 1);
  }

 private:
  [[nodiscard]] std::size_t position(std::size_t member) const {
    const auto at = std::lower_bound(
        members_.begin(), members_.end(), member, [&](std::size_t a, std::size_t b) {
          return std::tuple(requests_[a].first, a) < std::tuple(requests_[b].first, b);
        });
    return static_cast<std::size_t>(at - members_.begin());
  }
  [[nodiscard]] std::size_t slot(std::uint64_t time) const {
    return static_cast<std::size_t>(std::lower_bound(times_.begin(), times_.end(), time) -
                                    times_.begin());
  }

  /// Of the members `begin` to `end`, which node `at` covers, those before `limit` that are alive
  /// at `first` or later.
  bool find(std::size_t at, std::size_t begin, std::size_t end, std::size_t limit,
            std::uint64_t first, std::size_t most, std::vector<std::size_t>& out) const {
    if (begin >= limit || latest_[at] <= first) return true;
    if (end - begin == 1) {
      if (out.size() == most) return false;
      out.push_back(members_[begin]);
      return true;
    }
    const std::size_t middle = (begin + end) / 2;
    return find(2 * at, begin, middle, limit, first, most, out) &&
           find(2 * at + 1, middle, end, limit, first, most, out);
  }

  /// At least `height` from slot `from` to `to`.
  void raise(std::size_t at, std::size_t begin, std::size_t end, std::size_t from, std::size_t to,
             std::uint64_t height) {
    if (begin >= to || end <= from) return;
    heights_[at] = std::max(heights_[at], height);
    if (from <= begin && end <= to) {
      reached_[at] = std::max(reached_[at], height);
      return;
    }
    const std::size_t middle = (begin + end) / 2;
    raise(2 * at, begin, middle, from, to, height);
    raise(2 * at + 1, middle, end, from, to, height);
  }
  [[nodiscard]] std::uint64_t height(std::size_t at, std::size_t begin, std::size_t end,
                                     std::size_t from, std::size_t to) const {
    if (begin >= to || end <= from) return 0;
    if (from <= begin && end <= to) return heights_[at];
    const std::size_t middle = (begin + end) / 2;
    return std::max({reached_[at], height(2 * at, begin, middle, from, to),
                     height(2 * at + 1, middle, end, from, to)});
  }

  std::span<const MemoryRequest> requests_;
  std::vector<std::size_t> members_;  ///< Sorted by their first time.
  std::vector<std::uint64_t> times_;  ///< First and last times, sorted, each once.
  // Two trees in the layout of a heap: node 1 is the root, 2 i and 2 i + 1 are below node i.
  std::size_t leaves_ = 0;
  std::vector<std::uint64_t> latest_;  ///< By members: the largest last time below a node, plus 1.
  std::size_t slots_ = 0;
  std::vector<std::uint64_t> heights_;  ///< By times: the highest end anywhere below a node,
  std::vector<std::uint64_t> reached_;  ///< and everywhere below it.
};

/// Places the requests of one memory, the largest first, each in the smallest gap that holds it
/// between those that are alive at the same time. A buffer with more neighbours than
/// `most_neighbours` gets the place above them, so that the time grows with the requests and not
/// with their pairs.
class GreedyPlanner {
 public:
  GreedyPlanner(std::span<const MemoryRequest> requests, std::uint64_t alignment) noexcept
      : requests_(requests), alignment_(alignment) {}

  /// Fills in the places of the requests `members`. Returns the bytes of the memory.
  std::uint64_t plan(std::vector<std::size_t> members, std::span<Place> places) {
    // Of equal sizes, what is needed first comes first, then what is named first: so equal requests
    // give equal plans.
    std::sort(members.begin(), members.end(), [this](std::size_t a, std::size_t b) {
      return std::tuple(requests_[b].nbytes, requests_[a].first, a) <
             std::tuple(requests_[a].nbytes, requests_[b].first, b);
    });
    Alive alive(requests_, members);
    std::uint64_t size = 0;
    for (const std::size_t member : members) {
      const auto offset = alive.find(member, most_neighbours, neighbours_)
                              ? smallest_gap(member, places)
                              : alive.height(member);
      places[member].offset = offset;
      const auto end = offset + rounded(member);
      size = std::max(size, end);
      alive.add(member, end);
    }
    return size;
  }

 private:
  static constexpr std::size_t most_neighbours = 512;

  [[nodiscard]] std::uint64_t rounded(std::size_t member) const noexcept {
    return (requests_[member].nbytes + alignment_ - 1) / alignment_ * alignment_;
  }

  /// The place after the last neighbour in time, or a gap before it.
  [[nodiscard]] std::uint64_t smallest_gap(std::size_t member, std::span<const Place> places) {
    std::sort(neighbours_.begin(), neighbours_.end(), [&](std::size_t a, std::size_t b) {
      return std::tuple(places[a].offset, a) < std::tuple(places[b].offset, b);
    });
    const auto needed = rounded(member);
    std::optional<std::uint64_t> best;
    std::uint64_t best_size = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t end = 0;
    for (const std::size_t neighbour : neighbours_) {
      const auto begin = places[neighbour].offset;
      if (begin > end) {
        const auto gap = begin - end;
        if (gap >= needed && gap < best_size) {
          best = end;
          best_size = gap;
        }
      }
      end = std::max(end, begin + rounded(neighbour));
    }
    return best.value_or(end);
  }

  std::span<const MemoryRequest> requests_;
  std::uint64_t alignment_;
  std::vector<std::size_t> neighbours_;  ///< Of the request that is placed now.
};

}  // namespace detail

Result<MemoryPlan> plan_memory(std::span<const MemoryRequest> requests, std::uint64_t alignment) {
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
  std::erase_if(order, [&](std::size_t i) { return requests[i].nbytes == 0; });
  std::vector<std::size_t> ends = order;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(requests[a].first, a) < std::tuple(requests[b].first, b);
  });
  std::sort(ends.begin(), ends.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(requests[a].last, a) < std::tuple(requests[b].last, b);
  });
  // Requests that are alive, by their place. They share no bytes, so a new one can only do so with
  // the one before it and the one behind it.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> alive;
  const auto key = [&](std::size_t i) {
    return std::pair(plan.places[i].memory_id, plan.places[i].offset);
  };
  auto next_end = ends.begin();
  for (const std::size_t i : order) {
    for (; requests[*next_end].last < requests[i].first; ++next_end) alive.erase(key(*next_end));
    const auto behind = alive.lower_bound(key(i));
    const auto share = [&](std::size_t a, std::size_t b) {
      return plan.places[a].memory_id == plan.places[b].memory_id &&
             plan.places[b].offset - plan.places[a].offset < requests[a].nbytes;
    };
    const auto refuse = [&](std::size_t a, std::size_t b) {
      return error(code, name_of(a), " and ", name_of(b), " are needed at once and share memory ",
                   plan.places[b].memory_id, " at ", plan.places[b].offset);
    };
    if (behind != alive.end()) {
      const std::size_t other = behind->second;
      // Of two at one place, the buffer that is named first comes first.
      const bool before = key(other) != key(i) || i < other;
      if (share(i, other)) return before ? refuse(i, other) : refuse(other, i);
    }
    if (behind != alive.begin() && share(std::prev(behind)->second, i)) {
      return refuse(std::prev(behind)->second, i);
    }
    alive.emplace(key(i), i);
  }
  return ok();
}

}  // namespace detail

Status check_memory_plan(std::span<const MemoryRequest> requests, const MemoryPlan& plan,
                         std::uint64_t alignment) {
  return detail::prove_plan(requests, plan, alignment,
                            [](std::size_t i) { return concat("request ", i); });
}

}}}  // namespace tenon::TENON_RELEASE::aot
