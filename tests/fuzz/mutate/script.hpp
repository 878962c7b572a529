// SPDX-License-Identifier: MIT
//
// Mutations of scripts (peers/choices.hpp): whole steps come, go and change places, and the choices
// of one step become others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "fuzz/mutate/random.hpp"

namespace tenon::fuzz {
namespace detail {

using Step = std::vector<std::uint8_t>;

inline std::vector<Step> steps_of(std::span<const std::uint8_t> bytes) {
  std::vector<Step> out;
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.front(), bytes.size() - 1);
    out.emplace_back(bytes.begin() + 1, bytes.begin() + 1 + static_cast<std::ptrdiff_t>(size));
    bytes = bytes.subspan(1 + size);
  }
  return out;
}

/// A step of few bytes, most of them 0: what is chosen comes first, what is odd is rare.
inline Step new_step(Random& random) {
  Step out(1 + random.below(24));
  for (std::uint8_t& each : out) {
    if (!random.one_in(3)) continue;
    each = static_cast<std::uint8_t>(random.one_in(2) ? random.below(8) : random.next());
  }
  out.front() = static_cast<std::uint8_t>(random.next());
  return out;
}

inline void mutate_step(Step& step, Random& random) {
  if (step.empty()) step.push_back(0);
  const auto at = static_cast<std::ptrdiff_t>(random.below(step.size()));
  switch (random.below(8)) {
    case 0:
      step.insert(step.begin() + at, 1 + random.below(4), static_cast<std::uint8_t>(random.next()));
      break;
    case 1:
      step.erase(step.begin() + at);
      break;
    case 2:
      for (std::size_t i = 0, count = 1 + random.below(12); i < count; ++i) {
        step.push_back(static_cast<std::uint8_t>(random.next()));
      }
      break;
    case 3:
      step[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random.below(8));
      break;
    case 4:
      // The numbers at the edges, and what is rare.
      step[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(0xe1 + random.below(31));
      break;
    case 5:
      mutate_text(step, 255);
      break;
    default:
      step[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random.next());
  }
  if (step.size() > 255) step.resize(255);
}

}  // namespace detail

[[nodiscard]] inline std::size_t mutate_script(std::span<std::uint8_t> input, std::size_t size,
                                               Random& random) {
  using namespace detail;
  if (random.one_in(64)) return mutate_bytes(input, size);
  std::vector<Step> steps = steps_of(input.first(size));
  for (std::size_t i = 0, count = 1 + random.below(3); i < count; ++i) {
    if (steps.empty()) steps.push_back(new_step(random));
    const std::size_t at = random.below(steps.size());
    const auto place = steps.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random.below(10)) {
      case 0:
      case 1:
        steps.insert(place, new_step(random));
        break;
      case 2:
        steps.erase(place);
        break;
      case 3: {
        const Step copy = *place;
        steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(random.below(steps.size() + 1)),
                     copy);
        break;
      }
      case 4:
        std::swap(*place, random.pick(steps));
        break;
      default:
        mutate_step(*place, random);
    }
  }
  std::size_t end = 0;
  for (const Step& each : steps) {
    if (each.size() + 1 > input.size() - end) break;
    input[end++] = static_cast<std::uint8_t>(each.size());
    std::copy(each.begin(), each.end(), input.begin() + static_cast<std::ptrdiff_t>(end));
    end += each.size();
  }
  return end;
}

}  // namespace tenon::fuzz
