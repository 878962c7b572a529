// SPDX-License-Identifier: MIT
//
// Which nodes are chosen, and the blob that they become.
#include <array>
#include <set>
#include <string>
#include <variant>

#include "aot/options.hpp"
#include "lowering.hpp"

using namespace openvino_aot_test;

namespace {

ValueId unary(EdgeProgramBuilder& graph, std::string_view target, ValueId x,
              const EdgeTensor& tensor) {
  return graph.node(target, {{"self", EdgeRef{x}}}, tensor);
}

OwnedEdgeProgram linear_program() {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {2, 3}});
  const auto weight = parameter(graph, "weight", {f32, {4, 3}});
  graph.user_output(graph.node(
      "aten.linear.default", {{"input", EdgeRef{x}}, {"weight", EdgeRef{weight}}}, {f32, {2, 4}}));
  return build_ok(std::move(graph));
}

tenon::Result<tenon::aot::PreprocessResult> compile(const OwnedEdgeProgram& program,
                                                    const Specs& specs = {}) {
  const SpecList list(specs);
  return openvino_backend::preprocess(program.view(), list.view());
}

}  // namespace

TEST_CASE("a blob has the IR, and the key of weights among the named data", "[openvino]") {
  const auto program = linear_program();
  const auto compiled = compile(program);
  REQUIRE(compiled.ok());
  const auto blob = openvino_backend::read_ir_blob(compiled->processed_bytes.bytes());
  REQUIRE(blob.ok());
  CHECK(blob->xml.find("type=\"MatMul\"") != std::string_view::npos);
  const auto& data = compiled->data_store_output;
  REQUIRE(data.pte_data.size() == 1);
  CHECK(data.external_data.empty());
  CHECK(data.pte_data[0].key == blob->key);
  CHECK(data.pte_data[0].entry.alignment == openvino_backend::weights_alignment);
  CHECK(data.buffers[0].size() == blob->weights_size);
  CHECK(blob->key.starts_with("openvino/"));

  const auto again = compile(program);
  REQUIRE(again.ok());
  CHECK(std::ranges::equal(again->processed_bytes.bytes(), compiled->processed_bytes.bytes()));
}

TEST_CASE("weights are stored in a file of their own on request", "[openvino]") {
  const auto program = linear_program();
  const auto compiled = compile(program, {{"weights", "external"}, {"external_tag", "big"}});
  REQUIRE(compiled.ok());
  CHECK(compiled->data_store_output.pte_data.empty());
  REQUIRE(compiled->data_store_output.external_data.size() == 1);
  CHECK(compiled->data_store_output.external_data[0].tag == "big");
}

TEST_CASE("a model without weights has no key", "[openvino]") {
  EdgeProgramBuilder graph;
  const EdgeTensor row{f32, {4}};
  graph.user_output(unary(graph, "aten.relu.default", graph.user_input("x", row), row));
  const auto program = build_ok(std::move(graph));
  const auto compiled = compile(program);
  REQUIRE(compiled.ok());
  const auto blob = openvino_backend::read_ir_blob(compiled->processed_bytes.bytes());
  REQUIRE(blob.ok());
  CHECK(blob->key.empty());
  CHECK(blob->weights_size == 0);
  CHECK(compiled->data_store_output.pte_data.empty());
}

TEST_CASE("profiled layers map to the nodes of the program", "[openvino]") {
  EdgeProgramBuilder graph;
  const EdgeTensor row{f32, {4}};
  const auto relu = unary(graph, "aten.relu.default", graph.user_input("x", row), row);
  graph.user_output(graph.node("aten.add.Tensor",
                               {{"self", EdgeRef{relu}}, {"other", 1.0}, {"alpha", 2.0}}, row));
  const auto program = build_ok(std::move(graph));
  const auto compiled = compile(program);
  REQUIRE(compiled.ok());
  tenon::aot::DebugHandleMap expected;
  expected.add("relu", std::array{1u});
  expected.add("add", std::array{2u});
  expected.add("add/Multiply", std::array{2u});
  CHECK(compiled->debug_handle_map == expected);
}

TEST_CASE("options are checked before anything is chosen or compiled", "[openvino]") {
  const auto program = linear_program();
  const auto fails = [&](const Specs& specs) {
    const SpecList list(specs);
    const auto chosen = openvino_backend::partition(program.view(), list.view());
    const auto compiled = openvino_backend::preprocess(program.view(), list.view());
    REQUIRE_FALSE(compiled.ok());
    CHECK(chosen.error() == compiled.error());
    return compiled.error();
  };
  CHECK(fails({{"speed", "high"}}) == Error::NotFound);
  CHECK(fails({{"weights", "inline"}}) == Error::InvalidArgument);
  CHECK(fails({{"external_tag", "a/b"}}) == Error::InvalidArgument);
  CHECK(fails({{"device", "CPU"}, {"device", "GPU"}}) == Error::InvalidArgument);
  CHECK(fails({{"inference_precision", "f128"}}) == Error::InvalidArgument);
  CHECK(fails({{"num_streams", "many"}}) == Error::InvalidArgument);

  const auto result = partition_ok(program, {{"inference_precision", "bf16"}});
  const auto& specs = result.partition_tags.begin()->second.compile_specs;
  REQUIRE(specs.size() == 1);
  CHECK(specs[0].key == "inference_precision");
}

TEST_CASE("weights without data are refused, and not while nodes are chosen", "[openvino]") {
  EdgeProgramBuilder graph;
  const EdgeTensor row{f32, {4}};
  const auto x = graph.user_input("x", row);
  const auto weight = graph.stored(EdgeOrigin::Parameter, "w", "w", row, {});
  graph.user_output(
      graph.node("aten.mul.Tensor", {{"self", EdgeRef{x}}, {"other", EdgeRef{weight}}}, row));
  const auto program = build_ok(std::move(graph));
  CHECK_FALSE(partition_ok(program).tag_of(0).empty());
  const auto compiled = compile(program);
  CHECK(compiled.error() == Error::InvalidProgram);
  CHECK(compiled.text().find("expected 16 bytes of data, found 0") != std::string_view::npos);
}

TEST_CASE("nodes of other backends separate partitions", "[openvino][TN-AOT-5]") {
  EdgeProgramBuilder graph;
  const EdgeTensor row{f32, {4}};
  const auto x = graph.user_input("x", row);
  const auto relu = unary(graph, "aten.relu.default", x, row);
  const auto other = unary(graph, "acme.warp.default", relu, row);
  graph.user_output(unary(graph, "aten.exp.default", other, row));
  const auto program = build_ok(std::move(graph));
  const auto result = partition_ok(program);
  CHECK(result.tag_of(1).empty());
  CHECK(result.tag_of(0) != result.tag_of(2));
  CHECK(compile_all(program) == 2);
}

TEST_CASE("a number that two partitions read is made by neither", "[openvino][TN-AOT-5]") {
  EdgeProgramBuilder graph;
  const Size n(1, 4, "s0");
  const EdgeTensor cube{f32, {n, 2, 3}};
  const EdgeTensor flat{f32, {6, n}};
  const auto x = graph.user_input("x", cube);
  const auto count =
      graph.node_symbol("aten.sym_size.int", {{"self", EdgeRef{x}}, {"dim", std::int64_t{0}}},
                        tenon::aot::EdgeValueKind::SymInt, n);
  const auto view = [&](ValueId value) {
    return graph.node(
        "aten.view.default",
        {{"self", EdgeRef{value}}, {"size", EdgeInts({6, 0}, {tenon::aot::no_value, count})}},
        flat);
  };
  const auto other = unary(graph, "acme.warp.default", view(x), flat);
  graph.user_output(view(other));
  const auto program = build_ok(std::move(graph));
  CHECK(partition_ok(program).tag_of(0).empty());
  CHECK(compile_all(program) == 2);
}

TEST_CASE("integers of the caller are used as indices only", "[openvino][TN-AOT-5]") {
  EdgeProgramBuilder graph;
  const EdgeTensor tokens{i64, {2, 3}};
  const EdgeTensor flat{i64, {6}};
  const auto x = graph.user_input("x", tokens);
  const auto weight = parameter(graph, "weight", {f32, {8, 4}});
  const auto moved =
      graph.node("aten.view.default", {{"self", EdgeRef{x}}, {"size", EdgeInts({6})}}, flat);
  const auto found =
      graph.node("aten.embedding.default",
                 {{"weight", EdgeRef{weight}}, {"indices", EdgeRef{moved}}}, {f32, {6, 4}});
  graph.user_output(found);
  SECTION("an index may be moved before") {
    const auto program = build_ok(std::move(graph));
    CHECK_FALSE(partition_ok(program).tag_of(0).empty());
    CHECK(compile_all(program) == 1);
  }
  SECTION("a sum of them is left to others") {
    graph.user_output(graph.node("aten.add.Tensor",
                                 {{"self", EdgeRef{moved}}, {"other", std::int64_t{1}}}, flat));
    const auto program = build_ok(std::move(graph));
    const auto result = partition_ok(program);
    CHECK(result.tag_of(2).empty());
    CHECK(result.tag_of(0).empty());
    CHECK_FALSE(result.tag_of(1).empty());
    CHECK(compile_all(program) == 1);
  }
  SECTION("moved ones are not given back") {
    graph.user_output(moved);
    CHECK(partition_ok(build_ok(std::move(graph))).tag_of(0).empty());
  }
  SECTION("positions are counted") {
    const auto count = graph.node("aten.arange.start_step",
                                  {{"start", std::int64_t{0}}, {"end", std::int64_t{6}}}, flat);
    graph.user_output(graph.node("aten.add.Tensor",
                                 {{"self", EdgeRef{count}}, {"other", std::int64_t{1}}}, flat));
    const auto program = build_ok(std::move(graph));
    const auto result = partition_ok(program);
    CHECK_FALSE(result.tag_of(2).empty());
    CHECK_FALSE(result.tag_of(3).empty());
  }
}

TEST_CASE("a result that is not used does not matter", "[openvino]") {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {1, 1, 4, 4}});
  const auto y = graph.node_output("y", {f32, {1, 1, 2, 2}});
  const auto at = graph.node_output("at", {i64, {1, 1, 2, 2}});
  graph.add_node("pool", "aten.max_pool2d_with_indices.default",
                 {{"self", EdgeRef{x}}, {"kernel_size", EdgeInts({2, 2})}}, {y, at});
  graph.user_output(y);
  CHECK(compile_all(build_ok(std::move(graph))) == 1);
}

TEST_CASE("another order in memory stays inside a partition", "[openvino][TN-AOT-5]") {
  EdgeProgramBuilder graph;
  const EdgeTensor plain{f32, {2, 3}};
  const EdgeTensor turned{f32, {2, 3}, {1, 0}};
  const auto x = graph.user_input("x", plain);
  const auto clone = graph.node("aten.clone.default", {{"self", EdgeRef{x}}}, turned);
  const auto relu = unary(graph, "aten.relu.default", clone, plain);
  graph.user_output(relu);
  SECTION("inside") {
    const auto program = build_ok(std::move(graph));
    CHECK_FALSE(partition_ok(program).tag_of(0).empty());
    CHECK(compile_all(program) == 1);
  }
  SECTION("given back") {
    graph.user_output(clone);
    const auto program = build_ok(std::move(graph));
    const auto result = partition_ok(program);
    CHECK(result.tag_of(0).empty());
    CHECK(result.tag_of(1).empty());
    CHECK(compile(program).error() == Error::NotSupported);
  }
}

TEST_CASE("changes of buffers are refused", "[openvino][TN-AOT-5]") {
  EdgeProgramBuilder graph;
  const EdgeTensor row{f32, {4}};
  const auto x = graph.user_input("x", row);
  const auto buffer = graph.stored(EdgeOrigin::Buffer, "b", "b", row, bytes_of(ramp(4)));
  const auto sum =
      graph.node("aten.add.Tensor", {{"self", EdgeRef{x}}, {"other", EdgeRef{buffer}}}, row);
  graph.mutation(buffer, sum);
  graph.user_output(sum);
  const auto program = build_ok(std::move(graph));
  const auto compiled = compile(program);
  CHECK(compiled.error() == Error::NotSupported);
  CHECK(compiled.text().find("changes a buffer") != std::string_view::npos);
}

TEST_CASE("an exporter keeps what OpenVINO has an operation for", "[openvino]") {
  const auto program = linear_program();
  const auto kept = openvino_backend::ops_to_not_decompose(program.view());
  CHECK(kept == std::vector<std::string>{"aten.linear.default"});
}
