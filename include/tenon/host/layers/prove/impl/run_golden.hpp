// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/layers/arrays/array.hpp"
#include "tenon/host/layers/arrays/compare_arrays.hpp"
#include "tenon/host/layers/arrays/exported_value.hpp"
#include "tenon/host/layers/arrays/output_memory.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/layers/prove/golden.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The memory of a method whose cases are run: outputs stay set, so it lives as long as the method.
struct GoldenMemory {
  std::deque<ArrayBytes> outputs;
};

/// The memory of `prove`, which stays with the method.
struct GoldenMemoryPart final : MethodPart {
  static constexpr char key = 0;
  explicit GoldenMemoryPart(MethodState&) noexcept {}
  [[nodiscard]] const void* kind() const noexcept override { return &key; }
  GoldenMemory memory;
};

/// "312 of 1000 elements differ, worst 0.91 at [3, 1]: found 1.9, expected 1"; empty when none
/// does.
[[nodiscard]] inline std::string golden_difference(const ArrayView& found,
                                                   const GoldenTensor& expected) {
  const Comparison compared = compare_arrays(found, expected.view(), expected.tolerance);
  if (compared.equal) return {};
  if (!compared.difference.empty()) return compared.difference;
  std::string out = concat(compared.num_mismatches, " of ", compared.num_elements,
                           compared.num_elements == 1 ? " element" : " elements",
                           compared.num_mismatches == 1 ? " differs" : " differ");
  if (const auto& worst = compared.largest_absolute) {
    out += concat(", worst ", short_text(worst->absolute), " at ", shape_text(worst->index),
                  ": found ", worst->found, ", expected ", worst->expected);
  }
  return out;
}

/// Sets the inputs of `one`, and confirms what is no tensor. `copies` is memory for the run.
[[nodiscard]] inline Status set_golden_inputs(Method& method, const GoldenCase& one,
                                              std::deque<ArrayBytes>& copies) {
  for (std::size_t i = 0; i < method.num_inputs(); ++i) {
    const tenon_value& value = method.input(i);
    if (value.kind == TENON_VALUE_TENSOR || value.kind == TENON_VALUE_NONE) continue;
    TENON_RETURN_IF_ERROR(method.set_input(i, exported_value(value)));
  }
  for (const GoldenTensor& input : one.inputs) {
    Status set = set_array(method, input.index, input.view(), copies.emplace_back());
    if (!set.ok()) {
      return error(Error::InvalidProgram, golden_key, " does not fit the method: ", set.text());
    }
  }
  return ok();
}

/// Runs one case. Returns how its outputs differ, which is empty when they are right.
[[nodiscard]] inline Result<std::string> run_golden_case(Method& method, const GoldenCase& one) {
  std::deque<ArrayBytes> copies;
  TENON_RETURN_IF_ERROR(set_golden_inputs(method, one, copies));
  TENON_RETURN_IF_ERROR(method.execute());
  for (const GoldenTensor& expected : one.outputs) {
    if (expected.index >= method.num_outputs()) {
      return error(Error::InvalidProgram, golden_key, " does not fit the method: output ",
                   expected.index, ", and the method has ", method.num_outputs());
    }
    TENON_TRY(const Array found, copy_output(method, expected.index));
    std::string difference = golden_difference(found.view(), expected);
    if (!difference.empty()) return concat("output ", expected.index, ": ", difference);
  }
  return std::string();
}

/// Runs the cases of `name` in their order, up to the first with a wrong output.
///
/// errors: InvalidProgram for a case that does not fit; what a run fails with. The text names the
/// case.
[[nodiscard]] inline Result<std::string> run_golden(Method& method, std::string_view name,
                                                    const GoldenCases& golden,
                                                    GoldenMemory& memory) {
  TENON_RETURN_IF_ERROR(set_outputs(method, HostLimits::none, [&](std::size_t nbytes) {
    return memory.outputs.emplace_back(nbytes).data();
  }));
  std::size_t number = 0;
  for (const GoldenCase& one : golden.cases) {
    if (one.method != name) continue;
    auto difference = run_golden_case(method, one);
    const std::string place = concat("golden case ", number++);
    if (!difference.ok()) return std::move(difference).status().with_context(place);
    if (!difference->empty()) return concat(place, ": ", *difference);
  }
  return std::string();
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
