// SPDX-License-Identifier: MIT
#include "kit/process/resources.hpp"

#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "kit/platform/system.hpp"
#include "kit/process/interposition.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/sanitizer.hpp"

#if TENON_DETAIL_ADDRESS_SANITIZER
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

std::vector<Mapping> mappings() { return platform::mappings(); }

std::int64_t heap_bytes() noexcept {
#if TENON_DETAIL_ADDRESS_SANITIZER
  return static_cast<std::int64_t>(::__sanitizer_get_current_allocated_bytes());
#else
  if (interposition.present) return interposition.live_bytes;
  return platform::allocated_bytes();
#endif
}

// No program that runs has nothing allocated.
bool counts_heap_bytes() noexcept { return heap_bytes() != 0; }

std::int64_t resident_bytes() {
#if TENON_DETAIL_ADDRESS_SANITIZER
  return 0;  // Most of them are the sanitizer's.
#else
  return platform::resident_bytes();
#endif
}

ResourceCounts ResourceCounts::now() {
  ResourceCounts out;
  out.memory_bytes = heap_bytes();
  out.descriptors = platform::num_descriptors();
  const platform::TaskCounts tasks = platform::count_tasks();
  out.threads = tasks.threads;
  out.processes = tasks.processes;
  for (const Mapping& one : mappings()) {
    if (one.name.starts_with('[')) continue;
#if TENON_DETAIL_ADDRESS_SANITIZER
    if (one.name.empty()) continue;
#endif
    out.mapped_bytes += static_cast<std::int64_t>(one.end - one.begin);
  }
  return out;
}

ResourceCounts ResourceCounts::once_threads_ended(std::int64_t threads) {
  for (int waited = 0; waited < 50; ++waited) {
    const ResourceCounts counts = now();
    if (counts.threads <= threads) return counts;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return now();
}

Resources Resources::now() {
  platform::Tasks tasks = platform::tasks();
  return {platform::descriptors(), std::move(tasks.threads), std::move(tasks.processes)};
}

Resources Resources::once_threads_ended(std::size_t threads) {
  static_cast<void>(ResourceCounts::once_threads_ended(static_cast<std::int64_t>(threads)));
  return now();
}

std::vector<std::string> Resources::more_in(const Resources& later) const {
  std::vector<std::string> out;
  for (const auto& [number, target] : later.descriptors) {
    const auto before = descriptors.find(number);
    if (before != descriptors.end() && before->second == target) continue;
    out.push_back(concat("descriptor ", number, " (", target, ")"));
  }
  for (const auto& [task, name] : later.threads) {
    if (!threads.contains(task)) out.push_back(concat("thread ", task, " (", name, ")"));
  }
  for (const auto& [process, name] : later.processes) {
    if (!processes.contains(process)) {
      out.push_back(concat("process ", process, " (", name, ")"));
    }
  }
  return out;
}

namespace detail {

std::vector<std::string> growth_of_calls(int stretch, const void* round, void (*call)(const void*),
                                         const void* declared, std::int64_t (*ask)(const void*)) {
  constexpr int warm_up = 3;
  std::array<ResourceCounts, 4> counts;
  std::array<std::int64_t, 4> own{};
  for (int i = 0; i < warm_up; ++i) call(round);
  const std::int64_t threads = ResourceCounts::now().threads;
  for (std::size_t point = 0; point < counts.size(); ++point) {
    for (int i = 0; point != 0 && i < stretch; ++i) call(round);
    counts[point] = ResourceCounts::once_threads_ended(threads);
    own[point] = ask(declared);
  }
  std::vector<std::string> out;
  // Less than `least` a round is noise, or something that is taken now and then.
  const auto judge = [&](const auto& at, double least, std::string_view what) {
    for (std::size_t point = 1; point < counts.size(); ++point) {
      const auto more = static_cast<double>(at(point) - at(point - 1));
      if (more <= 0 || more < least * stretch) return;
    }
    const std::int64_t all = at(3) - at(0);
    const int rounds = 3 * stretch;
    out.push_back(
        concat(all, " ", what, " more after ", rounds + warm_up, " rounds than after ", warm_up));
  };
#if TENON_DETAIL_ADDRESS_SANITIZER
  constexpr double least_memory = 512;  // It allocates some itself for each opened library.
#else
  constexpr double least_memory = 1;
#endif
  judge([&](std::size_t i) { return counts[i].memory_bytes; }, least_memory, "bytes of memory");
  // A large block of memory is a mapping as well, which was reported already.
  if (out.empty()) {
    judge([&](std::size_t i) { return counts[i].mapped_bytes; }, 4096, "bytes of mappings");
  }
  judge([&](std::size_t i) { return counts[i].descriptors; }, 0.1, "descriptors");
  judge([&](std::size_t i) { return counts[i].threads; }, 0.1, "threads");
  judge([&](std::size_t i) { return counts[i].processes; }, 0.1, "processes");
  judge([&](std::size_t i) { return own[i]; }, 1, "bytes by its own count");
  return out;
}

}  // namespace detail

std::string join_with_and(const std::vector<std::string>& texts) {
  std::string out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    out += concat(i == 0 ? "" : i + 1 == texts.size() ? " and " : ", ", texts[i]);
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
