// SPDX-License-Identifier: MIT
#include "groups.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "process.hpp"
#include "programs.hpp"
#include "scratch.hpp"
#include "tenon/host/layers/arrays/npy.hpp"
#include "turns.hpp"

namespace tenon::bench {
namespace {

std::string write_input(Scratch& scratch, const std::string& name,
                        const std::array<float, 4>& values) {
  const auto path = scratch.file(name);
  const std::array<std::int64_t, 1> shape{4};
  const Status written =
      host::write_npy(path, ScalarType::Float, shape, std::as_bytes(std::span(values)));
  if (!written.ok()) throw Failure(describe(written));
  return path;
}

/// The sum of both inputs: it did run the program.
void check_output(const Process& process, const std::string& directory) {
  const auto text = output_of(process, directory);
  if (text.find("Float [4]: 11, 22, 33, 44") != std::string::npos) return;
  throw Failure(fmt::format("{} printed {}", process.program, text));
}

}  // namespace

std::vector<Row> process_rows(const Setup& setup) {
  if (!setup.ours || setup.tenon_run.empty()) return {};
  Scratch scratch;
  const auto program = scratch.file("hello.pte");
  write_addition(program);
  const auto x = write_input(scratch, "x.npy", {1, 2, 3, 4});
  const auto y = write_input(scratch, "y.npy", {10, 20, 30, 40});
  const Process map_and_open{setup.map_and_open, {program, setup.hello}, {}};
  const Process run_program{
      setup.tenon_run, {program, "--plugin", setup.hello, "--input", x, "--input", y}, {}};
  const Process version{setup.tenon_run, {"--version"}, {}};
  check_output(run_program, program.substr(0, program.rfind('/')));

  Turns turns;
  const auto floor = turns.add(true, [&] { return run(map_and_open); });
  const auto ours = turns.add(true, [&] { return run(run_program); });
  const auto start = turns.add(true, [&] { return run(version); });
  turns.run(setup.plan);
  const auto row = [&](const char* what, std::size_t measured, std::optional<Goal> goal) {
    return Row{"", what, "ns", turns[floor], std::nullopt, turns[measured], goal};
  };
  return {row("tenon-run hello, one output (floor: a process that maps it and opens the plugin)",
              ours, floor_times(1.3)),
          row("tenon-run --version (the same floor)", start, std::nullopt)};
}

}  // namespace tenon::bench
