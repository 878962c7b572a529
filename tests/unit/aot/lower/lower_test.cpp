// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "graphs.hpp"
#include "support/catch.hpp"
#include "tenon/aot/compiler/lower/lower.hpp"

namespace lower_test {

using namespace graphs;

LoweredProgram lowered(const EdgeProgram& program, const PartitionResult& partitions) {
  auto result = lower(program, partitions);
  INFO(result.text());
  REQUIRE(result.ok());
  return *std::move(result);
}

std::string names(const EdgeProgram& program, const std::vector<ValueId>& values) {
  std::string out;
  for (const ValueId id : values) out += concat(out.empty() ? "" : " ", program.value(id).name());
  return out;
}

/// Names of the nodes that are left, and tags in angle brackets.
std::string steps(const LoweredProgram& lowered) {
  std::string out;
  for (const LoweredStep& step : lowered.steps) {
    if (!out.empty()) out += ' ';
    if (const auto* node = std::get_if<NodeStep>(&step)) {
      out += lowered.program.node(node->node).name();
    } else {
      out += concat("<", lowered.partitions[std::get<DelegateStep>(step).partition].tag, ">");
    }
  }
  return out;
}

TEST_CASE("a partition becomes a program of its own and a call of it") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId y = graph.input("y");
  const ValueId w = graph.stored(EdgeOrigin::Parameter, "w", {5, 6, 7, 8});
  const ValueId r = graph.relu("r", y);
  const ValueId a = graph.add("a", r, w);
  const ValueId b = graph.add("b", a, x);
  graph.builder.user_output(b);
  graph.builder.user_output(graph.relu("s", a));
  const OwnedEdgeProgram owned = graph.build();
  auto partitions = tags(owned.view(), {{"a", "t"}, {"b", "t"}});
  partitions.tag_value(w, "t");
  partitions.partition_tags["t"].compile_specs = {{"level", SharedBytes::copy_of("3")}};

  const LoweredProgram program = lowered(owned.view(), partitions);
  CHECK(steps(program) == "r <t> s");
  CHECK_FALSE(program.is_all_delegated());
  REQUIRE(program.partitions.size() == 1);
  const LoweredPartition& part = program.partitions[0];
  CHECK(part.tag == "t");
  CHECK(part.backend_id == "Toy");
  CHECK(part.compile_specs.at(0).key == "level");
  // In the order of the first use; what the partition keeps is no argument.
  CHECK(names(owned.view(), part.inputs) == "r x");
  CHECK(names(owned.view(), part.outputs) == "a b");
  CHECK(part.nodes == std::vector<std::uint32_t>{1, 2});

  const EdgeProgram inner = part.program.view();
  CHECK(inner.method_name() == "forward");
  CHECK(inner.num_nodes() == 2);
  CHECK(inner.node(1).debug_handle() == owned.view().node(2).debug_handle());
  CHECK(inner.value(inner.inputs()[0]).origin() == EdgeOrigin::UserInput);
  const auto weight = inner.find_value("w");
  REQUIRE(weight);
  CHECK(inner.value(*weight).origin() == EdgeOrigin::Parameter);
  CHECK(inner.value(*weight).fqn() == "w");
  CHECK(inner.value(*weight).data().data() == owned.view().value(w).data().data());
  REQUIRE(inner.num_outputs() == 2);
  CHECK(inner.value(inner.output(0).value).name() == "a");
}

TEST_CASE("all is delegated when partitions run and nothing else does") {
  Graph graph;
  const ValueId x = graph.input("x");
  graph.add("dead", x, x);
  graph.builder.user_output(graph.relu("r", x));
  const OwnedEdgeProgram owned = graph.build();
  CHECK(lowered(owned.view(), tags(owned.view(), {{"r", "t"}})).is_all_delegated());
  CHECK_FALSE(lowered(owned.view(), {}).is_all_delegated());
  // Nothing runs at all.
  Graph empty;
  empty.builder.user_output(empty.input("x"));
  const OwnedEdgeProgram nothing = empty.build();
  CHECK_FALSE(lowered(nothing.view(), {}).is_all_delegated());
}

TEST_CASE("data that is not tagged is an argument of the call") {
  Graph graph;
  const ValueId w = graph.stored(EdgeOrigin::Parameter, "w");
  graph.builder.user_output(graph.add("a", graph.input("x"), w));
  const OwnedEdgeProgram owned = graph.build();
  const LoweredProgram program = lowered(owned.view(), tags(owned.view(), {{"a", "t"}}));
  CHECK(names(owned.view(), program.partitions[0].inputs) == "x w");
}

TEST_CASE("calls are placed after their inputs, the rest stays in order") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId a = graph.add("a", x, x);
  const ValueId r = graph.relu("r", x);
  const ValueId s = graph.relu("s", r);
  const ValueId b = graph.add("b", a, s);
  graph.builder.user_output(b);
  graph.builder.user_output(graph.relu("q", a));
  const OwnedEdgeProgram owned = graph.build();
  CHECK(steps(lowered(owned.view(), tags(owned.view(), {{"a", "t"}, {"b", "t"}}))) == "r s <t> q");
}

TEST_CASE("nodes without visible results are left out everywhere") {
  Graph graph;
  const ValueId x = graph.input("x");
  graph.relu("dead", x);
  const ValueId a = graph.add("a", x, x);
  graph.add("dead_too", a, x);
  graph.add("alone", x, x);
  graph.builder.user_output(a);
  const OwnedEdgeProgram owned = graph.build();
  const LoweredProgram program =
      lowered(owned.view(), tags(owned.view(), {{"a", "t"}, {"dead_too", "t"}, {"alone", "u"}}));
  CHECK(steps(program) == "<t>");
  CHECK(program.partitions[0].program.view().num_nodes() == 1);
  CHECK(names(owned.view(), program.partitions[0].outputs) == "a");
}

TEST_CASE("a buffer that a partition keeps is its state; its change is not an output of the call") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId state = graph.stored(EdgeOrigin::Buffer, "state", {1, 1, 1, 1});
  const ValueId other = graph.stored(EdgeOrigin::Buffer, "other");
  const ValueId sum = graph.add("sum", x, state);
  const ValueId out = graph.add("out", sum, other);
  graph.builder.mutation(state, sum);
  graph.builder.mutation(other, out);
  graph.builder.user_output(out);
  const OwnedEdgeProgram owned = graph.build();
  auto partitions = tags(owned.view(), {{"sum", "t"}, {"out", "t"}});
  partitions.tag_value(state, "t");
  const LoweredProgram program = lowered(owned.view(), partitions);
  const LoweredPartition& part = program.partitions[0];
  CHECK(names(owned.view(), part.inputs) == "x other");
  CHECK(names(owned.view(), part.outputs) == "out");
  const EdgeProgram inner = part.program.view();
  REQUIRE(inner.num_outputs() == 2);
  CHECK(inner.output(0).kind == EdgeOutputKind::BufferMutation);
  CHECK(inner.value(inner.output(0).target).name() == "state");
  CHECK(inner.output(1).kind == EdgeOutputKind::UserOutput);
  REQUIRE(program.outputs.size() == 2);
  CHECK(program.outputs[0].target == other);
}

TEST_CASE("symbolic sizes, layouts and every kind of argument survive") {
  EdgeProgramBuilder builder;
  EdgeTensor dynamic{ScalarType::Half, {{1, 16, "s77"}, 3, 4, 5}};
  dynamic.dim_order = {0, 2, 3, 1};
  const ValueId x = builder.user_input("x", dynamic);
  const ValueId n =
      builder.node_symbol("aten.sym_size.int", {{"self", EdgeRef{x}}, {"dim", std::int64_t{0}}},
                          EdgeValueKind::SymInt, {1, 16, "s77"}, "n");
  const ValueId ratio = builder.node_symbol("torch.sym_float", {{"a", EdgeRef{n}}},
                                            EdgeValueKind::SymFloat, {1, 16, "s77"}, "ratio");
  const std::vector<EdgeProgramBuilder::Argument> arguments = {
      {"none", std::monostate{}},
      {"self", EdgeRef{x}},
      {"list", std::vector<ValueId>{x, no_value}},
      {"flag", true},
      {"integer", std::int64_t{-3}},
      {"real", 0.5},
      {"text", std::string("mean")},
      {"flags", std::vector<bool>{true, false}},
      {"ints", EdgeInts({1, 2})},
      {"sizes", EdgeInts({0, 7}, {n, no_value})},
      {"reals", std::vector<double>{1.5, 2.5}},
      {"dtype", EdgeEnumerator{EdgeArgumentKind::ScalarType, 5}},
      {"layout", EdgeEnumerator{EdgeArgumentKind::Layout, 0}},
      {"memory_format", EdgeEnumerator{EdgeArgumentKind::MemoryFormat, 1}},
      {"device", tenon_dl_device{TENON_DL_CPU, 2}},
      {"ratio", EdgeRef{ratio}},
  };
  const ValueId out = builder.node_output("out", dynamic);
  builder.add_node("node", "toy.everything.default", arguments, {out}, "encoder.0", 42);
  builder.user_output(out);
  auto owned = std::move(builder).build();
  REQUIRE(owned.ok());
  const LoweredProgram program = lowered(owned->view(), tags(owned->view(), {{"node", "t"}}));
  CHECK(names(owned->view(), program.partitions[0].inputs) == "x n ratio");

  const EdgeProgram inner = program.partitions[0].program.view();
  const EdgeValue input = inner.value(inner.inputs()[0]);
  CHECK(input.size(0) == EdgeSize{1, 16, "s77"});
  CHECK(input.size(0).max == 16);
  CHECK(input.scalar_type() == ScalarType::Half);
  CHECK(std::ranges::equal(input.dim_order(), dynamic.dim_order));
  CHECK(inner.value(inner.inputs()[1]).kind() == EdgeValueKind::SymInt);
  CHECK(inner.value(inner.inputs()[2]).kind() == EdgeValueKind::SymFloat);
  const EdgeNode node = inner.node(0);
  CHECK(node.module_path() == "encoder.0");
  CHECK(node.debug_handle() == 42);
  REQUIRE(node.num_arguments() == arguments.size());
  CHECK(node.find("none")->is_none());
  CHECK(inner.value(*node.find("self")->value()).name() == "x");
  CHECK(node.find("list")->values()->back() == no_value);
  CHECK(node.find("flag")->boolean() == true);
  CHECK(node.find("integer")->integer() == -3);
  CHECK(node.find("real")->number() == 0.5);
  CHECK(node.find("text")->text() == "mean");
  CHECK(node.find("flags")->booleans()->front() == 1);
  CHECK(node.find("ints")->integers()->back() == 2);
  CHECK(inner.value(node.find("sizes")->symbols()[0]).name() == "n");
  CHECK(node.find("sizes")->mixed_integers()[1] == 7);
  CHECK(node.find("reals")->doubles()->back() == 2.5);
  CHECK(node.find("dtype")->scalar_type() == ScalarType::Half);
  CHECK(node.find("layout")->enumerator() == 0);
  CHECK(node.find("memory_format")->enumerator() == 1);
  CHECK(node.find("device")->device()->device_id == 2);
}

TEST_CASE("a mutation without a target is refused") {
  for (const ValueId target : {no_value, ValueId{2}, ValueId{1}}) {
    EdgeProgramBuilder builder;
    const ValueId x = builder.user_input("x", tensor);
    const ValueId later = builder.node_output("later", tensor);
    builder.add_output({EdgeOutputKind::BufferMutation, x, target});
    builder.add_node("node", "aten.relu.default", {{"self", EdgeRef{x}}}, {later});
    const auto built = std::move(builder).build();
    CHECK(built.error() == Error::InvalidProgram);
    CHECK_THAT(std::string(built.text()), ContainsSubstring("target of a mutation"));
  }
}

TEST_CASE("a whole program is one partition that keeps all data and state") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId state = graph.stored(EdgeOrigin::Buffer, "state");
  const ValueId w = graph.stored(EdgeOrigin::Parameter, "w");
  const ValueId sum = graph.add("sum", graph.add("xw", x, w), state);
  graph.relu("dead", x);
  graph.builder.mutation(state, sum);
  graph.builder.user_output(graph.relu("out", sum));
  const OwnedEdgeProgram owned = graph.build();
  const LoweredProgram program =
      lowered(owned.view(), partition_whole_program(owned.view(), {"Toy", {}}));
  CHECK(steps(program) == "<whole>");
  CHECK(names(owned.view(), program.partitions[0].inputs) == "x");
  CHECK(names(owned.view(), program.partitions[0].outputs) == "out");
  CHECK(program.outputs.size() == 1);

  Graph empty;
  empty.builder.user_output(empty.input("x"));
  const OwnedEdgeProgram nothing = empty.build();
  CHECK(
      lowered(nothing.view(), partition_whole_program(nothing.view(), {"Toy", {}})).steps.empty());
}

TEST_CASE("random programs compute the same after they were lowered, call after call") {
  std::mt19937 random(21);
  for (int round = 0; round < 400; ++round) {
    const OwnedEdgeProgram owned = random_graph(random, 1 + random() % 50);
    const EdgeProgram program = owned.view();
    PartitionOptions options;
    options.spec.backend_id = "Toy";
    options.tag_mutated_buffers = random() % 2 == 0;
    options.tag_constant_data = random() % 3 != 0;
    options.skip_horizontal_fusion = random() % 2 == 0;
    options.min_nodes = 1 + random() % 3;
    const auto share = random() % 11;
    auto partitions = partition_by_support(
        program, [&](const auto&, const auto&) { return random() % 10 < share; }, options);
    REQUIRE(partitions.ok());
    const LoweredProgram after = lowered(program, *partitions);

    State state_before;
    State state_after;
    std::vector<State> states(after.partitions.size());
    for (int call = 0; call < 3; ++call) {
      std::vector<Vector> inputs(3, Vector(4));
      for (Vector& input : inputs) std::iota(input.begin(), input.end(), -2 + call);
      INFO("round " << round << ", call " << call);
      REQUIRE(run(program, inputs, state_before) == run(after, inputs, state_after, states));
    }
  }
}

}  // namespace lower_test
