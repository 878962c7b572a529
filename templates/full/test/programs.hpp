// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <tenon/conformance/record_program.hpp>
#include <tenon/host.hpp>
#include <utility>
#include <vector>

#include "common/blob.hpp"
#include "common/id.hpp"

namespace my_npu::test {

/// A program with one delegate of this backend for `blob`. Its inputs and outputs are float32
/// tensors with `bounds` as their largest sizes, or as fixed sizes unless `is_dynamic`.
inline std::vector<std::byte> program_file(std::vector<std::byte> blob, std::size_t num_inputs,
                                           std::size_t num_outputs,
                                           const std::vector<std::int32_t>& bounds,
                                           bool is_dynamic = false) {
  tenon::conformance::RecordedTensor tensor;
  tensor.bounds = bounds;
  for (std::size_t d = 0; d < bounds.size(); ++d) {
    tensor.dim_order.push_back(static_cast<std::uint8_t>(d));
  }
  tensor.shape_dynamism = is_dynamic ? TENON_SHAPE_DYNAMIC_BOUND : TENON_SHAPE_STATIC;
  tensor.is_planned = true;
  tenon::conformance::RecordedProgram program;
  program.backend_id = backend_id;
  program.blob = std::move(blob);
  for (std::size_t i = 0; i < num_inputs + num_outputs; ++i) {
    program.arguments.push_back({tensor, i >= num_inputs});
  }
  return tenon::conformance::write_program(program);
}

inline std::vector<std::byte> program_file(const Code& code,
                                           const std::vector<std::int32_t>& bounds,
                                           bool is_dynamic = false) {
  return program_file(write_blob(code), code.num_inputs, code.outputs.size(), bounds, is_dynamic);
}

/// Opens a program in memory, at an address that is aligned for its elements.
inline tenon::Result<std::shared_ptr<const tenon::host::Program>> open_program(
    const std::vector<std::byte>& file) {
  auto copy = std::make_shared<tenon::host::ArrayBytes>(file.size());
  std::memcpy(copy->data(), file.data(), file.size());
  const auto bytes = copy->span();
  return tenon::host::Program::from_bytes(bytes, std::move(copy), "program");
}

/// Runs the method "forward" once. All inputs have the sizes `sizes`. Returns the elements of each
/// output.
inline tenon::Result<std::vector<std::vector<float>>> run(
    tenon::host::Method& method, const std::vector<std::vector<float>>& inputs,
    const std::vector<std::int64_t>& sizes) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TENON_RETURN_IF_ERROR(method.set_input(
        i, {tenon::ScalarType::Float, sizes, std::as_bytes(std::span(inputs[i]))}));
  }
  TENON_RETURN_IF_ERROR(method.execute());
  std::vector<std::vector<float>> out;
  for (std::size_t i = 0; i < method.num_outputs(); ++i) {
    TENON_TRY(const auto output, method.output<float>(i));
    out.emplace_back(output.begin(), output.end());
  }
  return out;
}

}  // namespace my_npu::test
