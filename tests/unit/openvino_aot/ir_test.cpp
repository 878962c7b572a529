// SPDX-License-Identifier: MIT
//
// The IR's text and its constants.
#include "aot/ir.hpp"

#include <set>
#include <string>

#include "lowering.hpp"

using namespace openvino_aot_test;
using openvino_backend::IrSize;

TEST_CASE("shapes are written as OpenVINO reads them", "[openvino]") {
  CHECK(openvino_backend::shape_text({}).empty());
  CHECK(openvino_backend::shape_text({{3, 3}, {0, 0}}) == "3,0");
  CHECK(openvino_backend::shape_text({{1, 8}, {0, IrSize::unbounded}, {2, IrSize::unbounded}}) ==
        "1..8,?,2..");
}

TEST_CASE("names with any characters do not break the XML", "[openvino]") {
  Ir ir;
  ir.name = "a\"b<c>&d\n\x01";
  ir.layers.push_back({"x", "Parameter", "opset1", {{"shape", "2"}}, {}, {{f32, {{{2, 2}}}}}});
  ir.layers.push_back({"</layers>", "Result", "opset1", {}, {{0, 0}}, {}});
  const std::string xml = openvino_backend::write_xml(ir);
  CHECK(xml.find("<net name=\"a&quot;b&lt;c&gt;&amp;d??\" version=\"11\">") != std::string::npos);
  CHECK(xml.find("name=\"&lt;/layers&gt;\"") != std::string::npos);
  CHECK(xml.find("<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>") !=
        std::string::npos);
  CHECK(xml.find("<port id=\"0\" precision=\"FP32\"><dim>2</dim></port>") != std::string::npos);
}

TEST_CASE("output ports are counted after input ports", "[openvino]") {
  EdgeProgramBuilder graph;
  const EdgeTensor row{f32, {4}};
  const auto x = graph.user_input("x", row);
  const auto sum =
      graph.node("aten.add.Tensor", {{"self", EdgeRef{x}}, {"other", EdgeRef{x}}}, row);
  graph.user_output(sum);
  const std::string xml = openvino_backend::write_xml(lower_ok(build_ok(std::move(graph))));
  CHECK(xml.find("<edge from-layer=\"1\" from-port=\"2\" to-layer=\"2\" to-port=\"0\"/>") !=
        std::string::npos);
}

TEST_CASE("equal constants are stored once, and every offset is aligned", "[openvino]") {
  EdgeProgramBuilder graph;
  const EdgeTensor row{f32, {3}};
  const auto x = graph.user_input("x", row);
  const auto first = parameter(graph, "first", row);
  const auto second = parameter(graph, "second", row);
  const auto column = parameter(graph, "column", {f32, {3, 1}});
  const auto add = [&](ValueId a, ValueId b, const EdgeTensor& out) {
    return graph.node("aten.add.Tensor", {{"self", EdgeRef{a}}, {"other", EdgeRef{b}}}, out);
  };
  graph.user_output(add(add(add(x, first, row), second, row), column, {f32, {3, 3}}));
  const Ir ir = lower_ok(build_ok(std::move(graph)));
  std::set<std::string> offsets;
  std::size_t num_constants = 0;
  for (const Layer& layer : ir.layers) {
    if (layer.type != "Const") continue;
    ++num_constants;
    offsets.insert(attribute(layer, "offset"));
    CHECK(std::stoull(attribute(layer, "offset")) % openvino_backend::weights_alignment == 0);
    CHECK(attribute(layer, "size") == "12");
  }
  CHECK(num_constants == 2);
  CHECK(offsets.size() == 1);
  CHECK(ir.weights.size() == openvino_backend::weights_alignment);
}

TEST_CASE("layers have the names of nodes, and unique ones", "[openvino]") {
  EdgeProgramBuilder graph;
  const EdgeTensor row{f32, {3}};
  const auto x = graph.user_input("x", row);
  // A weight has the name that a node has, too.
  const auto weight = graph.stored(EdgeOrigin::Parameter, "p", "add", row, bytes_of(ramp(3)));
  graph.user_output(graph.node(
      "aten.add.Tensor", {{"self", EdgeRef{x}}, {"other", EdgeRef{weight}}, {"alpha", 2.0}}, row));
  const Ir ir = lower_ok(build_ok(std::move(graph)));
  std::set<std::string> names;
  for (const Layer& layer : ir.layers) names.insert(layer.name);
  CHECK(names.size() == ir.layers.size());
}
