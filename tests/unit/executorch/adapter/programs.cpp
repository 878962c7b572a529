// SPDX-License-Identifier: MIT
#include "unit/executorch/adapter/programs.hpp"

#include <array>
#include <cstring>

#include "support/device_program.hpp"
#include "support/program_builder.hpp"
#include "unit/host/layers/data/data_file_builder.hpp"

namespace tenon::test {

AlignedBytes chain_of(const std::vector<std::string>& blobs, const ChainOptions& options) {
  ProgramBuilder builder;
  builder.constants({});  // ExecuTorch takes a program without the segment for an old one.
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(32);
  auto in = planned_tensor(ScalarType::Float, {4}, memory, 0);
  auto out = planned_tensor(ScalarType::Float, {4}, memory, 16);
  if (options.dynamic) {
    in.shape_dynamism = out.shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
  }
  const auto x = plan.input(std::move(in));
  const auto y = plan.output(std::move(out));
  for (const std::string& blob : blobs) {
    const auto segment = builder.segment(bytes_of(blob));
    const auto delegate = plan.delegate(options.id, schema::DataLocation::SEGMENT, segment);
    plan.instruction(delegate_call(delegate, {x, y}));
  }
  for (const auto& [key, value] : options.compile_specs) plan.compile_spec(0, key, value);
  for (const auto& [key, data] : options.named_data) {
    builder.named_data(key, builder.segment(bytes_of(data)));
  }
  return builder.build();
}

AlignedBytes data_file() {
  DataFileBuilder builder;
  const std::array<float, 2> values{1, 2};
  std::string bytes(sizeof values, '\0');
  std::memcpy(bytes.data(), values.data(), sizeof values);
  builder.tensor("weights", ScalarType::Float, {2, 1}, bytes);
  return builder.build();
}

AlignedBytes program_on_device() {
  ProgramBuilder builder = resident_program(false);
  builder.constants({});
  return builder.build();
}

}  // namespace tenon::test
