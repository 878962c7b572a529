// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tenon/aot/edge_program_builder.hpp"
#include "tenon/aot/owned_edge_program.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// A tensor with its elements, dense and row-major.
struct RecordedTensor {
  ScalarType type = ScalarType::Float;
  std::vector<std::int64_t> sizes;
  std::vector<std::byte> bytes;
};

/// One call of an operator in one dtype, and PyTorch's result
/// (tests/live/exporters/coverage_programs.py).
struct RecordedCall {
  std::string name;   ///< "aten.add.Tensor".
  std::string dtype;  ///< "float32": of the tensors whose dtype the operator leaves open.
  bool core = false;  ///< In the core ATen set.
  std::vector<std::pair<std::string, std::string>> arguments;  ///< Names, and values as JSON.
  std::vector<RecordedTensor> tensors;
  RecordedTensor expected;             ///< The first result.
  std::vector<RecordedTensor> others;  ///< Further results, without elements.

  /// Whether tensor `index` is a parameter of the program and not an input.
  [[nodiscard]] bool is_parameter(std::size_t index) const;
  /// The program that makes the call. Its inputs are the tensors that are no parameters.
  [[nodiscard]] Result<aot::OwnedEdgeProgram> program() const;
};

/// All recorded calls, by operator and then dtype.
/// errors: Internal for records that are damaged.
[[nodiscard]] Result<std::vector<RecordedCall>> recorded_calls();

}}}  // namespace tenon::TENON_RELEASE::conformance
