// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "report.hpp"

namespace tenon::bench {

/// The setup of every group of rows.
struct Setup {
  Plan plan;
  bool stock = true;
  bool ours = true;
  std::string programs;      ///< Directory with noop_call_N.pte, noop_del_N.pte and noop_empty.pte.
  std::string plugin;        ///< The no-op plugin written in C.
  std::string sdk_plugin;    ///< That backend, written with the C++ SDK.
  std::string open_all;      ///< The program that opens every library of a directory.
  std::string tenon_list;    ///< The program; empty when it was not built.
  std::string map_and_open;  ///< The program that maps a program and opens a plugin.
  std::string tenon_run;     ///< The program; empty when it was not built.
  std::string hello;         ///< The example plugin, which has the backend "Add".
  std::string model;         ///< A program with a library of AOTInductor for x86-64.
  std::string fixtures;      ///< Directory with a directory for each fixture.
  std::vector<std::string> bridges;  ///< The plugins for XNNPACK and kernels; empty without wheel.
  std::vector<std::string> cases;    ///< Directories of further programs for the bridges.
};

/// A set of rows that are measured together.
struct Group {
  std::string name;
  std::vector<Row> (*rows)(const Setup&);
  bool has_stock = true;  ///< Whether the stock runtime has a side in it.
};

// The rows of groups that are defined in rows/.

/// The group "adapter": the stock runtime calls a backend of its own, and ours through the adapter.
[[nodiscard]] std::vector<Row> adapter_rows(const Setup& setup);

/// The group "bridge": backends and kernels of the wheel in the stock runtime, and in our host
/// through plugins.
[[nodiscard]] std::vector<Row> bridge_rows(const Setup& setup);

/// The cost of finding the CPU features that a model's library needs, compared with a bare loop of
/// the decoder over the same bytes. Empty where Zydis is not installed. The stock runtime has
/// nothing like it.
[[nodiscard]] std::vector<Row> decode_rows(const Setup& setup);

/// What a call costs in methods of more and more delegates and kernels, and when more and more
/// threads run methods of one program at the same time.
[[nodiscard]] std::vector<Row> growth_rows(const Setup& setup);

/// The cost of listing plugins, compared with opening their libraries. The stock runtime has
/// nothing like it.
[[nodiscard]] std::vector<Row> plugin_rows(const Setup& setup);

/// Whole processes, from their start to their end, with the output of one run of a program.
[[nodiscard]] std::vector<Row> process_rows(const Setup& setup);

/// All groups, in the order of the table.
[[nodiscard]] const std::vector<Group>& all_groups();

}  // namespace tenon::bench
