// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "color.hpp"
#include "tenon/core/result.hpp"
#include "tool.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// "2/3": the second of three parts of all tests.
struct Shard {
  std::uint32_t part = 1;  ///< From 1 to `of`.
  std::uint32_t of = 1;
};

/// The command line, parsed.
struct Arguments {
  std::vector<std::string> plugins;
  std::vector<std::string> subject_files;
  std::vector<std::string> case_directories;
  std::vector<std::string> only;
  std::vector<std::string> rules;  ///< Only tests that judge one of them; empty for all.
  std::string test;                ///< The path of the only test; empty for all.
  int level = 5;
  std::uint64_t seed = 1;
  std::uint32_t repeat = 1;
  std::uint32_t jobs = 0;  ///< 0: one for each processor.
  Shard shard;
  double timeout = 60;          ///< Seconds for one test.
  std::uint32_t max_hangs = 5;  ///< Hung tests after which the rest is blocked.
  bool shuffle = false;
  bool list = false;
  bool in_process = false;
  bool verbose = false;
  bool progress = false;  ///< A line for each test, also where there is no terminal.
  bool json_to_stdout = false;
  bool with_times = true;
  ColorWhen color = ColorWhen::automatic;
  std::string json, junit, html, markdown;  ///< Files to write; empty for none.
  std::string coverage;  ///< File for the matrix of operators (.html or .md); empty for none.
  std::string repro;     ///< Directory for a bundle for each finding; empty for none.
  std::string baseline;
  double baseline_factor = 2;
  std::vector<std::string> merge;  ///< Reports of shards to merge, instead of judging.

  std::string make_proxy;  ///< The proxy to make of the plugin, instead of judging it.
  bool force = false;      ///< The proxy may replace a file.

  // With which the runner calls itself for one test, or for a server that forks a process for each.
  std::string run_one;              ///< Path of the test.
  std::string coverage_of;          ///< Id of the backend to ask, instead of a test.
  std::string coverage_from = "0";  ///< The number of the first recorded call.
  int server = -1;
  int channel = -1;
  int crumbs = -1;

  /// Whether nothing but the level decides which tests are run.
  [[nodiscard]] bool selects_all_tests() const noexcept {
    return shard.of == 1 && shards_have_all_tests();
  }
  /// Whether nothing but the level decides which tests all shards together run.
  [[nodiscard]] bool shards_have_all_tests() const noexcept {
    return only.empty() && rules.empty() && test.empty();
  }
};

/// Reads the command line and, for missing options, the environment. InvalidArgument names the
/// wrong argument.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

}}}  // namespace tenon::TENON_RELEASE::conformance
