// SPDX-License-Identifier: MIT
//
// The ahead-of-time half: graphs as an exporter makes them go in, partitions and blobs come out.
#include <string>
#include <tenon/conformance/catch.hpp>
#include <variant>
#include <vector>

#include "aot/compile.hpp"
#include "test/golden.hpp"
#include "test/programs.hpp"

namespace my_npu::test {
namespace {

using namespace tenon::aot;
using tenon::ScalarType;

const EdgeTensor matrix{ScalarType::Float, {4, 3}};
const tenon::CompileSpecs no_specs(nullptr, 0);

ValueId call(EdgeProgramBuilder& graph, const char* target, ValueId self, ValueId other,
             const EdgeTensor& result = matrix) {
  return graph.node(target, {{"self", EdgeRef{self}}, {"other", EdgeRef{other}}}, result);
}
ValueId relu(EdgeProgramBuilder& graph, ValueId self, const EdgeTensor& result = matrix) {
  return graph.node("aten.relu.default", {{"self", EdgeRef{self}}}, result);
}

OwnedEdgeProgram built(EdgeProgramBuilder& graph) {
  auto program = std::move(graph).build();
  REQUIRE(program.ok());
  return *std::move(program);
}

/// What the golden program was exported from.
OwnedEdgeProgram golden_graph() {
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

std::string refusal(EdgeProgramBuilder& graph) {
  const OwnedEdgeProgram program = built(graph);
  const auto code = compile(program.view());
  return code.ok() ? "accepted" : std::string(code.text());
}

TEST_CASE("a graph becomes the blob of the golden program") {
  const OwnedEdgeProgram program = golden_graph();
  const auto result = preprocess(program.view(), no_specs);
  REQUIRE(result.ok());
  const auto blob = read_blob(result->processed_bytes.bytes());
  REQUIRE(blob.ok());
  CHECK(*blob == golden_code());

  const auto file = read_file(golden_folder() / "relu_of_sums" / "model.pte");
  const auto golden = open_program(file);
  REQUIRE(golden.ok());
  REQUIRE((*golden)->num_segments() == 1);
  CHECK(std::ranges::equal((*golden)->segment(0), result->processed_bytes.bytes()));
}

TEST_CASE("a profiler learns which nodes the delegate's event stands for") {
  const OwnedEdgeProgram program = golden_graph();
  const auto result = preprocess(program.view(), no_specs);
  REQUIRE(result.ok());
  using ByName = std::map<std::string, std::vector<std::uint32_t>>;
  const auto* handles = std::get_if<ByName>(&result->debug_handle_map);
  REQUIRE(handles != nullptr);
  CHECK(*handles == ByName{{"my_npu", {1, 2, 3, 4}}});
  CHECK(result->delegate_info == "4 instructions");
}

TEST_CASE("the plugin offers its ahead-of-time half to tools") {
  tenon::host::BackendRegistry registry;
  REQUIRE(registry.register_backend(MY_NPU_PLUGIN).ok());
  const auto backend = registry.lookup_backend("MyNpuBackend");
  REQUIRE(backend.ok());
  CHECK((*backend)->extension<tenon_preprocess_v1>(TENON_EXTENSION_PREPROCESS).has_value());
}

TEST_CASE("what was compiled gives the numbers of the graph") {
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", matrix);
  const ValueId y = graph.user_input("y", matrix);
  graph.user_output(call(graph, "aten.sub.Tensor", relu(graph, x), y));
  const OwnedEdgeProgram program = built(graph);
  const auto code = compile(program.view());
  REQUIRE(code.ok());
  tenon::host::BackendRegistry registry;
  REQUIRE(registry.register_backend(MY_NPU_PLUGIN).ok());
  auto opened = open_program(program_file(*code, {4, 3}));
  REQUIRE(opened.ok());
  auto method = tenon::host::Method::load(*opened, "forward", {.registry = &registry});
  REQUIRE(method.ok());
  std::vector<float> first(12), second(12), expected(12);
  for (std::size_t i = 0; i < first.size(); ++i) {
    first[i] = static_cast<float>(i) - 6;
    second[i] = 0.5F * static_cast<float>(i);
    expected[i] = (first[i] < 0 ? 0 : first[i]) - second[i];
  }
  const auto outputs = run(**method, {first, second}, {4, 3});
  REQUIRE(outputs.ok());
  CHECK(outputs->front() == expected);
}

TEST_CASE("nodes that are not supported are left to others, and the rest is taken around them") {
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

TEST_CASE("tensors of different shapes never share a partition") {
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

TEST_CASE("what cannot be compiled is refused with the node and the reason") {
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", matrix);
  SECTION("an operator") {
    graph.user_output(graph.node("aten.sin.default", {{"self", EdgeRef{x}}}, matrix));
    CHECK(refusal(graph) == "node 'sin' (aten.sin.default): the operator is not supported");
  }
  SECTION("a number as an operand") {
    graph.user_output(
        graph.node("aten.add.Tensor", {{"self", EdgeRef{x}}, {"other", 2.0}}, matrix));
    CHECK(refusal(graph) == "node 'add' (aten.add.Tensor): argument 'other' is no tensor");
  }
  SECTION("a factor") {
    graph.user_output(graph.node(
        "aten.sub.Tensor",
        {{"self", EdgeRef{x}}, {"other", EdgeRef{x}}, {"alpha", std::int64_t{2}}}, matrix));
    CHECK(refusal(graph) == "node 'sub' (aten.sub.Tensor): alpha is not 1");
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
    CHECK(refusal(graph) == "method 'forward': output 0 is no result of a node");
  }
}

TEST_CASE("a compile spec that nobody knows is refused") {
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

}  // namespace
}  // namespace my_npu::test
