// SPDX-License-Identifier: MIT
#include "top.hpp"
#include "tenon/host/layers/arrays/element.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_file.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>
#include <variant>

namespace tenon::run {
namespace {

struct Score {
  double value;
  std::size_t index;
};

// Whether `a` is reported before `b`.
bool is_better(const Score& a, const Score& b) {
  if (std::isnan(a.value) != std::isnan(b.value)) return std::isnan(b.value);
  if (std::isnan(a.value) || a.value == b.value) return a.index < b.index;
  return a.value > b.value;
}

}  // namespace

std::vector<std::vector<ClassScore>> top_classes(const host::ArrayView& array, std::size_t count,
                                                 const std::vector<std::string>& labels) {
  std::vector<std::vector<ClassScore>> out;
  const bool is_floating = array.type == ScalarType::Half || array.type == ScalarType::BFloat16 ||
                           array.type == ScalarType::Float || array.type == ScalarType::Double;
  if (!is_floating || array.shape.empty() || array.shape.back() < 2 || count == 0) {
    return out;
  }
  const auto width = static_cast<std::size_t>(array.shape.back());
  const std::size_t rows = array.data.size() / (width * size_of(array.type));
  for (std::size_t row = 0; row < std::min(rows, max_top_rows); ++row) {
    // A heap of the best so far, the worst of them first: an output may be far larger than what is
    // reported of it.
    std::vector<Score> best;
    for (std::size_t i = 0; i < width; ++i) {
      const Score score{std::get<double>(host::element_at(array.type, array.data, row * width + i)),
                        i};
      if (best.size() == count && !is_better(score, best.front())) continue;
      if (best.size() == count) {
        std::ranges::pop_heap(best, is_better);
        best.pop_back();
      }
      best.push_back(score);
      std::ranges::push_heap(best, is_better);
    }
    std::ranges::sort_heap(best, is_better);
    auto& classes = out.emplace_back();
    for (const auto& [value, i] : best) {
      classes.push_back({i, i < labels.size() ? labels[i] : std::string(), value});
    }
  }
  return out;
}

Result<std::vector<std::string>> read_labels(const std::string& path) {
  auto text = host::read_file(host::path_of(path));
  if (!text.ok()) return std::move(text).status().with_context("labels");
  std::istringstream lines(*std::move(text));
  std::vector<std::string> out;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace tenon::run
