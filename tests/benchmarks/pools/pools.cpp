// SPDX-License-Identifier: MIT
//
// Two methods of two backends that run at once, each from a thread of its own: on one pool, on two
// pools, and from inside of one pool. How long both take, and how many threads compute.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "plugins/pooled/pooled.hpp"
#include "support/program_builder.hpp"
#include "tenon/abi/static_plugin.h"
#include "tenon/host.hpp"
#include "tenon/host/async.hpp"
#include "tenon/host/schema/program_generated.h"

TENON_DECLARE_STATIC_PLUGIN(PooledLeft);

namespace tenon::bench { namespace {

using host::Method;
using host::WorkerPool;
using test::pooled_record;

template <class T>
T need(Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "pools: %s\n", describe(std::move(result).status()).c_str());
  std::exit(1);
}
void need(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "pools: %s\n", describe(status).c_str());
  std::exit(1);
}

/// A method of one delegate whose 64 rows take `steps` steps each.
std::unique_ptr<Method> load(const char* backend, std::uint64_t steps, const WorkerPool& pool) {
  static host::BackendRegistry registry;
  static const bool added = registry.register_backend(tenon_static_plugin_PooledLeft).ok();
  if (!added) std::exit(1);
  test::ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(32);
  const auto x = plan.input(test::planned_tensor(ScalarType::Float, {4}, memory, 0));
  const auto y = plan.output(test::planned_tensor(ScalarType::Float, {4}, memory, 16));
  const auto delegate = plan.delegate(backend, schema::DataLocation::INLINE,
                                      builder.inline_blob("rows " + std::to_string(steps)));
  plan.instruction(test::delegate_call(delegate, {x, y}));
  auto bytes = std::make_shared<test::AlignedBytes>(builder.build());
  auto program = need(host::Program::from_bytes(std::as_const(*bytes).bytes(), bytes, "pools"));
  auto method =
      need(Method::load(std::move(program), "forward", {.registry = &registry, .layers = {pool}}));
  static constexpr std::array<float, 4> input{1, 2, 3, 4};
  static const std::vector<std::int64_t> sizes{4};
  need(method->set_input(
      0, host::InputTensor{ScalarType::Float, sizes, std::as_bytes(std::span(input))}));
  return method;
}

/// One way to run both methods, and what was measured.
struct Row {
  std::string_view name;
  std::unique_ptr<Method> left, right;
  const WorkerPool* begins_on = nullptr;  ///< Runs begin on it; null: on threads of their own.
  double least_ms = std::numeric_limits<double>::infinity();
  double least_cpu_ms = least_ms;  ///< Of all threads together.
  int most_threads = 0;

  void run(int num_runs) {
    const auto runs = [num_runs](Method& method) {
      for (int i = 0; i < num_runs; ++i) need(method.execute());
    };
    pooled_record().most = 0;
    const std::clock_t cpu_start = std::clock();
    const auto start = std::chrono::steady_clock::now();
    if (begins_on) {
      need(begins_on->parallel_for(2, 1, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) runs(i == 0 ? *left : *right);
      }));
    } else {
      std::thread other([&] { runs(*right); });
      runs(*left);
      other.join();
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    least_ms = std::min(least_ms, took.count());
    const auto cpu = static_cast<double>(std::clock() - cpu_start) * 1000 / CLOCKS_PER_SEC;
    least_cpu_ms = std::min(least_cpu_ms, cpu);
    most_threads = std::max(most_threads, pooled_record().most.load());
  }
};

void measure(std::uint32_t num_threads, int num_rounds, std::uint64_t steps) {
  const auto shared = need(WorkerPool::create(num_threads));
  const auto first = need(WorkerPool::create(num_threads));
  const auto second = need(WorkerPool::create(num_threads));
  std::vector<Row> rows;
  const auto add = [&](std::string_view name, const WorkerPool& left, const WorkerPool& right,
                       const WorkerPool* begins_on) {
    rows.push_back(
        {name, load("PooledLeft", steps, left), load("PooledRight", steps, right), begins_on});
  };
  add("one pool", *shared, *shared, nullptr);
  add("two pools", *first, *second, nullptr);
  add("one pool, runs begin on it", *shared, *shared, shared.get());
  constexpr int runs_of_round = 20;
  for (int round = 0; round < num_rounds; ++round) {
    for (Row& row : rows) row.run(runs_of_round);
  }
  std::printf("%u threads in a pool, 2 methods, %d runs of each; the least of %d rounds\n",
              num_threads, runs_of_round, num_rounds);
  for (const Row& row : rows) {
    std::printf("%-28.*s %9.3f ms, %9.3f ms of CPU, at most %d threads compute\n",
                static_cast<int>(row.name.size()), row.name.data(), row.least_ms, row.least_cpu_ms,
                row.most_threads);
  }
}

}}  // namespace tenon::bench

/// pools [THREADS [ROUNDS [STEPS]]]
int main(int argc, char** argv) {
  const auto number = [&](int index, long otherwise) {
    return argc > index ? std::atol(argv[index]) : otherwise;
  };
  tenon::bench::measure(static_cast<std::uint32_t>(std::max(number(1, 2), 1L)),
                        static_cast<int>(number(2, 50)),
                        static_cast<std::uint64_t>(number(3, 20000)));
  return 0;
}
