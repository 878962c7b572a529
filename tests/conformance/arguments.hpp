// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "color.hpp"
#include "print_and_exit.hpp"
#include "tenon/core/result.hpp"

namespace tenon::conformance {

/// What the command line asks for.
struct Arguments {
  std::vector<std::string> plugins;
  std::vector<std::string> subject_files;
  std::vector<std::string> case_folders;
  std::vector<std::string> only;
  int level = 5;
  std::uint64_t seed = 1;
  std::uint32_t repeat = 1;
  std::uint32_t jobs = 0;       ///< 0: as many as there are processors.
  std::string shard;            ///< "2/3": the second of three parts.
  double timeout = 60;          ///< Seconds for one test.
  std::uint32_t max_hangs = 5;  ///< Hung tests until the rest is not run.
  bool shuffle = false;
  bool list = false;
  bool in_process = false;
  bool verbose = false;
  bool json_to_stdout = false;
  bool with_times = true;
  ColorWhen color = ColorWhen::automatic;
  std::string json, junit, html, markdown;  ///< Files to write; empty for none.
  std::string baseline;
  double baseline_factor = 2;

  std::string make_proxy;  ///< The proxy to make of the one plugin, instead of judging it.
  bool force = false;      ///< The proxy may replace a file.

  // How the runner calls itself for one test.
  std::string run_one;  ///< Path of the test.
  int channel = -1;
  int crumbs = -1;
};

/// Reads the command line and, for what it leaves out, the environment. InvalidArgument names the
/// argument that is wrong.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

}  // namespace tenon::conformance
