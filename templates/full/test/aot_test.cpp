// SPDX-License-Identifier: MIT
//
// Tests of the ahead-of-time half, with graphs as an exporter builds them.
#include <map>
#include <string>
#include <tenon/conformance/catch.hpp>
#include <variant>
#include <vector>

#include "aot/compile.hpp"
#include "test/golden.hpp"
#include "test/graphs.hpp"

namespace my_npu::test { namespace {

using namespace tenon::aot;
using tenon::ScalarType;

std::string refusal(EdgeProgramBuilder& graph) {
  const OwnedEdgeProgram program = built(graph);
  const auto code = compile(program.view());
  return code.ok() ? "accepted" : std::string(code.text());
}

TEST_CASE("a graph becomes the code of the golden program") {
  const OwnedEdgeProgram program = golden_graph();
  const auto code = compile(program.view());
  REQUIRE(code.ok());
  CHECK(*code == golden_code());
}

TEST_CASE("the debug handle map names the nodes of the delegate's event") {
  const OwnedEdgeProgram program = golden_graph();
  const auto result = preprocess(program.view(), no_specs);
  REQUIRE(result.ok());
  const auto* handles = result->debug_handle_map.find("my_npu");
  REQUIRE(handles != nullptr);
  CHECK(*handles == std::vector<std::uint32_t>{1, 2, 3, 4});
  CHECK(result->debug_handle_map.size() == 1);
  CHECK(result->delegate_info == "4 instructions");
}

TEST_CASE("unsupported nodes are left to others, and the nodes around them are taken") {
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", matrix);
  const ValueId sum = call(graph, "aten.add.Tensor", x, x);
  const ValueId sine = graph.node("aten.sin.default", {{"self", EdgeRef{sum}}}, matrix);
  graph.user_output(call(graph, "aten.mul.Tensor", sine, sum));
  const OwnedEdgeProgram program = built(graph);
  const auto result = partition(program.view(), no_specs);
  REQUIRE(result.ok());
  CHECK(result->partition_tags.size() == 2);
  CHECK_FALSE(result->tag_of(0).empty());
  CHECK(result->tag_of(1).empty());
  CHECK_FALSE(result->tag_of(2).empty());
  CHECK(result->tag_of(0) != result->tag_of(2));
}

TEST_CASE("tensors of different shapes are never in one partition") {
  EdgeProgramBuilder graph;
  const EdgeTensor row{ScalarType::Float, {1, 3}};
  const ValueId x = graph.user_input("x", matrix);
  const ValueId y = graph.user_input("y", row);
  graph.user_output(relu(graph, x));
  graph.user_output(relu(graph, y, row));
  const OwnedEdgeProgram program = built(graph);
  const auto result = partition(program.view(), no_specs);
  REQUIRE(result.ok());
  CHECK(result->partition_tags.size() == 2);
  CHECK(result->tag_of(0) != result->tag_of(1));
}

TEST_CASE("an error of the compiler names the node and the reason") {
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", matrix);
  SECTION("an operator") {
    graph.user_output(graph.node("aten.sin.default", {{"self", EdgeRef{x}}}, matrix));
    CHECK(refusal(graph) == "node 'sin' (aten.sin.default): the operator is not supported");
  }
  SECTION("a number as an operand") {
    graph.user_output(
        graph.node("aten.add.Tensor", {{"self", EdgeRef{x}}, {"other", 2.0}}, matrix));
    CHECK(refusal(graph) ==
          "node 'add' (aten.add.Tensor): argument 'other': expected a tensor, found 2");
  }
  SECTION("a factor") {
    graph.user_output(graph.node(
        "aten.sub.Tensor",
        {{"self", EdgeRef{x}}, {"other", EdgeRef{x}}, {"alpha", std::int64_t{2}}}, matrix));
    CHECK(refusal(graph) == "node 'sub' (aten.sub.Tensor): argument 'alpha': expected 1, found 2");
  }
  SECTION("operands of different shapes") {
    const ValueId row = graph.user_input("row", {ScalarType::Float, {1, 3}});
    graph.user_output(call(graph, "aten.mul.Tensor", x, row));
    CHECK(refusal(graph) == "'row' has another shape than 'x'");
  }
  SECTION("another dtype") {
    const EdgeTensor half{ScalarType::Half, {4, 3}};
    const ValueId y = graph.user_input("y", half);
    graph.user_output(relu(graph, y, half));
    CHECK(refusal(graph) == "'y' has dtype Half, expected Float");
  }
  SECTION("an output that nothing computes") {
    relu(graph, x);
    graph.user_output(x);
    CHECK(refusal(graph) == "method 'forward': output 0 is not the result of a node");
  }
}

TEST_CASE("an unknown compile spec is refused") {
  const OwnedEdgeProgram program = golden_graph();
  tenon_compile_spec spec{};
  spec.struct_size = sizeof spec;
  spec.key = "speed";
  const tenon::CompileSpecs specs(&spec, 1);
  for (const std::string& text : {std::string(preprocess(program.view(), specs).text()),
                                  std::string(partition(program.view(), specs).text())}) {
    CHECK(text == "compile spec 'speed' is unknown; the backend has none");
  }
}

}}  // namespace my_npu::test
