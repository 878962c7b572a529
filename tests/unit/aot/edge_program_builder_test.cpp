// SPDX-License-Identifier: MIT
//
// Graphs that are built by hand: what a view reads of them, and each mistake that `build` refuses.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <tenon/aot/edge_program_builder.hpp>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace edge_program_builder_test {

using namespace tenon;
using namespace tenon::aot;

const EdgeTensor matrix{ScalarType::Float, {2, 3}};

SharedBytes zeroes(std::size_t nbytes) { return SharedBytes(std::vector<std::byte>(nbytes)); }

/// The error of `build` for a graph that `fill` described.
template <class Fill>
std::string mistake(Fill&& fill) {
  EdgeProgramBuilder graph("wrong");
  fill(graph);
  auto built = std::move(graph).build();
  CHECK(built.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(built.text()), ContainsSubstring("method 'wrong': "));
  return std::string(built.text());
}

TEST_CASE("a graph reads back unchanged", "[aot]") {
  EdgeProgramBuilder graph("encode");
  const ValueId x = graph.user_input("x", matrix);
  const ValueId weight =
      graph.stored(EdgeOrigin::Parameter, "p_weight", "layer.weight", matrix, zeroes(24));
  const ValueId sum =
      graph.node("aten.add.Tensor",
                 {{"self", EdgeRef{x}}, {"other", EdgeRef{weight}}, {"alpha", 2.0}}, matrix);
  const ValueId relu = graph.node("aten.relu.default", {{"self", EdgeRef{sum}}}, matrix, "last");
  graph.user_output(relu);
  const auto built = std::move(graph).build();
  INFO(built.text());
  REQUIRE(built.ok());

  const EdgeProgram program = built->view();
  CHECK(program.method_name() == "encode");
  REQUIRE(program.num_values() == 4);
  REQUIRE(program.num_nodes() == 2);
  REQUIRE(program.inputs().size() == 1);
  CHECK(program.inputs()[0] == x);
  REQUIRE(program.num_outputs() == 1);
  CHECK(program.output(0).kind == EdgeOutputKind::UserOutput);
  CHECK(program.output(0).value == relu);
  CHECK(program.output(0).target == no_value);

  const EdgeValue stored = program.value(weight);
  CHECK(stored.is_tensor());
  CHECK(stored.origin() == EdgeOrigin::Parameter);
  CHECK(stored.name() == "p_weight");
  CHECK(stored.fqn() == "layer.weight");
  CHECK(stored.has_fqn());
  CHECK(stored.data().size() == 24);
  CHECK(stored.scalar_type() == ScalarType::Float);
  CHECK(stored.rank() == 2);
  CHECK(stored.size(1) == EdgeSize{3, 3, {}});
  CHECK(stored.is_static());
  CHECK(stored.max_numel() == 6);
  CHECK(stored.dim_order()[1] == 1);
  CHECK(stored.device().device_type == TENON_DL_CPU);
  CHECK_FALSE(program.value(x).has_fqn());
  CHECK(program.value(x).fqn().empty());
  CHECK(program.value(x).data().empty());

  const EdgeNode add = program.node(0);
  CHECK(add.name() == "add");
  CHECK(add.target() == "aten.add.Tensor");
  CHECK(add.module_path().empty());
  CHECK(add.debug_handle() == 1);
  REQUIRE(add.outputs().size() == 1);
  CHECK(add.outputs()[0] == sum);
  REQUIRE(add.find("other").has_value());
  CHECK(add.find("other")->value() == weight);
  CHECK(add.find("alpha")->number() == 2.0);
  CHECK_FALSE(add.find("rounding_mode").has_value());
  std::vector<ValueId> read;
  add.for_each_input([&](ValueId id) { read.push_back(id); });
  CHECK(read == std::vector<ValueId>{x, weight});
  CHECK(program.node(1).name() == "last");
  CHECK(program.node(1).debug_handle() == 2);

  CHECK(program.find_value("last") == relu);
  CHECK_FALSE(program.find_value("unknown").has_value());
}

TEST_CASE("a graph that is moved keeps its views", "[aot]") {
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", matrix);
  graph.user_output(graph.node("aten.relu.default", {{"self", EdgeRef{x}}}, matrix));
  auto built = std::move(graph).build();
  REQUIRE(built.ok());
  OwnedEdgeProgram first = *std::move(built);
  const EdgeProgram view = first.view();
  const OwnedEdgeProgram second = std::move(first);
  CHECK(view.method_name() == "forward");
  CHECK(view.node(0).target() == "aten.relu.default");
  CHECK(&view.raw() == &second.view().raw());
}

TEST_CASE("an argument is read as what it is and as nothing else", "[aot]") {
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", matrix);
  const ValueId n = graph.user_input_symbol("n", {1, 8, "s0"});
  graph.user_output(graph.node("acme.everything.default",
                               {{"none", std::monostate{}},
                                {"value", EdgeRef{x}},
                                {"values", std::vector<ValueId>{x, no_value}},
                                {"boolean", true},
                                {"integer", std::int64_t{-7}},
                                {"real", 0.5},
                                {"text", std::string("sum")},
                                {"booleans", std::vector<bool>{true, false}},
                                {"integers", EdgeInts({4, 5})},
                                {"mixed", EdgeInts({0, 5}, {n, no_value})},
                                {"reals", std::vector<double>{1.0, 2.0}},
                                {"dtype", EdgeEnumerator{EdgeArgumentKind::ScalarType, 6}},
                                {"layout", EdgeEnumerator{EdgeArgumentKind::Layout, 0}},
                                {"format", EdgeEnumerator{EdgeArgumentKind::MemoryFormat, 2}},
                                {"device", tenon_dl_device{TENON_DL_CPU, 0}}},
                               matrix));
  const auto built = std::move(graph).build();
  INFO(built.text());
  REQUIRE(built.ok());
  const EdgeNode node = built->view().node(0);

  CHECK(node.find("none")->is_none());
  CHECK(node.find("value")->value() == x);
  REQUIRE(node.find("values")->values()->size() == 2);
  CHECK((*node.find("values")->values())[1] == no_value);
  CHECK(node.find("boolean")->boolean() == true);
  CHECK(node.find("boolean")->number() == 1.0);
  CHECK(node.find("integer")->integer() == -7);
  CHECK(node.find("integer")->number() == -7.0);
  CHECK_FALSE(node.find("real")->integer().has_value());
  CHECK(node.find("text")->text() == "sum");
  CHECK((*node.find("booleans")->booleans())[1] == 0);
  CHECK((*node.find("integers")->integers())[1] == 5);
  CHECK(node.find("integers")->symbols().empty());
  CHECK_FALSE(node.find("mixed")->integers().has_value());
  CHECK(node.find("mixed")->symbols()[0] == n);
  CHECK(node.find("mixed")->mixed_integers()[1] == 5);
  CHECK((*node.find("reals")->doubles())[1] == 2.0);
  CHECK(node.find("dtype")->scalar_type() == ScalarType::Float);
  CHECK(node.find("layout")->enumerator() == 0);
  CHECK(node.find("format")->enumerator() == 2);
  CHECK(node.find("device")->device()->device_type == TENON_DL_CPU);

  // Each of the fifteen answers to its own question alone.
  for (std::size_t i = 0; i < node.num_arguments(); ++i) {
    const EdgeArgument argument = node.argument(i);
    INFO(argument.name() << ": " << name_of(argument.kind()));
    const EdgeArgumentKind kind = argument.kind();
    using K = EdgeArgumentKind;
    CHECK(argument.value().has_value() == (kind == K::Value));
    CHECK(argument.values().has_value() == (kind == K::Values));
    CHECK(argument.boolean().has_value() == (kind == K::Bool));
    CHECK(argument.integer().has_value() == (kind == K::Int));
    CHECK(argument.text().has_value() == (kind == K::String));
    CHECK(argument.booleans().has_value() == (kind == K::Bools));
    CHECK(argument.doubles().has_value() == (kind == K::Doubles));
    CHECK(argument.scalar_type().has_value() == (kind == K::ScalarType));
    CHECK(argument.enumerator().has_value() == (kind == K::Layout || kind == K::MemoryFormat));
    CHECK(argument.device().has_value() == (kind == K::Device));
    CHECK(argument.mixed_integers().empty() == (kind != K::Ints));
  }
  std::vector<ValueId> read;
  node.for_each_input([&](ValueId id) { read.push_back(id); });
  CHECK(read == std::vector<ValueId>{x, x, n});  // `no_value` is not an input.
  CHECK(name_of(static_cast<EdgeArgumentKind>(77)) == "an unknown kind");
}

TEST_CASE("nodes are named as torch.fx names them", "[aot]") {
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", matrix);
  const auto relu = [&] { return graph.node("aten.relu.default", {{"self", EdgeRef{x}}}, matrix); };
  relu();
  relu();
  graph.add_node("relu_2", "acme.nothing.default", {}, {});
  graph.user_output(relu());
  const auto built = std::move(graph).build();
  INFO(built.text());
  REQUIRE(built.ok());
  CHECK(built->view().node(1).name() == "relu_1");
  CHECK(built->view().node(3).name() == "relu_3");
}

TEST_CASE("a node has several outputs, a place, and a handle of its own", "[aot]") {
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", matrix);
  const ValueId left = graph.node_output("left", {ScalarType::Float, {1, 3}});
  const ValueId right = graph.node_output("right", {ScalarType::Float, {1, 3}});
  const ValueId count = graph.node_output_symbol("count", EdgeValueKind::SymInt, {0, 2, "u0"});
  graph.add_node("split", "aten.split.Tensor", {{"self", EdgeRef{x}}}, {left, right, count},
                 "encoder.0", 41);
  graph.user_output(right);
  const auto built = std::move(graph).build();
  INFO(built.text());
  REQUIRE(built.ok());
  const EdgeNode node = built->view().node(0);
  REQUIRE(node.outputs().size() == 3);
  CHECK(node.outputs()[2] == count);
  CHECK(node.module_path() == "encoder.0");
  CHECK(node.debug_handle() == 41);
  const EdgeValue number = built->view().value(count);
  CHECK(number.kind() == EdgeValueKind::SymInt);
  CHECK_FALSE(number.is_tensor());
  CHECK(number.range() == EdgeSize{0, 2, "u0"});
}

TEST_CASE("sizes that change are equal when their expressions are", "[aot]") {
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", {ScalarType::Float, {{1, 16, "s0"}, 4}});
  const ValueId y = graph.user_input("y", {ScalarType::Float, {{1, 16, "s1"}, {0, 99, "2*s0"}}});
  const ValueId z =
      graph.user_input("z", {ScalarType::Float, {{2, EdgeSize::unbounded, "s0"}, 4, {3, 3, "s9"}}});
  const auto built = std::move(graph).build();
  INFO(built.text());
  REQUIRE(built.ok());
  const EdgeProgram program = built->view();
  const EdgeSize s0 = program.value(x).size(0);
  CHECK_FALSE(s0.is_static());
  CHECK(s0 == program.value(z).size(0));
  CHECK_FALSE(s0 == program.value(y).size(0));
  CHECK_FALSE(s0 == program.value(x).size(1));
  CHECK_FALSE(program.value(x).size(1) == s0);
  CHECK(program.value(z).size(2) == EdgeSize{3, 3, {}});  // One number needs no symbol.
  CHECK_FALSE(program.value(x).is_static());
  CHECK(program.value(x).max_numel() == 64);
  CHECK(program.value(z).max_numel() == EdgeSize::unbounded);
}

TEST_CASE("elements are counted without overflow", "[aot]") {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", {ScalarType::Float, {huge, huge}});
  const ValueId none = graph.user_input("none", {ScalarType::Float, {huge, huge, 0}});
  const ValueId scalar = graph.user_input("scalar", {ScalarType::Float, {}});
  const auto built = std::move(graph).build();
  REQUIRE(built.ok());
  CHECK(built->view().value(x).max_numel() == EdgeSize::unbounded);
  CHECK(built->view().value(none).max_numel() == 0);
  CHECK(built->view().value(scalar).max_numel() == 1);
}

TEST_CASE("mutations name what gets the new content", "[aot]") {
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", matrix);
  const ValueId state = graph.stored(EdgeOrigin::Buffer, "b_state", "state", matrix, zeroes(24));
  const ValueId sum =
      graph.node("aten.add.Tensor", {{"self", EdgeRef{state}}, {"other", EdgeRef{x}}}, matrix);
  graph.mutation(state, sum);
  graph.mutation(x, sum);
  graph.user_output(sum);
  const auto built = std::move(graph).build();
  INFO(built.text());
  REQUIRE(built.ok());
  const EdgeProgram program = built->view();
  REQUIRE(program.num_outputs() == 3);
  CHECK(program.output(0).kind == EdgeOutputKind::BufferMutation);
  CHECK(program.output(0).target == state);
  CHECK(program.output(1).kind == EdgeOutputKind::UserInputMutation);
  CHECK(program.output(1).target == x);
}

TEST_CASE("what is read must have been made", "[aot]") {
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) {
               const ValueId late = graph.node_output("late", matrix);
               graph.node("aten.relu.default", {{"self", EdgeRef{late}}}, matrix);
             }),
             ContainsSubstring("argument 'self' of node 'relu' reads 'late' before a node makes"));
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) {
               graph.node("aten.relu.default", {{"self", EdgeRef{5}}}, matrix);
             }),
             ContainsSubstring("argument 'self' of node 'relu' reads value 5 of 1"));
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) {
               graph.node("aten.cat.default", {{"tensors", std::vector<ValueId>{7}}}, matrix);
             }),
             ContainsSubstring("argument 'tensors' of node 'cat' reads value 7"));
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) {
               graph.node("aten.view.default", {{"size", EdgeInts({1}, {9})}}, matrix);
             }),
             ContainsSubstring("argument 'size' of node 'view' reads value 9"));
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) { graph.user_output(3); }),
             ContainsSubstring("output reads value 3 of 0"));
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) { graph.node_output("y", matrix); }),
             ContainsSubstring("no node makes 'y'"));
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) {
               const ValueId x = graph.user_input("x", matrix);
               graph.mutation(99, x);
             }),
             ContainsSubstring("target of a mutation reads value 99"));
}

TEST_CASE("a value is made once and a name given once", "[aot]") {
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) {
               graph.user_input("x", matrix);
               graph.user_input("x", matrix);
             }),
             ContainsSubstring("two values have the name 'x'"));
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) {
               graph.add_node("n", "acme.nothing.default", {}, {});
               graph.add_node("n", "acme.nothing.default", {}, {});
             }),
             ContainsSubstring("two nodes have the name 'n'"));
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) {
               const ValueId y = graph.node_output("y", matrix);
               graph.add_node("first", "acme.make.default", {}, {y});
               graph.add_node("second", "acme.make.default", {}, {y});
             }),
             ContainsSubstring("output of node 'second' is not a new value of a node"));
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) {
               const ValueId x = graph.user_input("x", matrix);
               graph.add_node("n", "acme.make.default", {}, {x});
             }),
             ContainsSubstring("output of node 'n' is not a new value of a node"));
}

TEST_CASE("shapes, orders, types and ranges make sense", "[aot]") {
  const auto of_input = [](const EdgeTensor& tensor) {
    return mistake([&](EdgeProgramBuilder& graph) { graph.user_input("x", tensor); });
  };
  CHECK_THAT(of_input({ScalarType::Float, {-1}}),
             ContainsSubstring("'x' has a size from -1 to -1"));
  CHECK_THAT(of_input({ScalarType::Float, {{4, 2, "s0"}}}),
             ContainsSubstring("'x' has a size from 4 to 2"));
  CHECK_THAT(of_input({ScalarType::Float, {{1, 2, ""}}}),
             ContainsSubstring("a size that changes and no symbol for it"));
  const auto no_permutation = ContainsSubstring("a dim order that is not a permutation");
  CHECK_THAT(of_input({ScalarType::Float, {2, 2}, {0}}), no_permutation);
  CHECK_THAT(of_input({ScalarType::Float, {2, 2}, {0, 0}}), no_permutation);
  CHECK_THAT(of_input({ScalarType::Float, {2, 2}, {0, 2}}), no_permutation);
  CHECK_THAT(of_input({ScalarType::Float, std::vector<EdgeTensor::Size>(17, 1)}), no_permutation);
  CHECK_THAT(of_input({static_cast<ScalarType>(99), {1}}),
             ContainsSubstring("'x' has scalar type 99, which is not a scalar type"));
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) { graph.user_input_symbol("n", {5, 4, "s0"}); }),
             ContainsSubstring("'n' is a number from 5 to 4"));
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) {
               graph.node("aten.view.default", {{"size", EdgeInts({1, 2}, {no_value})}}, matrix);
             }),
             ContainsSubstring("argument 'size' of node 'view' has 2 integers and 1 symbols"));
}

TEST_CASE("what is stored has static sizes and all its bytes", "[aot]") {
  const auto stored = [](const EdgeTensor& tensor, SharedBytes data,
                         EdgeOrigin origin = EdgeOrigin::Parameter) {
    return mistake([&](EdgeProgramBuilder& graph) {
      graph.stored(origin, "p", "layer.p", tensor, std::move(data));
    });
  };
  CHECK_THAT(stored(matrix, zeroes(23)),
             ContainsSubstring("data of 'p' has 23 bytes, expected 24"));
  CHECK_THAT(stored({ScalarType::Float, {{1, 2, "s0"}}}, zeroes(4)),
             ContainsSubstring("'p' is stored and needs static sizes"));
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  CHECK_THAT(stored({ScalarType::Double, {huge, huge}}, {}),
             ContainsSubstring("whose bytes can be counted"));
  CHECK_THAT(stored(matrix, zeroes(24), EdgeOrigin::UserInput),
             ContainsSubstring("neither a node nor the caller makes it"));
  CHECK_THAT(mistake([](EdgeProgramBuilder& graph) {
               const ValueId p = graph.stored(EdgeOrigin::Parameter, "p", "p", matrix, {});
               graph.mutation(p, p);
             }),
             ContainsSubstring("'p' cannot be mutated: it is neither a buffer nor a user input"));

  EdgeProgramBuilder graph;  // Without data, as a partitioner may see it.
  graph.stored(EdgeOrigin::Constant, "c", "c", matrix, {});
  const auto built = std::move(graph).build();
  REQUIRE(built.ok());
  CHECK(built->view().value(0).data().empty());
}

TEST_CASE("the first of several mistakes is reported", "[aot]") {
  const std::string text = mistake([](EdgeProgramBuilder& graph) {
    graph.user_input("x", {ScalarType::Float, {-3}});
    graph.user_input("x", matrix);
  });
  CHECK_THAT(text, ContainsSubstring("-3"));
  CHECK(text.find("two values") == std::string::npos);
}

}  // namespace edge_program_builder_test
