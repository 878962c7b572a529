// SPDX-License-Identifier: MIT
#include "layers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/tensor.hpp"
#include "tool.hpp"

namespace tenon::run {
namespace {

std::string short_number(double value) {
  char digits[32];
  return {digits,
          std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 3).ptr};
}

double largest_of(const std::optional<host::Mismatch>& mismatch, double host::Mismatch::* which) {
  return mismatch ? (*mismatch).*which : 0;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string handle_text(const Layer& layer) {
  if (layer.is_output) return concat("out ", layer.handle);
  if (layer.debug_handle) return concat(*layer.debug_handle);
  return layer.delegate ? concat(*layer.delegate, ":", layer.handle) : concat("-:", layer.handle);
}

std::string title_of(const Layer& layer) { return printable(layer.title()); }

}  // namespace

std::string layers_text(const LayersReport& report) {
  constexpr std::size_t most = 60;  // The whole list is in the JSON object.
  std::string out = concat(
      "layers: ", report.layers.size(), " compared with ", printable(report.reference), " by ",
      report.matched_by == "debug_handle" ? "debug handle" : report.matched_by.c_str(), ", ",
      report.only_here, " only here, ", report.only_in_reference, " only in the reference\n");
  std::size_t widths[] = {6, 4, 5};
  const std::size_t begin =
      report.first && *report.first >= most ? *report.first + 1 - most / 2 : 0;
  const std::size_t end = std::min(report.layers.size(), begin + most);
  for (std::size_t i = begin; i < end; ++i) {
    const Layer& layer = report.layers[i];
    widths[0] = std::max(widths[0], handle_text(layer).size());
    widths[1] = std::max(widths[1], title_of(layer).size());
    widths[2] = std::max(widths[2], shape_text(layer.shape).size());
  }
  out += concat("  ", padded("handle", widths[0]), "  ", padded("node", widths[1]), "  ",
                padded("shape", widths[2]), "  max abs   max rel   of largest\n");
  for (std::size_t i = begin; i < end; ++i) {
    const Layer& layer = report.layers[i];
    const host::Comparison& compared = layer.comparison;
    out += concat(report.first == i ? "> " : "  ", padded(handle_text(layer), widths[0]), "  ",
                  padded(title_of(layer), widths[1]), "  ",
                  padded(shape_text(layer.shape), widths[2]), "  ");
    if (!compared.difference.empty()) {
      out += concat(compared.difference, "\n");
      continue;
    }
    out +=
        padded(short_number(largest_of(compared.largest_absolute, &host::Mismatch::absolute)), 8) +
        "  ";
    out +=
        padded(short_number(largest_of(compared.largest_relative, &host::Mismatch::relative)), 8) +
        "  ";
    out += concat(short_number(compared.peak), layer.equal ? "\n" : "  differs\n");
  }
  if (end - begin < report.layers.size()) {
    out += concat("  ", report.layers.size() - (end - begin), " more are in --json\n");
  }
  if (!report.first) return out + "all layers agree\n";
  const Layer& first = report.layers[*report.first];
  out +=
      concat("first layer that differs: ", title_of(first), ", handle ", handle_text(first), "\n");
  return out;
}

std::string layers_svg(const LayersReport& report) {
  // Differences below the lowest power of ten are drawn as the axis, those above the highest as it.
  constexpr int lowest = -10;
  constexpr int highest = 2;
  constexpr double left = 60;
  constexpr double top = 40;
  constexpr double height = 260;
  const auto count = static_cast<double>(report.layers.size());
  const double step = std::clamp(900.0 / count, 3.0, 40.0);
  const double width = step * count;
  const auto y_of = [](double power) {
    return top +
           height * (highest - std::clamp<double>(power, lowest, highest)) / (highest - lowest);
  };
  const auto text = [](double x, double y, std::string_view anchor, std::string_view content) {
    std::string escaped;
    for (const char c : content) {
      c == '<'   ? escaped += "&lt;"
      : c == '>' ? escaped += "&gt;"
      : c == '&' ? escaped += "&amp;"
                 : escaped += c;
    }
    return concat("<text x=\"", short_number(x), "\" y=\"", short_number(y), "\" text-anchor=\"",
                  anchor, "\">", escaped, "</text>\n");
  };
  const auto coordinate = [](double value) { return concat(std::round(value * 10) / 10); };
  const auto line = [&](double y, std::string_view style) {
    return concat("<line x1=\"", coordinate(left), "\" y1=\"", coordinate(y), "\" x2=\"",
                  coordinate(left + width), "\" y2=\"", coordinate(y), "\" ", style, "/>\n");
  };
  std::string out = concat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", coordinate(left + width + 20),
      "\" height=\"", coordinate(top + height + 60),
      "\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n");
  out += text(left, 20, "start",
              report.first
                  ? concat("first layer that differs: ", title_of(report.layers[*report.first]))
                  : std::string("all layers agree"));
  for (int power = lowest; power <= highest; power += 2) {
    out += line(y_of(power), "stroke=\"#dddddd\"");
    out += text(left - 6, y_of(power) + 4, "end", concat("1e", power));
  }
  if (!report.tolerance.rtol && !report.tolerance.atol) {
    out += line(y_of(std::log10(LayerTolerance::max_peak)),
                "stroke=\"#888888\" stroke-dasharray=\"4 3\"");
  }
  for (std::size_t i = 0; i < report.layers.size(); ++i) {
    const Layer& layer = report.layers[i];
    const bool is_known = layer.comparison.difference.empty();
    const double peak = is_known ? layer.comparison.peak : std::pow(10, highest);
    const double y = peak > 0 ? y_of(std::log10(peak)) : y_of(lowest);
    const double bottom = y_of(lowest);
    out += concat("<rect x=\"", coordinate(left + static_cast<double>(i) * step), "\" y=\"",
                  coordinate(std::min(y, bottom - 1)), "\" width=\"", coordinate(step * 0.8),
                  "\" height=\"", coordinate(std::max(bottom - y, 1.0)), "\" fill=\"",
                  report.first == i ? "#c62828"
                  : layer.equal     ? "#2e7d32"
                                    : "#ef9a9a",
                  "\"><title>");
    const std::string title =
        concat(handle_text(layer), " ", title_of(layer), ": ", short_number(peak));
    for (const char c : title) {
      c == '<' ? out += "&lt;" : c == '>' ? out += "&gt;" : c == '&' ? out += "&amp;" : out += c;
    }
    out += "</title></rect>\n";
  }
  out += text(left, top + height + 24, "start",
              "layers in the order of the run; largest difference over the largest value");
  return out + "</svg>\n";
}

}  // namespace tenon::run
