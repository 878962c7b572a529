// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "metal_programs.hpp"
#include "support/aligned_bytes.hpp"
#include "support/program_builder.hpp"

/// Programs for Metal that no exporter wrote.
namespace metal_test {

using namespace tenon::test;

/// Adds the library and the weights of a model: y = x + c0 + c1 + ..., where all elements of
/// constant i are 10^i (mixed_model.cpp).
inline void add_mixed_model(ProgramBuilder& builder, const std::string& places, std::int64_t size) {
  const AlignedBytes library =
      read_file(TENON_TEST_METAL_MODELS "/mixed_" + places + "_" + std::to_string(size) + ".so");
  builder.named_data("forward_so_blob", builder.segment(library.bytes(), 128));
  std::vector<float> weights;
  float value = 1;
  for (std::size_t i = 0; i < places.size(); ++i, value *= 10) {
    weights.insert(weights.end(), static_cast<std::size_t>(size), value);
  }
  builder.named_data("forward_weights_blob",
                     builder.segment(std::as_bytes(std::span(weights)), 128));
}

/// A program with that model.
inline AlignedBytes mixed_program(const std::string& places, std::int64_t size) {
  ProgramBuilder builder;
  PlanBuilder plan = builder.plan("forward");
  const auto payload = builder.inline_blob("");
  const std::int32_t delegate =
      plan.delegate("MetalBackend", schema::DataLocation::INLINE, payload);
  const auto nbytes = static_cast<std::size_t>(size) * sizeof(float);
  const auto sizes = {static_cast<std::int32_t>(size)};
  const std::int32_t x = plan.input(planned_tensor(ScalarType::Float, sizes, 1, 0));
  const std::int32_t y = plan.output(planned_tensor(ScalarType::Float, sizes, 1, nbytes));
  plan.buffer(static_cast<std::int64_t>(2 * nbytes));
  plan.instruction(delegate_call(delegate, {x, y}));
  add_mixed_model(builder, places, size);
  return builder.build();
}

inline Result<std::unique_ptr<host::Method>> load(Host& host, std::span<const std::byte> program,
                                                  host::MethodOptions options = {}) {
  options.registry = &host.registry();
  TENON_TRY(auto opened, host::Program::from_bytes(program, nullptr, "a program"));
  return host::Method::load(std::move(opened), "forward", std::move(options));
}

}  // namespace metal_test
