// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/prove/compare_layers.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// By this a layer is found in the other run: the delegate (-1 for none; unused with a debug
/// handle), the handle, which of the results, and the how manieth time.
using LayerKey = std::tuple<std::int64_t, std::int64_t, std::size_t, std::size_t>;

[[nodiscard]] inline bool has_debug_handles(const RecordedRun& run) {
  return std::ranges::any_of(run.known, [](const auto& one) { return !one.debug_handles.empty(); });
}

/// The keys of the tensors of a run; nothing for a step of no node.
[[nodiscard]] inline std::vector<std::optional<LayerKey>> keys_of_layers(const RecordedRun& run,
                                                                         bool by_debug_handle) {
  std::map<LayerKey, std::size_t> times;
  std::vector<std::optional<LayerKey>> out;
  for (const IntermediateTensor& tensor : run.tensors) {
    const Intermediate& one = run.known[tensor.intermediate];
    if (by_debug_handle && one.debug_handles.empty()) {
      out.emplace_back();
      continue;
    }
    const std::int64_t delegate =
        one.delegate && !by_debug_handle ? static_cast<std::int64_t>(*one.delegate) : -1;
    LayerKey key{delegate, by_debug_handle ? one.debug_handles.back() : one.handle, one.result, 0};
    std::get<3>(key) = times[key]++;
    out.emplace_back(key);
  }
  return out;
}

[[nodiscard]] inline ArrayView view_of(const IntermediateTensor& tensor) {
  return {tensor.type, tensor.shape, tensor.data};
}

/// Compares the two and judges them.
inline void compare_layer(ComparedLayer& layer, const IntermediateTensor& found,
                          const IntermediateTensor& expected, const LayerTolerance& tolerance) {
  const Tolerance by_type = default_tolerance(expected.type);
  const bool is_given = tolerance.rtol || tolerance.atol;
  layer.comparison = compare_arrays(
      view_of(found), view_of(expected),
      {tolerance.rtol.value_or(by_type.rtol), tolerance.atol.value_or(by_type.atol)});
  layer.equal = layer.comparison.equal;
  const bool is_inexact = by_type.rtol != 0;
  if (!is_given && is_inexact && layer.comparison.difference.empty()) {
    layer.equal = layer.comparison.peak <= LayerTolerance::max_peak;
  }
}

}  // namespace detail

std::string ComparedLayer::title() const {
  return node.empty() ? name : concat(node, " (", name, ")");
}

Result<RecordedRun> recorded_run(const Method& method, std::vector<Intermediate> known) {
  RecordedRun out{std::move(known), {}, {}};
  const auto tensors = method.recorded_intermediates();
  out.tensors.assign(tensors.begin(), tensors.end());
  for (std::size_t i = 0; i < method.num_outputs(); ++i) {
    if (method.output(i).kind != TENON_VALUE_TENSOR) continue;
    TENON_TRY(const Array array, copy_output(method, i));
    const auto bytes = array.data.span();
    out.outputs.push_back({i, array.type, array.shape, {bytes.begin(), bytes.end()}});
  }
  return out;
}

Result<LayersReport> compare_layers(const RecordedRun& found, const RecordedRun& expected,
                                    bool same_program, const LayerTolerance& tolerance) {
  LayersReport report;
  report.tolerance = tolerance;
  const auto add = [&](ComparedLayer layer, const IntermediateTensor& tensor,
                       const IntermediateTensor& other) {
    layer.type = tensor.type;
    layer.shape = tensor.shape;
    detail::compare_layer(layer, tensor, other, tolerance);
    if (!layer.equal && !report.first) report.first = report.layers.size();
    report.layers.push_back(std::move(layer));
  };
  const bool by_debug_handle =
      detail::has_debug_handles(found) && detail::has_debug_handles(expected);
  const bool outputs_alone = found.tensors.empty() || expected.tensors.empty();
  if (!outputs_alone && !by_debug_handle && !same_program) {
    return error(Error::InvalidArgument,
                 "the layers of two programs are matched by debug handles, and ",
                 detail::has_debug_handles(found) ? "the reference" : "the program",
                 " has none: tenon-compile stores them with --debug-handles");
  }
  report.matched_by = outputs_alone ? "output" : by_debug_handle ? "debug_handle" : "step";
  std::map<detail::LayerKey, const IntermediateTensor*> by_key;
  const auto expected_keys = detail::keys_of_layers(expected, by_debug_handle);
  for (std::size_t i = 0; i < expected_keys.size(); ++i) {
    if (expected_keys[i]) by_key.emplace(*expected_keys[i], &expected.tensors[i]);
  }
  const auto found_keys = detail::keys_of_layers(found, by_debug_handle);
  for (std::size_t i = 0; i < found_keys.size(); ++i) {
    const auto other = found_keys[i] ? by_key.find(*found_keys[i]) : by_key.end();
    if (other == by_key.end()) {
      ++report.only_here;
      continue;
    }
    const Intermediate& one = found.known[found.tensors[i].intermediate];
    ComparedLayer layer;
    if (by_debug_handle) layer.debug_handle = one.debug_handles.back();
    if (!one.nodes.empty()) layer.node = one.nodes.back();
    layer.name = one.name;
    layer.delegate = one.delegate;
    layer.handle = one.handle;
    add(std::move(layer), found.tensors[i], *other->second);
  }
  report.only_in_reference = expected.tensors.size() - report.layers.size();
  if (!report.layers.empty() || outputs_alone) {
    for (const IntermediateTensor& output : found.outputs) {
      const auto other = std::ranges::find(expected.outputs, output.intermediate,
                                           &IntermediateTensor::intermediate);
      if (other == expected.outputs.end()) continue;
      ComparedLayer layer;
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

}}}  // namespace tenon::TENON_RELEASE::host
