// SPDX-License-Identifier: MIT
#include "layers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/tensor.hpp"
#include "tool.hpp"

namespace tenon::run {
namespace {

/// By this a layer is found in the other run: the delegate (-1 for none; unused with a debug
/// handle), the handle, which of the results, and the how manieth time.
using Key = std::tuple<std::int64_t, std::int64_t, std::size_t, std::size_t>;

[[nodiscard]] bool has_debug_handles(const RecordedRun& run) {
  return std::ranges::any_of(run.known, [](const auto& one) { return !one.debug_handles.empty(); });
}

/// The keys of the tensors of a run; nothing for a step of no node.
std::vector<std::optional<Key>> keys_of(const RecordedRun& run, bool by_debug_handle) {
  std::map<Key, std::size_t> times;
  std::vector<std::optional<Key>> out;
  for (const host::IntermediateTensor& tensor : run.tensors) {
    const host::Intermediate& one = run.known[tensor.intermediate];
    if (by_debug_handle && one.debug_handles.empty()) {
      out.emplace_back();
      continue;
    }
    const std::int64_t delegate =
        one.delegate && !by_debug_handle ? static_cast<std::int64_t>(*one.delegate) : -1;
    Key key{delegate, by_debug_handle ? one.debug_handles.back() : one.handle, one.result, 0};
    std::get<3>(key) = times[key]++;
    out.emplace_back(key);
  }
  return out;
}

host::ArrayView view_of(const host::IntermediateTensor& tensor) {
  return {tensor.type, tensor.shape, tensor.data};
}

/// Compares the two and judges them.
void compare(Layer& layer, const host::IntermediateTensor& found,
             const host::IntermediateTensor& expected, const LayerTolerance& tolerance) {
  const host::Tolerance by_type = host::default_tolerance(expected.type);
  const bool is_given = tolerance.rtol || tolerance.atol;
  layer.comparison = host::compare_arrays(
      view_of(found), view_of(expected),
      {tolerance.rtol.value_or(by_type.rtol), tolerance.atol.value_or(by_type.atol)});
  layer.equal = layer.comparison.equal;
  const bool is_inexact = by_type.rtol != 0;
  if (!is_given && is_inexact && layer.comparison.difference.empty()) {
    layer.equal = layer.comparison.peak <= LayerTolerance::max_peak;
  }
}

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

std::string title_of(const Layer& layer) {
  return printable(layer.node.empty() ? layer.name : concat(layer.node, " (", layer.name, ")"));
}

}  // namespace

Result<LayersReport> compare_layers(const RecordedRun& found, const RecordedRun& expected,
                                    bool same_program, const LayerTolerance& tolerance) {
  LayersReport report;
  report.tolerance = tolerance;
  const auto add = [&](Layer layer, const host::IntermediateTensor& tensor,
                       const host::IntermediateTensor& other) {
    layer.type = tensor.type;
    layer.shape = tensor.shape;
    compare(layer, tensor, other, tolerance);
    if (!layer.equal && !report.first) report.first = report.layers.size();
    report.layers.push_back(std::move(layer));
  };
  const bool by_debug_handle = has_debug_handles(found) && has_debug_handles(expected);
  const bool outputs_alone = found.tensors.empty() || expected.tensors.empty();
  if (!outputs_alone && !by_debug_handle && !same_program) {
    return error(Error::InvalidArgument,
                 "the layers of two programs are matched by debug handles, and ",
                 has_debug_handles(found) ? "the reference" : "the program",
                 " has none: tenon-compile stores them with --debug-handles");
  }
  report.matched_by = outputs_alone ? "output" : by_debug_handle ? "debug_handle" : "step";
  std::map<Key, const host::IntermediateTensor*> by_key;
  const auto expected_keys = keys_of(expected, by_debug_handle);
  for (std::size_t i = 0; i < expected_keys.size(); ++i) {
    if (expected_keys[i]) by_key.emplace(*expected_keys[i], &expected.tensors[i]);
  }
  const auto found_keys = keys_of(found, by_debug_handle);
  for (std::size_t i = 0; i < found_keys.size(); ++i) {
    const auto other = found_keys[i] ? by_key.find(*found_keys[i]) : by_key.end();
    if (other == by_key.end()) {
      ++report.only_here;
      continue;
    }
    const host::Intermediate& one = found.known[found.tensors[i].intermediate];
    Layer layer;
    if (by_debug_handle) layer.debug_handle = one.debug_handles.back();
    if (!one.nodes.empty()) layer.node = one.nodes.back();
    layer.name = one.name;
    layer.delegate = one.delegate;
    layer.handle = one.handle;
    add(std::move(layer), found.tensors[i], *other->second);
  }
  report.only_in_reference = expected.tensors.size() - report.layers.size();
  if (!report.layers.empty() || outputs_alone) {
    for (const host::IntermediateTensor& output : found.outputs) {
      const auto other = std::ranges::find(expected.outputs, output.intermediate,
                                           &host::IntermediateTensor::intermediate);
      if (other == expected.outputs.end()) continue;
      Layer layer;
      layer.name = concat("output ", output.intermediate);
      layer.handle = static_cast<std::int64_t>(output.intermediate);
      layer.is_output = true;
      add(std::move(layer), output, *other);
    }
  }
  if (!report.layers.empty()) return report;
  return error(Error::InvalidArgument,
               "the program and the reference have no layer in common: ", found.tensors.size(),
               " and ", expected.tensors.size(),
               " intermediate results; backends give theirs with extension tenon.intermediates/1");
}

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
