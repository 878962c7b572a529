// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"

namespace tenon::bench {

/// The goal of a row (see docs/project/performance-notes.md).
struct Goal {
  enum class Against { Stock, StockPlus, Floor, Nothing };
  Against against;  ///< `StockPlus`, `Nothing`: `limit` is in the unit of the row.
  double limit;
};

/// One line of the table. A side that was not measured is empty.
struct Row {
  std::string group;
  std::string what;
  std::string unit;            ///< "ns", or empty for a count.
  std::optional<Value> floor;  ///< The bare steps, see floor.hpp.
  std::optional<Value> stock;
  std::optional<Value> ours;
  std::optional<Goal> goal;

  /// ours / stock by the minimums.
  [[nodiscard]] std::optional<double> ratio() const;
  /// Whether the goal is reached; empty without a goal or without the numbers for it.
  [[nodiscard]] std::optional<bool> reached() const;
};

/// Everything that one run found, and where.
struct Report {
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Row> rows;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string markdown() const;
  [[nodiscard]] std::string json() const;
};

/// Processor, its class, kernel, C library, compiler.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> machine_facts();

}  // namespace tenon::bench
