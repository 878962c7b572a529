// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/prove/compare_layers.hpp"
#include "tenon/host/layers/prove/golden.hpp"
#include "tenon/host/layers/prove/impl/run_golden.hpp"
#include "tenon/host/layers/variants/variant.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/method/options.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The first run of the cases with a wrong output, or the last run.
struct RecordedProof {
  RecordedRun run;
  std::size_t number = 0;  ///< Of the run.
  bool is_right = false;
};

/// Loads the method, and records what it computes in run `last`, or in the first wrong one.
[[nodiscard]] inline Result<RecordedProof> record_proof(const MethodState& method,
                                                        const MethodOptions& options,
                                                        const GoldenCases& golden,
                                                        std::size_t last) {
  GoldenMemory memory;
  TENON_TRY(const auto loaded, Method::load(method.program, method.name, options));
  TENON_TRY(std::vector<Intermediate> known, loaded->intermediates());
  std::vector<std::size_t> all(known.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  TENON_RETURN_IF_ERROR(loaded->record_intermediates(all));
  RecordedProof out;
  GoldenCases one;
  for (const GoldenCase& each : golden.cases) {
    if (each.method != method.name) continue;
    one.cases = {each};
    TENON_TRY(const std::string difference, run_golden(*loaded, method.name, one, memory));
    out.is_right = difference.empty();
    if (!out.is_right || out.number == last) break;
    ++out.number;
  }
  TENON_TRY(out.run, recorded_run(*loaded, std::move(known)));
  return out;
}

/// "; first layer that differs: linear_2 (Gemm)", found by another variant of the method whose
/// outputs are right. Empty where there is none, or nothing by which layers are matched.
[[nodiscard]] inline std::string first_layer_text(const MethodState& method,
                                                  const GoldenCases& golden,
                                                  const MethodOptions& options) {
  const auto all = Variants::of(*method.program);
  const std::string_view own = method.variant();
  if (!all.ok() || own.empty()) return {};
  const auto found = record_proof(method, options, golden, SIZE_MAX);
  if (!found.ok() || found->is_right || found->run.tensors.empty()) return {};
  for (const ProgramVariant& variant : all->of_method(method.name)) {
    if (variant.name == own) continue;
    MethodOptions others = method.options;
    others.layers = options.layers.without<Variant>();
    others.layers.add(Variant(std::string(variant.name)));
    const auto expected = record_proof(method, others, golden, found->number);
    if (!expected.ok() || !expected->is_right) continue;
    const auto report = compare_layers(found->run, expected->run, false, {});
    if (!report.ok() || !report->first) continue;
    return concat("; first layer that differs: ", report->layers[*report->first].title());
  }
  return {};
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
