// SPDX-License-Identifier: MIT
#include "harness.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>

namespace tenon::bench {
namespace {

double time_batch(const Work& work, std::uint64_t repeats) {
  const auto start = std::chrono::steady_clock::now();
  work(repeats);
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::nano>(end - start).count();
}

std::uint64_t repeats_for(const Work& work, double batch_ns) {
  // A first run binds functions and makes what later runs find. Counted, it would make a batch of
  // a few runs only, each of them as slow as the caches that the other works left.
  work(1);
  std::uint64_t repeats = 1;
  for (;;) {
    const double spent = std::min(time_batch(work, repeats), time_batch(work, repeats));
    if (spent >= batch_ns / 4) {
      return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(
                                            batch_ns / spent * static_cast<double>(repeats))));
    }
    repeats *= 2;
  }
}

}  // namespace

Value summarize(std::vector<double> rounds) {
  std::array<double, 2> halves{rounds.front(), rounds.size() < 2 ? rounds.front() : rounds[1]};
  for (std::size_t i = 2; i < rounds.size(); ++i)
    halves[i % 2] = std::min(halves[i % 2], rounds[i]);
  std::sort(rounds.begin(), rounds.end());
  return {rounds.front(), rounds[rounds.size() / 2], halves};
}

Value slope(const Value& small, const Value& large, double steps) {
  return {
      (large.minimum - small.minimum) / steps,
      (large.median - small.median) / steps,
      {(large.halves[0] - small.halves[0]) / steps, (large.halves[1] - small.halves[1]) / steps}};
}

int pin_to_core(int cpu) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    throw Failure("sched_getaffinity failed: the cores of this process are not known");
  }
  if (cpu < 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &allowed)) cpu = i;
    }
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) {
    throw Failure("cannot pin this process to core " + std::to_string(cpu));
  }
  return cpu;
}

std::vector<Value> measure(const Plan& plan, const std::vector<Work>& works) {
  std::vector<std::uint64_t> repeats;
  for (const auto& work : works) repeats.push_back(repeats_for(work, plan.batch_ns));

  std::vector<std::vector<double>> rounds(works.size());
  for (std::uint64_t round = 0; round <= plan.rounds; ++round) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      const double spent = time_batch(works[i], repeats[i]);
      if (round > 0) rounds[i].push_back(spent / static_cast<double>(repeats[i]));
    }
  }

  std::vector<Value> values;
  for (auto& each : rounds) values.push_back(summarize(std::move(each)));
  return values;
}

}  // namespace tenon::bench
