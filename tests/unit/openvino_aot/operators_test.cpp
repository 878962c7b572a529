// SPDX-License-Identifier: MIT
//
// Operators that are lowered, operators that are refused, and the table of both in the pages.
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "lowering.hpp"

using namespace openvino_aot_test;

namespace {

std::vector<std::span<const openvino_backend::OperatorRow>> all_operators() {
  using namespace openvino_backend;
  return {elementwise_operators(), comparison_operators(), linear_operators(),
          make_operators(),        move_operators(),       recurrent_operators(),
          reduction_operators(),   shape_operators(),      vision_operators()};
}

/// The reason why a node is refused; "" when it is not.
std::string refusal(const OwnedEdgeProgram& program, std::size_t node = 0) {
  const auto status = openvino_backend::supports(program.view(), program.view().node(node));
  if (status.ok()) return {};
  CHECK(status.error() == Error::NotSupported);
  return std::string(status.text());
}

bool contains(std::string_view text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("a linear layer is a product with the transposed weight and a sum", "[openvino]") {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {2, 3}});
  const auto weight = parameter(graph, "weight", {f32, {4, 3}});
  const auto bias = parameter(graph, "bias", {f32, {4}});
  const auto program = one_node(
      std::move(graph), "aten.linear.default",
      {{"input", EdgeRef{x}}, {"weight", EdgeRef{weight}}, {"bias", EdgeRef{bias}}}, {f32, {2, 4}});
  const Ir ir = lower_ok(program);
  CHECK(types_of(ir) == "Parameter MatMul Add Result");
  CHECK(attribute(layer_of(ir, "MatMul"), "transpose_b") == "true");
  CHECK(constant_input<float>(ir, layer_of(ir, "MatMul"), 1) == ramp(12));
  CHECK(layer_of(ir, "Add").name == "linear");
}

TEST_CASE("a grouped convolution has a dimension of groups", "[openvino]") {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {1, 4, 9, 9}});
  const auto weight = parameter(graph, "weight", {f32, {6, 2, 3, 3}});
  const auto program = one_node(std::move(graph), "aten.convolution.default",
                                {{"input", EdgeRef{x}},
                                 {"weight", EdgeRef{weight}},
                                 {"bias", std::monostate{}},
                                 {"stride", EdgeInts({2, 2})},
                                 {"padding", EdgeInts({1, 1})},
                                 {"dilation", EdgeInts({1, 1})},
                                 {"transposed", false},
                                 {"output_padding", EdgeInts({0, 0})},
                                 {"groups", std::int64_t{2}}},
                                {f32, {1, 6, 5, 5}});
  const Ir ir = lower_ok(program);
  CHECK(types_of(ir) == "Parameter Reshape GroupConvolution Result");
  CHECK(constant_input<std::int64_t>(ir, layer_of(ir, "Reshape"), 1) ==
        std::vector<std::int64_t>{2, 3, 2, 3, 3});
  CHECK(attribute(layer_of(ir, "GroupConvolution"), "strides") == "2,2");
  CHECK(attribute(layer_of(ir, "GroupConvolution"), "pads_end") == "1,1");
}

TEST_CASE("the gates of an LSTM are in OpenVINO's order", "[openvino]") {
  EdgeProgramBuilder graph;
  const EdgeTensor state{f32, {1, 1, 1}};
  const auto x = graph.user_input("x", {f32, {1, 5, 1}});
  const auto h = graph.user_input("h", state);
  const auto c = graph.user_input("c", state);
  const auto parameters = std::vector<ValueId>{
      parameter(graph, "w_ih", {f32, {4, 1}}), parameter(graph, "w_hh", {f32, {4, 1}}),
      parameter(graph, "b_ih", {f32, {4}}), parameter(graph, "b_hh", {f32, {4}})};
  const auto y = graph.node_output("y", {f32, {1, 5, 1}});
  const auto last_h = graph.node_output("last_h", state);
  const auto last_c = graph.node_output("last_c", state);
  graph.add_node("lstm", "aten.lstm.input",
                 {{"input", EdgeRef{x}},
                  {"hx", std::vector<ValueId>{h, c}},
                  {"params", parameters},
                  {"has_biases", true},
                  {"num_layers", std::int64_t{1}},
                  {"dropout", 0.0},
                  {"train", false},
                  {"bidirectional", false},
                  {"batch_first", true}},
                 {y, last_h, last_c});
  for (const ValueId id : {y, last_h, last_c}) graph.user_output(id);
  const Ir ir = lower_ok(build_ok(std::move(graph)));
  const Layer& sequence = layer_of(ir, "LSTMSequence");
  // The parameters count from 0: input, forget, cell, output.
  CHECK(constant_input<float>(ir, sequence, 4) == std::vector<float>{1, 0, 2, 3});
  CHECK(constant_input<float>(ir, sequence, 6) == std::vector<float>{2, 0, 4, 6});
  CHECK(attribute(sequence, "direction") == "forward");
}

TEST_CASE("a view keeps sizes that change, and asks for the rest", "[openvino]") {
  EdgeProgramBuilder graph;
  const Size batch(1, 8, "s0");
  const Size steps(1, 64, "s1");
  const auto x = graph.user_input("x", {f32, {batch, steps, 12}});
  const auto size = [&](std::int64_t dim, const Size& range) {
    return graph.node_symbol("aten.sym_size.int", {{"self", EdgeRef{x}}, {"dim", dim}},
                             tenon::aot::EdgeValueKind::SymInt, range);
  };
  const ValueId b = size(0, batch);
  const ValueId t = size(1, steps);
  const auto none = tenon::aot::no_value;
  SECTION("in the same place") {
    const auto program =
        one_node(std::move(graph), "aten.view.default",
                 {{"self", EdgeRef{x}}, {"size", EdgeInts({0, 0, 3, 4}, {b, t, none, none})}},
                 {f32, {batch, steps, 3, 4}});
    const Ir ir = lower_ok(program);
    CHECK(constant_input<std::int64_t>(ir, layer_of(ir, "Reshape"), 1) ==
          std::vector<std::int64_t>{0, 0, 3, 4});
    CHECK(attribute(layer_of(ir, "Reshape"), "special_zero") == "true");
    CHECK(attribute(ir.layers[0], "shape") == "1..8,1..64,12");
  }
  SECTION("in another place") {
    const auto program =
        one_node(std::move(graph), "aten.view.default",
                 {{"self", EdgeRef{x}}, {"size", EdgeInts({12, 0, 0}, {none, b, t})}},
                 {f32, {12, batch, steps}});
    const Ir ir = lower_ok(program);
    const Layer& pattern = ir.layers[layer_of(ir, "Reshape").inputs[1].layer];
    CHECK(pattern.type == "Concat");
  }
}

TEST_CASE("inputs and outputs keep their order, also those that are not used", "[openvino]") {
  EdgeProgramBuilder graph;
  const EdgeTensor row{f32, {2}};
  const auto a = graph.user_input("a", row);
  const auto n = graph.user_input_symbol("n", Size(1, 4, "s0"));
  const auto b = graph.user_input("b", row);
  (void)n;
  const auto relu = graph.node("aten.relu.default", {{"self", EdgeRef{b}}}, row);
  graph.user_output(relu);
  graph.user_output(a);
  graph.user_output(relu);
  const Ir ir = lower_ok(build_ok(std::move(graph)));
  CHECK(types_of(ir) == "Parameter Parameter Parameter Relu Result Result Result");
  CHECK(attribute(ir.layers[1], "element_type") == "i64");
  CHECK(attribute(ir.layers[1], "shape") == "1");
  CHECK(ir.layers[5].inputs[0].layer == 0);
}

TEST_CASE("an unknown operator is refused by its name and its node's", "[openvino][TN-AOT-5]") {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {4}});
  const auto program =
      one_node(std::move(graph), "acme.warp.default", {{"self", EdgeRef{x}}}, {f32, {4}});
  CHECK(contains(refusal(program), "warp"));
  const auto compiled =
      openvino_backend::preprocess(program.view(), tenon::CompileSpecs(nullptr, 0));
  CHECK(compiled.error() == Error::NotSupported);
  CHECK(contains(compiled.text(), "node 'warp' (acme.warp.default)"));
}

TEST_CASE("what an operator cannot be is refused with the reason", "[openvino][TN-AOT-5]") {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {1, 4, 6, 6}});
  const Arguments pool = {{"self", EdgeRef{x}}, {"kernel_size", EdgeInts({2, 2})}};
  SECTION("a divisor") {
    Arguments arguments = pool;
    arguments.push_back({"divisor_override", std::int64_t{3}});
    const auto program =
        one_node(std::move(graph), "aten.avg_pool2d.default", arguments, {f32, {1, 4, 3, 3}});
    CHECK(contains(refusal(program), "divisor_override"));
  }
  SECTION("a window of three sizes") {
    const auto program =
        one_node(std::move(graph), "aten.max_pool2d.default",
                 {{"self", EdgeRef{x}}, {"kernel_size", EdgeInts({2, 2, 2})}}, {f32, {1, 4, 3, 3}});
    CHECK(contains(refusal(program),
                   "argument 'kernel_size': expected 1 or 2 integers, found [2, 2, 2]"));
  }
  SECTION("positions of a pooling") {
    const auto y = graph.node_output("y", {f32, {1, 4, 3, 3}});
    const auto at = graph.node_output("at", {i64, {1, 4, 3, 3}});
    graph.add_node("pool", "aten.max_pool2d_with_indices.default", pool, {y, at});
    graph.user_output(at);
    CHECK(contains(refusal(build_ok(std::move(graph))), "result 1 is used"));
  }
  SECTION("double precision") {
    const auto y = graph.user_input("y", {ScalarType::Double, {4}});
    const auto program = one_node(std::move(graph), "aten.relu.default", {{"self", EdgeRef{y}}},
                                  {ScalarType::Double, {4}});
    CHECK(contains(refusal(program), "found Double"));
  }
  SECTION("a dropout that drops") {
    const auto program =
        one_node(std::move(graph), "aten.dropout.default",
                 {{"input", EdgeRef{x}}, {"p", 0.5}, {"train", true}}, {f32, {1, 4, 6, 6}});
    CHECK(contains(refusal(program), "at random"));
  }
  SECTION("groups that do not divide") {
    const auto weight = parameter(graph, "weight", {f32, {5, 2, 3, 3}});
    const auto program =
        one_node(std::move(graph), "aten.conv2d.default",
                 {{"input", EdgeRef{x}}, {"weight", EdgeRef{weight}}, {"groups", std::int64_t{2}}},
                 {f32, {1, 5, 4, 4}});
    CHECK(contains(refusal(program), "expected a divisor of 5, found 2"));
  }
  SECTION("an LSTM with a projection") {
    const auto y = graph.node_output("y", {f32, {1, 4, 3}});
    const auto h = graph.node_output("h", {f32, {1, 4, 3}});
    const auto c = graph.node_output("c", {f32, {1, 4, 3}});
    const auto w = parameter(graph, "w", {f32, {12, 3}});
    graph.add_node("lstm", "aten.lstm.input",
                   {{"input", EdgeRef{x}},
                    {"hx", std::vector<ValueId>{x, x}},
                    {"params", std::vector<ValueId>{w, w, w}},
                    {"has_biases", false},
                    {"num_layers", std::int64_t{1}}},
                   {y, h, c});
    graph.user_output(y);
    CHECK(contains(refusal(build_ok(std::move(graph))), "projections are not supported"));
  }
}

// Arguments of a graph are not checked before a backend gets it: an operator may have any.
TEST_CASE("no operator fails in other ways for arguments of any kind", "[openvino]") {
  const std::vector<std::string> names = {"self",
                                          "other",
                                          "input",
                                          "weight",
                                          "bias",
                                          "dim",
                                          "dims",
                                          "size",
                                          "tensors",
                                          "indices",
                                          "index",
                                          "hx",
                                          "params",
                                          "query",
                                          "key",
                                          "value",
                                          "mat1",
                                          "mat2",
                                          "stride",
                                          "padding",
                                          "kernel_size",
                                          "end",
                                          "start",
                                          "step",
                                          "exponent",
                                          "pad",
                                          "repeats",
                                          "groups",
                                          "num_layers",
                                          "s",
                                          "mask",
                                          "min",
                                          "max",
                                          "condition",
                                          "fill_value",
                                          "output_size",
                                          "normalized_shape",
                                          "num_groups"};
  std::size_t num_refused = 0;
  std::size_t num_nodes = 0;
  for (const auto& rows : all_operators()) {
    for (const auto& row : rows) {
      for (int kind = -1; kind < 8; ++kind) {
        EdgeProgramBuilder graph;
        const auto flat = graph.user_input("flat", {f32, {}});
        const auto deep = graph.user_input("deep", {f32, {2, 3, 4, 5}});
        const auto number = graph.user_input_symbol("n", Size(0, 9, "s0"));
        const tenon::aot::EdgeArgumentValue values[] = {
            EdgeRef{flat},     EdgeRef{deep}, EdgeRef{number},     std::int64_t{-7},
            EdgeInts({-1, 9}), 1e300,         std::string("text"), std::vector<ValueId>{deep}};
        Arguments arguments;
        for (const std::string& name : names) {
          if (kind >= 0) arguments.push_back({name, values[kind]});
        }
        const auto out = graph.node_output("out", {f32, {}});
        graph.add_node("node", row.target, arguments, {out});
        graph.user_output(out);
        const auto program = build_ok(std::move(graph));
        ++num_nodes;
        num_refused += refusal(program).empty() ? 0U : 1U;
      }
    }
  }
  CHECK(num_nodes > 1000);
  CHECK(num_refused > num_nodes / 2);
}

TEST_CASE("the page lists every operator", "[openvino]") {
  std::ifstream file(TENON_OPENVINO_PAGE);
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  REQUIRE(page.size() > 1000);
  for (const auto& rows : all_operators()) {
    for (const auto& row : rows) {
      std::string name(row.target);
      if (name.starts_with("aten.")) name = name.substr(5);
      if (name.ends_with(".default")) name.resize(name.size() - 8);
      INFO(name);
      CHECK(page.find("`" + name + "`") != std::string::npos);
    }
  }
}
