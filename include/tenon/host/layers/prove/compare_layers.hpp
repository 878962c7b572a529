// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/arrays/compare_arrays.hpp"
#include "tenon/host/layers/trace/intermediates.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

class Method;

/// The intermediate results of one run.
struct RecordedRun {
  std::vector<Intermediate> known;
  std::vector<IntermediateTensor> tensors;
  std::vector<IntermediateTensor> outputs;  ///< `intermediate` is the number of the output.
};

/// How far a layer may be from its reference. Without a number of the caller's, that is by the
/// largest difference over the largest value of the layer: `max_peak`.
struct LayerTolerance {
  static constexpr double max_peak = 1e-3;

  std::optional<double> rtol;
  std::optional<double> atol;
};

/// One layer that both runs computed.
struct ComparedLayer {
  /// The debug handle of the node whose result it is; absent when the runs were matched by the
  /// handles of the backend.
  std::optional<std::uint32_t> debug_handle;
  std::string node;  ///< In the exported program; may be empty.
  std::string name;  ///< The step as the backend calls it, or an operator.
  std::optional<std::size_t> delegate;
  std::int64_t handle = 0;  ///< Of the backend, or the number of the instruction.
  ScalarType type = ScalarType::Float;
  std::vector<std::int64_t> shape;
  Comparison comparison;
  bool equal = false;
  bool is_output = false;  ///< Output number `handle` of the method.

  /// "linear_2 (Gemm)".
  [[nodiscard]] std::string title() const;
};

/// The comparison of two runs of a model, layer by layer.
struct LayersReport {
  std::string reference;  ///< A path, which the caller fills in.
  LayerTolerance tolerance;
  std::string matched_by;             ///< "debug_handle", "step", or "output": outputs alone.
  std::vector<ComparedLayer> layers;  ///< In the order of the run that is judged.
  std::optional<std::size_t> first;   ///< The first of them that differs.
  std::size_t only_here = 0;          ///< Tensors of this run without a counterpart.
  std::size_t only_in_reference = 0;
};

/// The intermediate results of the method's last run, which recorded all of `known`, and its
/// outputs that are tensors.
///
/// errors: as `copy_output`.
[[nodiscard]] Result<RecordedRun> recorded_run(const Method& method,
                                               std::vector<Intermediate> known);

/// Compares what `found` and `expected` have in common: results of one node of the exported
/// program, where both programs have debug handles; else, in runs of `same_program`, of one step. A
/// step that runs more than once is compared each time. Outputs are the last layers, and the only
/// ones when one of the runs has no intermediate result.
///
/// errors: InvalidArgument when they have nothing in common, with what to do.
[[nodiscard]] Result<LayersReport> compare_layers(const RecordedRun& found,
                                                  const RecordedRun& expected, bool same_program,
                                                  const LayerTolerance& tolerance);

}}}  // namespace tenon::TENON_RELEASE::host
