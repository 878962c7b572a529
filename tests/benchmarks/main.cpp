// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>

#include "groups.hpp"
#include "stock/stock.hpp"

namespace {

constexpr int usage = 2;
constexpr int skipped = 77;  // As Meson understands it.

using namespace tenon::bench;

bool is_chosen(const Group& group, const std::vector<std::string>& only) {
  return only.empty() || std::find(only.begin(), only.end(), group.name) != only.end();
}

bool needs_stock(const std::vector<std::string>& only) {
  return std::any_of(all_groups().begin(), all_groups().end(),
                     [&](const Group& group) { return group.has_stock && is_chosen(group, only); });
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw Failure("cannot write " + path);
}

Report run(const Setup& setup, const std::vector<std::string>& only, int core) {
  Report report;
  report.facts = machine_facts();
  report.facts.emplace_back(
      "method", fmt::format("one process on core {}, sides in turns, least of {} rounds", core,
                            setup.plan.rounds));
  for (const auto& group : all_groups()) {
    if (!is_chosen(group, only)) continue;
    for (auto& row : group.rows(setup)) {
      row.group = group.name;
      report.rows.push_back(std::move(row));
    }
  }
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures our host and the runtime of the stock ExecuTorch wheel side by side.",
               "tenon-bench");
  Setup setup{.programs = TENON_BENCH_PROGRAMS,
              .plugin = TENON_BENCH_PLUGIN,
              .sdk_plugin = TENON_BENCH_SDK_PLUGIN,
              .open_all = TENON_BENCH_OPEN_ALL,
              .tenon_list = TENON_BENCH_LIST,
              .map_and_open = TENON_BENCH_MAP_AND_OPEN,
              .tenon_run = TENON_BENCH_RUN,
              .hello = TENON_BENCH_HELLO,
              .model = TENON_BENCH_MODEL,
              .fixtures = TENON_BENCH_FIXTURES,
              .bridges = {TENON_BENCH_BRIDGES}};
  std::string side = "both";
  std::vector<std::string> only;
  std::string json;
  bool markdown = false;
  int core = -1;
  std::vector<std::string> names;
  for (const auto& group : all_groups()) names.push_back(group.name);
  app.add_option("--side", side, "Measure one side alone")
      ->check(CLI::IsMember({"both", "stock", "ours"}))
      ->capture_default_str();
  app.add_option("--only", only, "Measure these groups alone")->check(CLI::IsMember(names));
  app.add_option("--bridge", setup.bridges, "Plugin for the group bridge; repeatable")
      ->check(CLI::ExistingFile)
      ->allow_extra_args(false);
  app.add_option("--case", setup.cases,
                 "Directory with a model.pte for the group bridge; repeatable")
      ->check(CLI::ExistingDirectory)
      ->allow_extra_args(false);
  app.add_option("--rounds", setup.plan.rounds, "Rounds to take the minimum of")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--core", core, "Core to run on (default: the last one allowed)");
  app.add_option("--json", json, "Write everything to this file");
  app.add_flag("--markdown", markdown, "Print the table as Markdown");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    return app.exit(wrong) == 0 ? 0 : usage;
  }

  setup.stock = side != "ours" && needs_stock(only);
  setup.ours = side != "stock";
  if (setup.stock && !stock::present()) {
    fmt::print(
        "skipped: built without the ExecuTorch wheel (run .ci/fetch-executorch-wheel, then "
        "configure again; --side ours measures our side alone)\n");
    return skipped;
  }
  try {
    // Once a process had a second thread, the C++ library counts references atomically for good. An
    // application has threads, so that is the state to measure.
    std::thread([] {}).join();
    const auto report = run(setup, only, pin_to_core(core));
    fmt::print("{}", markdown ? report.markdown() : report.text());
    if (!json.empty()) write(json, report.json());
  } catch (const std::exception& failure) {
    fmt::print(stderr, "tenon-bench: {}\n", failure.what());
    return 1;
  }
  return 0;
}
