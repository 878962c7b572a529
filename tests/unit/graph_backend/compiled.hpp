// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aot/preprocess.hpp"
#include "support/catch.hpp"
#include "support/edge_programs.hpp"
#include "support/method_calls.hpp"
#include "tenon/aot.hpp"
#include "tenon/aot/compiler/emit/method_memory.hpp"
#include "tenon/aot/compiler/write/ptd_writer.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/aot/edge_program_builder.hpp"
#include "tenon/host.hpp"

// Another backend for the same graphs is tested by the same tests.
#ifndef TENON_GRAPH_BACKEND_ID
#define TENON_GRAPH_BACKEND_ID "GraphBackend"
#endif

/// From a graph to numbers: compiled by the ahead-of-time half, written as a `.pte`, and run by a
/// host that loads the plugin from its file.
namespace tenon::test {

inline Result<aot::PreprocessResult> compile(const aot::OwnedEdgeProgram& program,
                                             const Specs& specs = {}) {
  const SpecList list(specs);
  return graph_backend::preprocess(program.view(), list.view());
}

inline aot::PreprocessResult compile_ok(const aot::OwnedEdgeProgram& program,
                                        const Specs& specs = {}) {
  auto result = compile(program, specs);
  INFO(result.text());
  REQUIRE(result.ok());
  return *std::move(result);
}

/// The registry that found the plugin at its file.
inline const host::BackendRegistry& graph_registry() {
  static host::BackendRegistry registry;
  static const bool added = registry.register_backend(TENON_GRAPH_BACKEND_PLUGIN).ok();
  REQUIRE(added);
  return registry;
}

/// A tensor of a program whose one delegate has it as an argument.
inline aot::TensorValue tensor_value(const aot::EdgeValue& value) {
  aot::TensorValue out;
  out.layout.scalar_type = value.scalar_type();
  for (std::size_t i = 0; i < value.rank(); ++i) {
    out.layout.sizes.push_back(static_cast<std::int32_t>(value.size(i).max));
  }
  out.data = aot::storage::Planned{};
  out.is_dynamic = !value.is_static();
  return out;
}

/// The whole program as one call of the blob.
inline aot::ProgramData one_delegate(const aot::EdgeProgram& edge,
                                     const aot::PreprocessResult& compiled) {
  aot::ProgramData program;
  program.named_data = compiled.data_store_output;
  aot::MethodData& method = program.methods.emplace_back();
  for (const aot::ValueId id : edge.inputs()) {
    method.inputs.push_back(method.add(tensor_value(edge.value(id))));
  }
  for (std::size_t i = 0; i < edge.num_outputs(); ++i) {
    method.outputs.push_back(method.add(tensor_value(edge.value(edge.output(i).value))));
  }
  aot::DelegateCall call;
  call.delegate_index = method.add_delegate({TENON_GRAPH_BACKEND_ID, compiled.processed_bytes, {}});
  call.args = method.inputs;
  call.args.insert(call.args.end(), method.outputs.begin(), method.outputs.end());
  method.instructions.emplace_back(std::move(call));
  REQUIRE(aot::plan_method_memory(method).ok());
  return program;
}

inline std::shared_ptr<const host::Program> write_and_open(const aot::ProgramData& data) {
  const auto image = aot::make_pte(data);
  INFO(image.text());
  REQUIRE(image.ok());
  auto bytes = std::make_shared<std::vector<std::byte>>(image->bytes());
  auto program = host::Program::from_bytes(*bytes, bytes, "test.pte");
  INFO(program.text());
  REQUIRE(program.ok());
  return *std::move(program);
}

inline Result<std::unique_ptr<host::Method>> load(const aot::ProgramData& data,
                                                  host::MethodOptions options = {}) {
  options.registry = &graph_registry();
  return host::Method::load(write_and_open(data), "forward", std::move(options));
}

inline std::unique_ptr<host::Method> load_ok(const aot::OwnedEdgeProgram& program,
                                             const Specs& specs = {},
                                             host::MethodOptions options = {}) {
  auto method = load(one_delegate(program.view(), compile_ok(program, specs)), std::move(options));
  INFO(method.text());
  REQUIRE(method.ok());
  return *std::move(method);
}

/// Numbers as bytes of a parameter.
inline aot::SharedBytes bytes_of(const std::vector<float>& values) {
  return aot::SharedBytes::copy_of(std::as_bytes(std::span(values)));
}

}  // namespace tenon::test
