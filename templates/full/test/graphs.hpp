// SPDX-License-Identifier: MIT
#pragma once

#include <tenon/aot.hpp>
#include <tenon/aot/edge_program_builder.hpp>
#include <tenon/conformance/catch.hpp>
#include <utility>

/// Graphs as an exporter builds them.
namespace my_npu::test {

using tenon::ScalarType;
using tenon::aot::EdgeProgramBuilder;
using tenon::aot::EdgeRef;
using tenon::aot::EdgeTensor;
using tenon::aot::OwnedEdgeProgram;
using tenon::aot::ValueId;

inline const EdgeTensor matrix{ScalarType::Float, {4, 3}};
inline const tenon::CompileSpecs no_specs(nullptr, 0);

inline ValueId call(EdgeProgramBuilder& graph, const char* target, ValueId self, ValueId other,
                    const EdgeTensor& result = matrix) {
  return graph.node(target, {{"self", EdgeRef{self}}, {"other", EdgeRef{other}}}, result);
}
inline ValueId relu(EdgeProgramBuilder& graph, ValueId self, const EdgeTensor& result = matrix) {
  return graph.node("aten.relu.default", {{"self", EdgeRef{self}}}, result);
}

inline OwnedEdgeProgram built(EdgeProgramBuilder& graph) {
  auto program = std::move(graph).build();
  REQUIRE(program.ok());
  return *std::move(program);
}

/// The graph of the golden program.
inline OwnedEdgeProgram golden_graph() {
  EdgeProgramBuilder graph;
  const EdgeTensor dynamic{ScalarType::Float, {EdgeTensor::Size(0, 4, "s0"), 3}};
  const ValueId a = graph.user_input("a", dynamic);
  const ValueId b = graph.user_input("b", dynamic);
  const ValueId c = graph.user_input("c", dynamic);
  const ValueId product = call(graph, "aten.mul.Tensor", a, b, dynamic);
  const ValueId sum = call(graph, "aten.add.Tensor", product, c, dynamic);
  const ValueId positive = relu(graph, sum, dynamic);
  graph.user_output(positive);
  graph.user_output(call(graph, "aten.sub.Tensor", positive, c, dynamic));
  return built(graph);
}

}  // namespace my_npu::test
