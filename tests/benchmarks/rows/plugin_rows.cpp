// SPDX-License-Identifier: MIT
#include "groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "floor.hpp"
#include "ours.hpp"
#include "process.hpp"
#include "scratch.hpp"
#include "turns.hpp"

namespace tenon::bench {
namespace {

constexpr std::size_t many = 1000;

/// A directory of `many` plugins, each with an id of its own.
struct ManyPlugins {
  explicit ManyPlugins(const std::string& source) {
    for (std::size_t i = 0; i < many; ++i) {
      const auto id = fmt::format("Noop{:03}", i);
      files.push_back(scratch.file(id + ".so"));
      write_renamed_plugin(source, id, files.back());
    }
    directory = files.front().substr(0, files.front().rfind('/'));
  }

  Scratch scratch;
  std::string directory;
  std::vector<std::string> files;
};

Work open_each(const std::vector<std::string>& files) {
  std::vector<Work> works;
  for (const auto& path : files) works.push_back(floor::open_library(path));
  return [works](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      for (const auto& work : works) work(1);
    }
  };
}

Row add_row(const Setup& setup) {
  Turns turns;
  const auto open = turns.add(true, [&] { return floor::open_library(setup.plugin); });
  const auto add = turns.add(setup.ours, [&] { return ours::add_plugin(setup.plugin); });
  turns.run(setup.plan);
  return {"",           "add and load one (floor: dlopen, dlsym, dlclose)",
          "ns",         turns[open],
          std::nullopt, turns[add],
          std::nullopt};
}

/// A header, and a line for each plugin: it did list them.
void check_output(const Process& list, const std::string& directory) {
  const auto lines = std::ranges::count(output_of(list, directory), '\n');
  if (lines >= static_cast<std::ptrdiff_t>(many) + 1) return;
  throw Failure(fmt::format("{} printed {} lines for {} plugins", list.program, lines, many));
}

}  // namespace

std::vector<Row> plugin_rows(const Setup& setup) {
  const ManyPlugins plugins(setup.plugin);
  const Process open_all{setup.open_all, {plugins.directory}, {}};
  const Process list_all{setup.tenon_list, {"--all"}, {"TENON_PLUGIN_PATH=" + plugins.directory}};
  const bool lists = setup.ours && !setup.tenon_list.empty();
  if (lists) check_output(list_all, plugins.directory);

  Turns turns;
  const auto open = turns.add(true, [&] { return open_each(plugins.files); });
  const auto add = turns.add(setup.ours, [&] { return ours::list(plugins.files); });
  const auto discover =
      turns.add(setup.ours, [&] { return ours::discover(plugins.directory, many); });
  const auto open_process = turns.add(true, [&] { return run(open_all); });
  const auto list_process = turns.add(lists, [&] { return run(list_all); });
  Plan plan = setup.plan;
  plan.rounds = std::max<std::uint64_t>(1, plan.rounds / 20);
  turns.run(plan);

  const auto row = [&](const char* what, std::size_t floor, std::size_t ours) {
    return Row{"", what, "ns", turns[floor], std::nullopt, turns[ours], floor_times(0.5)};
  };
  return {add_row(setup), row("register 1,000 and list them (floor: open them all)", open, add),
          row("search a directory of 1,000 (floor: open them all)", open, discover),
          row("tenon-list with 1,000 (floor: a process that opens them all)", open_process,
              list_process)};
}

}  // namespace tenon::bench
