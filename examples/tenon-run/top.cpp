// SPDX-License-Identifier: MIT
#include "top.hpp"
#include "tenon/host/arrays/element.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <utility>
#include <variant>

namespace tenon::run {

std::vector<std::vector<ClassScore>> top_classes(const host::ArrayView& array, std::size_t count,
                                                 const std::vector<std::string>& labels) {
  std::vector<std::vector<ClassScore>> out;
  const bool is_floating = array.type == ScalarType::Half || array.type == ScalarType::BFloat16 ||
                           array.type == ScalarType::Float || array.type == ScalarType::Double;
  if (!is_floating || array.shape.empty() || array.shape.back() < 2) return out;
  const auto width = static_cast<std::size_t>(array.shape.back());
  const std::size_t rows = array.data.size() / (width * size_of(array.type));
  for (std::size_t row = 0; row < std::min(rows, max_top_rows); ++row) {
    std::vector<double> scores(width);
    for (std::size_t i = 0; i < width; ++i) {
      scores[i] = std::get<double>(host::element_at(array.type, array.data, row * width + i));
    }
    std::vector<std::size_t> order(width);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      if (std::isnan(scores[a]) || std::isnan(scores[b])) {
        return !std::isnan(scores[a]) && std::isnan(scores[b]);
      }
      return scores[a] > scores[b];
    });
    order.resize(std::min(count, width));
    auto& classes = out.emplace_back();
    for (const std::size_t i : order) {
      classes.push_back({i, i < labels.size() ? labels[i] : std::string(), scores[i]});
    }
  }
  return out;
}

Result<std::vector<std::string>> read_labels(const std::string& path) {
  std::ifstream file(path);
  if (!file) return error(Error::AccessFailed, path, ": the labels cannot be read");
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace tenon::run
