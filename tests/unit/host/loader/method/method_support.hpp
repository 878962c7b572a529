// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/method_calls.hpp"
#include "support/program_builder.hpp"
#include "tenon/host.hpp"
#include "tenon/host/schema/program_generated.h"
#include "test_backend.hpp"

namespace tenon::test {

/// A registry that knows the backends of test_backend.cpp.
inline const host::BackendRegistry& test_registry() {
  static host::BackendRegistry registry;
  static const bool added = registry.register_backend(tenon_static_plugin_TestBackend).ok();
  REQUIRE(added);
  return registry;
}

inline host::MethodOptions with_registry() {
  host::MethodOptions options;
  options.registry = &test_registry();
  return options;
}

inline std::shared_ptr<const host::Program> open_program(const ProgramBuilder& builder) {
  auto bytes = std::make_shared<AlignedBytes>(builder.build());
  auto program = host::Program::from_bytes(std::as_const(*bytes).bytes(), bytes, "test.pte");
  INFO(program.text());
  REQUIRE(program.ok());
  return *std::move(program);
}

inline Result<std::unique_ptr<host::Method>> load(const ProgramBuilder& builder,
                                                  host::MethodOptions options = with_registry()) {
  return host::Method::load(open_program(builder), "forward", std::move(options));
}

inline std::unique_ptr<host::Method> load_ok(const ProgramBuilder& builder,
                                             host::MethodOptions options = with_registry()) {
  auto method = load(builder, std::move(options));
  INFO(method.text());
  REQUIRE(method.ok());
  return *std::move(method);
}

/// Program with `blobs.size()` delegates of the test backend, called in order on one input and one
/// output of four floats.
inline ProgramBuilder chain_of(const std::vector<std::string>& blobs,
                               const std::string& id = "Test") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(32);
  const auto x = plan.input(planned_tensor(ScalarType::Float, {4}, memory, 0));
  const auto y = plan.output(planned_tensor(ScalarType::Float, {4}, memory, 16));
  for (const std::string& blob : blobs) {
    const auto segment = builder.segment(bytes_of(blob));
    const auto delegate = plan.delegate(id, schema::DataLocation::SEGMENT, segment);
    plan.instruction(delegate_call(delegate, {x, y}));
  }
  return builder;
}

}  // namespace tenon::test
