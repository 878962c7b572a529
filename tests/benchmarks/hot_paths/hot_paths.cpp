// SPDX-License-Identifier: MIT
//
// The paths that must stay short, each between two marks of Callgrind, for hot_paths_test.py: it
// counts their instructions, which is the same number on a busy machine.
#include <fmt/format.h>
#include <valgrind/callgrind.h>

#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#ifdef TENON_BENCH_ADAPTER
#include "adapter_paths.hpp"
#endif
#include "ours.hpp"
#include "programs.hpp"
#include "scratch.hpp"

namespace tenon::bench { namespace {

/// Runs `work` once to warm up, then `repeats` times, which Callgrind writes to a file under
/// `name`.
void count(const std::string& name, std::uint64_t repeats, const Work& work) {
  work(2);
  const std::string mark = fmt::format("{} {}", repeats, name);
  CALLGRIND_ZERO_STATS;
  work(repeats);
  CALLGRIND_DUMP_STATS_AT(mark.c_str());
}

void count_all(const std::string& programs, const std::string& plugin,
               const std::vector<std::string>& bridges) {
  Scratch scratch;
  const auto program = [&](const char* name) { return programs + "/" + name + ".pte"; };
  count("execute: a method without a call", 1000, ours::execute(program("noop_empty"), plugin));
  count("execute: 1,000 calls of a delegate", 10, ours::execute(program("noop_call_1000"), plugin));
  count("load: a method of one delegate", 100, ours::load(program("noop_del_1"), plugin));
  count("load: a method of 1,000 delegates", 2, ours::load(program("noop_del_1000"), plugin));
  count("load: a method of 1,000 instructions", 2, ours::load(program("noop_call_1000"), plugin));
  count("open: a program of one delegate", 100, ours::open(program("noop_del_1")));
  count("open: a program of 1,000 delegates", 2, ours::open(program("noop_del_1000")));
  count("look-up: the first of 16", 1000, ours::look_up(16, ours::Name::First));
  count("look-up: one of 1,000", 1000, ours::look_up(1000, ours::Name::Last));
  if (bridges.empty()) return;
  for (const auto& [name, shapes] :
       {std::pair{"fixed", Shapes::Fixed}, {"bounded", Shapes::Bounded}}) {
    const auto path = scratch.file(fmt::format("add_{}.pte", name));
    write_kernel_calls(100, shapes, path);
    count(fmt::format("bridge: 100 calls of aten::add.out, {} shape", name), 10,
          ours::execute(path, bridges));
#ifdef TENON_BENCH_ADAPTER
    count(fmt::format("bridge: 1,000 calls through the adapter, {} shape", name), 10,
          adapted_calls(plugin, shapes));
#endif
  }
}

}}  // namespace tenon::bench

/// hot-paths PROGRAMS PLUGIN [BRIDGE]...
int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: hot-paths PROGRAMS PLUGIN [BRIDGE]...\n");
    return 2;
  }
  try {
    // The C++ library counts references atomically from the second thread on, as in applications.
    std::thread([] {}).join();
    tenon::bench::count_all(argv[1], argv[2], {argv + 3, argv + argc});
  } catch (const std::exception& failure) {
    fmt::print(stderr, "hot-paths: {}\n", failure.what());
    return 1;
  }
  return 0;
}
