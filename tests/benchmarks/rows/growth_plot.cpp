// SPDX-License-Identifier: MIT
#include "growth_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace tenon::bench {
namespace {

/// The numbers of delegates and of kernels; threads are written in the title of their curve.
constexpr std::array<int, 4> points{1, 10, 100, 1000};

/// A curve of the picture: the rows whose names begin with `prefix`.
struct Curve {
  const char* prefix;
  bool is_stock;
  const char* title;
  const char* color;
};

constexpr std::array<Curve, 5> curves{
    {{"a delegate call, delegates", true, "delegates, stock", "#b45309"},
     {"a delegate call, delegates", false, "delegates, ours", "#1d4ed8"},
     {"a kernel call, kernels", true, "kernels, stock", "#f59e0b"},
     {"a kernel call, kernels", false, "kernels, ours", "#60a5fa"},
     {"a delegate call, threads", false, "threads (1, 2, 4, 8), ours", "#15803d"}}};

}  // namespace

std::string growth_plot(const std::vector<Row>& rows) {
  constexpr double width = 640, height = 360, left = 60, right = 210, top = 20, bottom = 40;
  double largest = 1;
  for (const Row& row : rows) {
    for (const auto& side : {row.stock, row.ours}) {
      if (side) largest = std::max(largest, side->minimum);
    }
  }
  const auto x_of = [&](std::size_t i) {
    return left + (width - left - right) * static_cast<double>(i) / (points.size() - 1);
  };
  const auto y_of = [&](double ns) {
    return height - bottom - (height - top - bottom) * ns / largest;
  };
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      width, height);
  for (int i = 0; i <= 4; ++i) {
    const double ns = largest * i / 4;
    out += fmt::format(
        "<path d=\"M{0} {1:.1f}H{2}\" stroke=\"#ddd\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5:.0f} ns</text>\n",
        left, y_of(ns), width - right, left - 6, y_of(ns) + 4, ns);
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x_of(i),
                       height - bottom + 18, points[i]);
  }
  double line = top + 10;
  for (const Curve& curve : curves) {
    std::string path;
    std::size_t at = 0;
    for (const Row& row : rows) {
      if (!row.what.starts_with(curve.prefix)) continue;
      const auto& side = curve.is_stock ? row.stock : row.ours;
      if (side) {
        path +=
            fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_of(at), y_of(side->minimum));
      }
      ++at;
    }
    if (path.empty()) continue;
    out += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/><text x=\"{}\" y=\"{}\" "
        "fill=\"{}\">{}</text>\n",
        path, curve.color, width - right + 12, line, curve.color, curve.title);
    line += 20;
  }
  return out + "</svg>\n";
}

}  // namespace tenon::bench
