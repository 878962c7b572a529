// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "report.hpp"

namespace tenon::bench {

using Figure = std::optional<Value>;

/// Works that are timed in turns. Each `add` returns the number by which to ask for the result.
class Turns {
 public:
  std::size_t add(bool wanted, const std::function<Work()>& make) {
    index_.push_back(wanted ? std::optional(works_.size()) : std::nullopt);
    if (wanted) works_.push_back(make());
    return index_.size() - 1;
  }

  void run(const Plan& plan) { values_ = measure(plan, works_); }

  [[nodiscard]] Figure operator[](std::size_t number) const {
    return index_[number] ? Figure(values_[*index_[number]]) : std::nullopt;
  }
  [[nodiscard]] Figure slope(std::size_t small, std::size_t large, double steps) const {
    if (!index_[small] || !index_[large]) return std::nullopt;
    return bench::slope(*(*this)[small], *(*this)[large], steps);
  }

 private:
  std::vector<std::optional<std::size_t>> index_;
  std::vector<Work> works_;
  std::vector<Value> values_;
};

constexpr Goal stock_times(double limit) { return {Goal::Against::Stock, limit}; }
constexpr Goal stock_plus(double limit) { return {Goal::Against::StockPlus, limit}; }
constexpr Goal floor_times(double limit) { return {Goal::Against::Floor, limit}; }
constexpr Goal at_most(double limit) { return {Goal::Against::Nothing, limit}; }

}  // namespace tenon::bench
