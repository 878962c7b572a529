// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "error_json.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tool.hpp"

namespace tenon::run {
namespace {

using host::detail::short_text;

// Keys stay in the order in which the schema lists them.
using Json = nlohmann::ordered_json;

// JSON has no infinity and no NaN.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json number(const std::optional<std::uint64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string_view status_name(const Report& report) {
  if (!report.failure.ok()) return "error";
  return report.code == ExitCode::failed ? "differs" : "ok";
}

Json to_json(const host::Mismatch& mismatch) {
  return {{"index", mismatch.index},
          {"found", mismatch.found},
          {"expected", mismatch.expected},
          {"absolute", number(mismatch.absolute)},
          {"relative", number(mismatch.relative)}};
}

Json to_json(const std::optional<host::Mismatch>& mismatch) {
  return mismatch ? to_json(*mismatch) : Json(nullptr);
}

Json to_json(const host::Comparison& comparison) {
  Json first = Json::array();
  for (const host::Mismatch& mismatch : comparison.first) first.push_back(to_json(mismatch));
  return {{"equal", comparison.equal},
          {"rtol", comparison.tolerance.rtol},
          {"atol", comparison.tolerance.atol},
          {"difference", text_or_null(comparison.difference)},
          {"num_elements", comparison.num_elements},
          {"num_mismatches", comparison.num_mismatches},
          {"largest_absolute", to_json(comparison.largest_absolute)},
          {"largest_relative", to_json(comparison.largest_relative)},
          {"first", std::move(first)}};
}

Json to_json(const std::vector<std::vector<ClassScore>>& top) {
  if (top.empty()) return nullptr;
  Json rows = Json::array();
  for (const auto& row : top) {
    Json classes = Json::array();
    for (const ClassScore& each : row) {
      classes.push_back({{"index", each.index},
                         {"label", text_or_null(each.label)},
                         {"score", number(each.score)}});
    }
    rows.push_back(std::move(classes));
  }
  return rows;
}

Json to_json(const OutputReport& output) {
  Json json = {{"kind", output.kind},
               {"dtype", output.dtype ? Json(name_of(*output.dtype)) : Json(nullptr)},
               {"shape", output.dtype ? Json(output.shape) : Json(nullptr)},
               {"text", output.text},
               {"top", to_json(output.top)},
               {"file", text_or_null(output.file)},
               {"compare", nullptr}};
  if (output.comparison) {
    json["compare"] = to_json(*output.comparison);
    json["compare"]["file"] = output.expected_file;
  }
  return json;
}

Json to_json(const Layer& layer) {
  Json json = {{"debug_handle", layer.debug_handle ? Json(*layer.debug_handle) : Json(nullptr)},
               {"node", text_or_null(layer.node)},
               {"name", layer.name},
               {"delegate", layer.delegate ? Json(*layer.delegate) : Json(nullptr)},
               {"handle", layer.handle},
               {"dtype", name_of(layer.type)},
               {"shape", layer.shape},
               {"equal", layer.equal},
               {"peak", number(layer.comparison.peak)},
               {"compare", to_json(layer.comparison)}};
  return json;
}

Json to_json(const std::optional<LayersReport>& report, const std::string& plot) {
  if (!report) return nullptr;
  Json layers = Json::array();
  for (const Layer& layer : report->layers) layers.push_back(to_json(layer));
  return {{"reference", report->reference},
          {"matched_by", report->matched_by},
          {"first", report->first ? Json(*report->first) : Json(nullptr)},
          {"only_here", report->only_here},
          {"only_in_reference", report->only_in_reference},
          {"plot", text_or_null(plot)},
          {"layers", std::move(layers)}};
}

Json to_json(const std::vector<host::DelegateBytes>& held) {
  Json out = Json::array();
  for (const host::DelegateBytes& each : held) {
    out.push_back({{"device", host::device_name(each.device)},
                   {"weights", each.weights},
                   {"workspace", each.workspace},
                   {"session", each.session}});
  }
  return out;
}

Json to_json(const std::optional<host::MethodMemory>& memory) {
  if (!memory) return nullptr;
  Json planned = Json::array();
  for (const host::DeviceBytes& entry : memory->planned) {
    planned.push_back({{"device", host::device_name(entry.device)}, {"bytes", entry.nbytes}});
  }
  Json delegates = Json::array();
  for (const host::DelegateMemory& delegate : memory->delegates) {
    Json reported = nullptr;
    if (delegate.is_reported) reported = to_json(delegate.held);
    delegates.push_back({{"backend", delegate.backend_id},
                         {"lent", delegate.lent},
                         {"reported", std::move(reported)}});
  }
  Json backends = Json::array();
  for (const host::BackendMemory& each : memory->backends) {
    backends.push_back({{"backend", each.backend_id}, {"reported", to_json(each.held)}});
  }
  return {{"host_bytes", memory->host_bytes()}, {"planned", std::move(planned)},
          {"tables", memory->tables},           {"temp", memory->temp},
          {"delegates", std::move(delegates)},  {"backends", std::move(backends)}};
}

/// "; on CPU weights 1, workspace 2, session 3" for each device.
std::string held_text(const std::vector<host::DelegateBytes>& held) {
  std::string out;
  for (const host::DelegateBytes& each : held) {
    out += concat("; on ", host::device_name(each.device), " weights ", each.weights,
                  ", workspace ", each.workspace, ", session ", each.session);
  }
  return out;
}

std::string memory_text(const host::MethodMemory& memory) {
  std::string out = concat("memory: ", memory.host_bytes(), " bytes on CPU (");
  for (const host::DeviceBytes& entry : memory.planned) {
    out += concat("planned", host::is_cpu(entry.device) ? "" : " on ",
                  host::is_cpu(entry.device) ? std::string() : host::device_name(entry.device), " ",
                  entry.nbytes, ", ");
  }
  out += concat("tables ", memory.tables, ", temp ", memory.temp, ")\n");
  for (std::size_t i = 0; i < memory.delegates.size(); ++i) {
    const host::DelegateMemory& delegate = memory.delegates[i];
    out +=
        concat("  delegate ", i, " (", printable(delegate.backend_id), "): lent ", delegate.lent);
    out += held_text(delegate.held);
    if (!delegate.is_reported) out += ", not reported";
    out += "\n";
  }
  for (const host::BackendMemory& each : memory.backends) {
    if (each.held.empty()) continue;
    out +=
        concat("  shared by delegates of ", printable(each.backend_id), held_text(each.held), "\n");
  }
  return out;
}

// "12.3 ms": three digits are enough to read, and all that a single run is good for.
std::string duration(std::uint64_t nanoseconds) {
  struct Unit {
    double size;
    std::string_view name;
  };
  constexpr Unit units[] = {{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}};
  const auto value = static_cast<double>(nanoseconds);
  for (const Unit& unit : units) {
    if (value < unit.size) continue;
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value / unit.size,
                                   std::chars_format::fixed, value < 100 * unit.size ? 2 : 0)
                         .ptr;
    return concat(std::string_view(digits, end), unit.name);
  }
  return concat(nanoseconds, " ns");
}

std::string timings_text(const Timings& timings) {
  const Spread execute = spread_of(timings.execute_ns);
  std::string out = concat("time: open ", duration(timings.open_ns), ", backends ",
                           duration(timings.backends_ns), ", load ", duration(timings.load_ns));
  if (timings.init_ns) out += concat(" (init ", duration(*timings.init_ns), ")");
  out += concat(", execute ", duration(execute.min));
  const std::size_t count = timings.execute_ns.size();
  if (count > 1) out += concat(" (min of ", count, ", median ", duration(execute.median), ")");
  return out + "\n";
}

std::string score_text(double score) {
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, score, std::chars_format::general, 6).ptr;
  return std::string(digits, end);
}

std::string output_text(const OutputReport& output, std::size_t index) {
  std::string out = concat("output ", index, ": ", output.type);
  if (!output.text.empty()) out += concat(": ", printable(output.text));
  out += "\n";
  for (std::size_t row = 0; row < output.top.size(); ++row) {
    if (output.top.size() > 1) out += concat("  row ", row, "\n");
    for (const ClassScore& each : output.top[row]) {
      out += concat("  class ", each.index);
      if (!each.label.empty()) out += concat(" (", printable(each.label), ")");
      out += concat(": ", std::string_view(score_text(each.score)), "\n");
    }
  }
  if (output.comparison) {
    out += concat("  ", printable(output.expected_file), ": ");
    for (const char c : report(*output.comparison)) {
      out += c;
      if (c == '\n') out += "  ";
    }
    out += "\n";
  }
  if (!output.file.empty()) out += concat("  written to ", printable(output.file), "\n");
  return out;
}

std::string mismatch_line(const host::Mismatch& mismatch) {
  return concat("at ", shape_text(mismatch.index), " found ", mismatch.found, ", expected ",
                mismatch.expected);
}

}  // namespace

std::string to_text(const Report& report) {
  std::string out =
      concat(printable(report.program), ": method ", printable(report.method),
             report.variant.empty() ? "" : ", variant ", printable(report.variant), "\n");
  for (std::size_t i = 0; i < report.inputs.size(); ++i) {
    const InputReport& input = report.inputs[i];
    out += concat("input ", i, ": ", input.type, " from ", printable(input.file), "\n");
  }
  for (std::size_t i = 0; i < report.outputs.size(); ++i) {
    out += output_text(report.outputs[i], i);
  }
  if (report.memory) out += memory_text(*report.memory);
  if (report.layers) {
    out += layers_text(*report.layers);
    if (!report.plot.empty()) {
      out += concat("  drawn in ", printable(report.plot), "\n");
    }
  }
  return out + timings_text(report.timings);
}

std::string to_json(const Report& report) {
  Json plugins = Json::array();
  for (const PluginReport& plugin : report.plugins) {
    plugins.push_back({{"file", plugin.path},
                       {"name", plugin.name},
                       {"version", plugin.version},
                       {"backends", plugin.backends}});
  }
  Json inputs = Json::array();
  for (const InputReport& input : report.inputs) {
    inputs.push_back(
        {{"file", input.file}, {"dtype", name_of(input.dtype)}, {"shape", input.shape}});
  }
  Json outputs = Json::array();
  for (const OutputReport& output : report.outputs) outputs.push_back(to_json(output));

  const Spread execute = spread_of(report.timings.execute_ns);
  const Json json = {{"status", status_name(report)},
                     {"exit_code", static_cast<int>(report.code)},
                     {"error", tool::error_json(report.failure)},
                     {"program", report.program},
                     {"method", text_or_null(report.method)},
                     {"variant", text_or_null(report.variant)},
                     {"plugins", std::move(plugins)},
                     {"inputs", std::move(inputs)},
                     {"outputs", std::move(outputs)},
                     {"timings",
                      {{"open_ns", report.timings.open_ns},
                       {"backends_ns", report.timings.backends_ns},
                       {"load_ns", report.timings.load_ns},
                       {"init_ns", number(report.timings.init_ns)},
                       {"execute",
                        {{"count", report.timings.execute_ns.size()},
                         {"min_ns", execute.min},
                         {"median_ns", execute.median}}}}},
                     {"layers", to_json(report.layers, report.plot)},
                     {"memory", to_json(report.memory)},
                     {"warnings", report.warnings}};
  // Names come from files and need not be UTF-8.
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

Spread spread_of(std::vector<std::uint64_t> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return {*std::ranges::min_element(values), *middle};
}

std::string report(const host::Comparison& comparison) {
  if (!comparison.difference.empty()) return "differs: " + comparison.difference;
  const std::string tolerance = concat("rtol ", short_text(comparison.tolerance.rtol), ", atol ",
                                       short_text(comparison.tolerance.atol));
  const auto largest = [&](std::string_view kind, double value) {
    return concat("largest ", kind, " difference ", short_text(value));
  };
  if (comparison.equal) {
    if (!comparison.largest_absolute) {
      return concat("equal: ", comparison.num_elements, " elements, no difference");
    }
    return concat("equal: ", comparison.num_elements, " elements within ", tolerance, "; ",
                  largest("absolute", comparison.largest_absolute->absolute));
  }
  const double percent = 100.0 * static_cast<double>(comparison.num_mismatches) /
                         static_cast<double>(comparison.num_elements);
  std::string out = concat("differs: ", comparison.num_mismatches, " of ", comparison.num_elements,
                           " elements (", short_text(percent), " %) beyond ", tolerance);
  if (comparison.largest_absolute) {
    out += concat("\n  ", largest("absolute", comparison.largest_absolute->absolute), " ",
                  mismatch_line(*comparison.largest_absolute));
  }
  if (comparison.largest_relative) {
    out += concat("\n  ", largest("relative", comparison.largest_relative->relative), " ",
                  mismatch_line(*comparison.largest_relative));
  }
  for (const host::Mismatch& mismatch : comparison.first) out += "\n  " + mismatch_line(mismatch);
  const std::uint64_t more = comparison.num_mismatches - comparison.first.size();
  if (more > 0) out += concat("\n  and ", more, " more");
  return out;
}

}  // namespace tenon::run
