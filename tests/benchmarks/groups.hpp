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
  std::string sdk_plugin;    ///< The same backend written with the C++ SDK.
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

/// All groups, in the order of the table.
[[nodiscard]] const std::vector<Group>& all_groups();

}  // namespace tenon::bench
