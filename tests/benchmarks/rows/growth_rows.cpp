// SPDX-License-Identifier: MIT
#include "groups.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ours.hpp"
#include "programs.hpp"
#include "scratch.hpp"
#include "stock/stock.hpp"
#include "turns.hpp"

namespace tenon::bench {
namespace {

constexpr std::array<int, 4> sizes{1, 10, 100, 1000};
constexpr std::array<int, 4> thread_counts{1, 2, 4, 8};

Figure each_of(const Figure& all, int count) {
  if (!all) return std::nullopt;
  return slope(Value{}, *all, count);
}

/// Programs of `sizes` calls, and their rows. The whole run is divided by the calls.
template <class PathOf>
std::vector<Row> rows_by_size(const Setup& setup, const char* what,
                              const std::vector<std::string>& plugins, const PathOf& path_of) {
  Turns turns;
  std::vector<std::pair<std::size_t, std::size_t>> numbers;
  for (const int size : sizes) {
    const std::string path = path_of(size);
    const auto stock = turns.add(setup.stock, [&] { return stock::execute(path); });
    numbers.emplace_back(stock,
                         turns.add(setup.ours, [&] { return ours::execute(path, plugins); }));
  }
  turns.run(setup.plan);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    rows.push_back({"", fmt::format("{}: {}", what, sizes[i]), "ns", std::nullopt,
                    each_of(turns[numbers[i].first], sizes[i]),
                    each_of(turns[numbers[i].second], sizes[i]), std::nullopt});
  }
  return rows;
}

/// Runs this thread on the processor of this number alone, of those there are.
void move_to_processor(std::size_t number) {
  const long count = std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(number % static_cast<std::size_t>(count), &one);
  // Where it is not allowed the threads share the processor of the process.
  static_cast<void>(::sched_setaffinity(0, sizeof one, &one));
}

double processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// The processor time of one repeat, for threads that run a work each at the same time: other
/// threads cost nothing of it unless they write to the same cache lines.
Value time_together(const Plan& plan, const std::vector<Work>& works) {
  constexpr std::uint64_t repeats = 20;
  const std::uint64_t rounds = std::max<std::uint64_t>(20, plan.rounds / 4);
  std::vector<std::vector<double>> spent(works.size(), std::vector<double>(rounds + 1));
  std::barrier together(static_cast<std::ptrdiff_t>(works.size()));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < works.size(); ++i) {
      threads.emplace_back([&, i] {
        move_to_processor(i);
        for (std::uint64_t round = 0; round <= rounds; ++round) {
          together.arrive_and_wait();
          const double start = processor_time();
          works[i](repeats);
          spent[i][round] = (processor_time() - start) / static_cast<double>(repeats);
        }
      });
    }
  }
  std::vector<double> all;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    double sum = 0;
    for (const auto& thread : spent) sum += thread[round];
    all.push_back(sum / static_cast<double>(works.size()));
  }
  return summarize(std::move(all));
}

std::vector<Row> rows_by_threads(const Setup& setup) {
  constexpr int calls = 1000;
  std::vector<Row> rows;
  for (const int threads : thread_counts) {
    const auto works = ours::execute_methods(setup.programs + "/noop_call_1000.pte", setup.plugin,
                                             static_cast<std::size_t>(threads));
    rows.push_back({"", fmt::format("a delegate call, threads: {}", threads), "ns", std::nullopt,
                    std::nullopt, each_of(time_together(setup.plan, works), calls), std::nullopt});
  }
  return rows;
}

}  // namespace

std::vector<Row> growth_rows(const Setup& setup) {
  std::vector<Row> rows = rows_by_size(
      setup, "a delegate call, delegates", {setup.plugin},
      [&](int size) { return fmt::format("{}/noop_del_{}.pte", setup.programs, size); });
  const auto add = [&](std::vector<Row> more) {
    for (Row& row : more) rows.push_back(std::move(row));
  };
  if (!setup.bridges.empty()) {
    const stock::OneThread guard;
    Scratch scratch;
    add(rows_by_size(setup, "a kernel call, kernels", setup.bridges, [&](int size) {
      const auto path = scratch.file(fmt::format("add_{}.pte", size));
      write_kernel_calls(size, Shapes::Fixed, path);
      return path;
    }));
  }
  if (setup.ours) add(rows_by_threads(setup));
  return rows;
}

}  // namespace tenon::bench
