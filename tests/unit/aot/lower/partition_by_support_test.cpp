// SPDX-License-Identifier: MIT
#include <cstddef>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "graphs.hpp"
#include "support/catch.hpp"
#include "tenon/aot.hpp"
#include "tenon/aot/compiler/lower/check_partition.hpp"
#include "tenon/aot/edge_program_builder.hpp"

namespace partition_by_support_test {

using namespace graphs;

const auto adds = [](const EdgeProgram&, const EdgeNode& node) {
  return node.target() == "aten.add.Tensor";
};
const auto all = [](const EdgeProgram&, const EdgeNode&) { return true; };

PartitionOptions for_toy() {
  PartitionOptions options;
  options.spec.backend_id = "Toy";
  return options;
}

PartitionResult partition(const EdgeProgram& program, const auto& supports,
                          const PartitionOptions& options = for_toy()) {
  auto result = partition_by_support(program, supports, options);
  REQUIRE(result.ok());
  return *std::move(result);
}

/// The number of changes from supported to unsupported on the path that has most of them: each
/// change forces one more partition.
std::size_t fewest_partitions(const EdgeProgram& program, const std::vector<bool>& supported) {
  const EdgeUses uses(program);
  std::vector<std::size_t> level(program.num_nodes(), 0);
  std::set<std::size_t> levels;
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    program.node(i).for_each_input([&](ValueId value) {
      const std::uint32_t from = uses.producer(value);
      if (from == EdgeUses::no_node) return;
      level[i] = std::max(level[i], level[from] + (supported[from] && !supported[i] ? 1 : 0));
    });
    if (supported[i] && uses.is_live(i)) levels.insert(level[i]);
  }
  return levels.empty() ? 0 : *levels.rbegin() + 1;
}

TEST_CASE("a chain that is all supported is one partition") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId a = graph.add("a", x, x);
  graph.builder.user_output(graph.add("b", a, a));
  const OwnedEdgeProgram program = graph.build();
  const auto found = partition(program.view(), adds);
  CHECK(nodes_by_tag(program.view(), found) == std::map<std::string, std::string>{{"tag0", "a b"}});
  CHECK(found.partition_tags.at("tag0").backend_id == "Toy");
}

TEST_CASE("a node in between that is not supported cuts a partition in two") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId a = graph.add("a", x, x);
  const ValueId r = graph.relu("r", a);
  const ValueId b = graph.add("b", a, x);
  graph.builder.user_output(graph.add("c", r, b));
  const OwnedEdgeProgram program = graph.build();
  // "b" runs where it is needed: with "c".
  CHECK(nodes_by_tag(program.view(), partition(program.view(), adds)) ==
        std::map<std::string, std::string>{{"tag0", "a b"}, {"tag1", "c"}});
}

TEST_CASE("a node that does not depend on what is supported cuts nothing") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId a = graph.add("a", x, x);
  const ValueId r = graph.relu("r", x);
  graph.builder.user_output(graph.add("b", a, r));
  const OwnedEdgeProgram program = graph.build();
  CHECK(nodes_by_tag(program.view(), partition(program.view(), adds)) ==
        std::map<std::string, std::string>{{"tag0", "a b"}});
}

TEST_CASE("what only a later partition needs becomes part of it") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId w = graph.stored(EdgeOrigin::Parameter, "w");
  const ValueId a = graph.add("a", x, x);
  const ValueId w2 = graph.add("w2", w, w);
  const ValueId w4 = graph.add("w4", w2, w2);
  graph.builder.user_output(graph.add("b", graph.relu("r", a), w4));
  const OwnedEdgeProgram program = graph.build();
  const auto found = partition(program.view(), adds);
  CHECK(nodes_by_tag(program.view(), found) ==
        std::map<std::string, std::string>{{"tag0", "a"}, {"tag1", "w2 w4 b"}});
  CHECK(found.tag_of_value(w) == "tag1");
}

TEST_CASE("nodes that no value connects share a partition unless horizontal fusion is skipped") {
  Graph graph;
  const ValueId x = graph.input("x");
  graph.builder.user_output(graph.add("a", x, x));
  graph.builder.user_output(graph.add("b", x, x));
  const OwnedEdgeProgram program = graph.build();
  CHECK(nodes_by_tag(program.view(), partition(program.view(), adds)) ==
        std::map<std::string, std::string>{{"tag0", "a b"}});
  auto options = for_toy();
  options.skip_horizontal_fusion = true;
  options.tag_prefix = "toy_";
  CHECK(nodes_by_tag(program.view(), partition(program.view(), adds, options)) ==
        std::map<std::string, std::string>{{"toy_0", "a"}, {"toy_1", "b"}});
}

TEST_CASE("partitions of fewer nodes than asked for are left to kernels") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId a = graph.add("a", graph.add("b", x, x), x);
  graph.builder.user_output(graph.add("c", graph.relu("r", a), x));
  const OwnedEdgeProgram program = graph.build();
  auto options = for_toy();
  options.min_nodes = 2;
  const auto found = partition(program.view(), adds, options);
  CHECK(nodes_by_tag(program.view(), found) == std::map<std::string, std::string>{{"tag0", "b a"}});
  CHECK(found.partition_tags.size() == 1);
}

TEST_CASE("partitions of more nodes than a backend can have are left to kernels") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId y = graph.input("y");
  const ValueId b = graph.add("b", graph.add("a", x, x), x);
  graph.builder.user_output(graph.add("c", b, b));
  graph.builder.user_output(graph.add("d", y, y));
  const OwnedEdgeProgram program = graph.build();
  auto options = for_toy();
  options.skip_horizontal_fusion = true;
  options.max_nodes = 3;
  CHECK(nodes_by_tag(program.view(), partition(program.view(), adds, options)) ==
        std::map<std::string, std::string>{{"tag0", "a b c"}, {"tag1", "d"}});
  options.max_nodes = 2;
  const auto found = partition(program.view(), adds, options);
  CHECK(nodes_by_tag(program.view(), found) == std::map<std::string, std::string>{{"tag0", "d"}});
  CHECK(found.partition_tags.size() == 1);
}

TEST_CASE("operators that are kept are named once, in the order of the program") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId r = graph.relu("r", graph.add("a", x, x));
  graph.builder.user_output(graph.relu("s", graph.add("b", r, x)));
  const OwnedEdgeProgram program = graph.build();
  CHECK(targets_by_support(program.view(), all) ==
        std::vector<std::string>{"aten.add.Tensor", "aten.relu.default"});
  // The backend may not keep the first node of an operator.
  CHECK(targets_by_support(program.view(), [](const auto&, const EdgeNode& node) {
          return node.name() == "s";
        }) == std::vector<std::string>{"aten.relu.default"});
  CHECK(targets_by_support(program.view(), [](const auto&, const auto&) { return false; }).empty());
}

TEST_CASE("nodes without visible results get no tag") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId dead = graph.add("dead", x, x);
  graph.add("dead_too", dead, x);
  graph.builder.user_output(graph.relu("r", x));
  const OwnedEdgeProgram program = graph.build();
  const auto found = partition(program.view(), adds);
  CHECK(nodes_by_tag(program.view(), found).empty());
  CHECK(found.partition_tags.empty());
}

TEST_CASE("a program without nodes has no partitions") {
  Graph graph;
  graph.builder.user_output(graph.input("x"));
  const OwnedEdgeProgram program = graph.build();
  CHECK(partition(program.view(), all).partition_tags.empty());
}

TEST_CASE("a symbolic number joins a partition only when no other node reads it") {
  const EdgeTensor dynamic{ScalarType::Long, {{1, 9, "s0"}}};
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", dynamic);
  const auto size = [&](std::string_view name, ValueId of) {
    return graph.node_symbol("aten.sym_size.int", {{"self", EdgeRef{of}}, {"dim", std::int64_t{0}}},
                             EdgeValueKind::SymInt, {1, 9, "s0"}, name);
  };
  const auto view = [&](std::string_view name, ValueId of, ValueId symbol) {
    return graph.node("aten.view.default",
                      {{"self", EdgeRef{of}}, {"size", EdgeInts({0}, {symbol})}}, dynamic, name);
  };
  const ValueId mine = size("mine", x);
  const ValueId shared = size("shared", x);
  const ValueId a = view("a", x, mine);
  const ValueId b = view("b", a, shared);
  graph.user_output(
      graph.node("aten.relu.default", {{"self", EdgeRef{view("c", b, mine)}}}, dynamic, "r"));
  graph.user_output(
      graph.node("toy.full.default", {{"size", EdgeInts({0}, {shared})}}, dynamic, "full"));
  auto program = std::move(graph).build();
  REQUIRE(program.ok());
  const auto found = partition(program->view(), [](const EdgeProgram&, const EdgeNode& node) {
    return node.target() == "aten.view.default" || node.target() == "aten.sym_size.int";
  });
  CHECK(nodes_by_tag(program->view(), found) ==
        std::map<std::string, std::string>{{"tag0", "mine a b c"}});
}

TEST_CASE("a number that another partition reads is left to kernels if delegates give none") {
  Graph graph;
  const EdgeTensor dynamic{ScalarType::Float, {{1, 8, "s0"}}};
  const ValueId x = graph.builder.user_input("x", dynamic);
  const ValueId n = graph.builder.node_symbol("aten.sym_size.int",
                                              {{"self", EdgeRef{x}}, {"dim", std::int64_t{0}}},
                                              EdgeValueKind::SymInt, {1, 8, "s0"}, "n");
  const auto view = [&](std::string_view name, ValueId of) {
    return graph.builder.node("aten.view.default",
                              {{"self", EdgeRef{of}}, {"size", EdgeInts({0}, {n})}}, dynamic, name);
  };
  const ValueId a = view("a", x);
  const ValueId r = graph.builder.node("aten.relu.default", {{"self", EdgeRef{a}}}, dynamic, "r");
  graph.builder.user_output(view("b", r));
  const OwnedEdgeProgram program = graph.build();
  const auto supports = [](const EdgeProgram&, const EdgeNode& node) {
    return node.target() != "aten.relu.default";
  };
  CHECK(nodes_by_tag(program.view(), partition(program.view(), supports)) ==
        std::map<std::string, std::string>{{"tag0", "n a"}, {"tag1", "b"}});
  auto options = for_toy();
  options.gives_numbers = false;
  CHECK(nodes_by_tag(program.view(), partition(program.view(), supports, options)) ==
        std::map<std::string, std::string>{{"tag0", "a"}, {"tag1", "b"}});
}

TEST_CASE("symbolic numbers alone are no partition") {
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", {ScalarType::Long, {{1, 9, "s0"}}});
  graph.node_symbol("aten.sym_size.int", {{"self", EdgeRef{x}}, {"dim", std::int64_t{0}}},
                    EdgeValueKind::SymInt, {1, 9, "s0"}, "size");
  graph.user_output(x);
  auto program = std::move(graph).build();
  REQUIRE(program.ok());
  CHECK(partition(program->view(), all).partition_tags.empty());
}

TEST_CASE("an empty prefix of tags is refused") {
  Graph graph;
  graph.builder.user_output(graph.input("x"));
  const OwnedEdgeProgram program = graph.build();
  auto options = for_toy();
  options.tag_prefix.clear();
  const auto found = partition_by_support(program.view(), all, options);
  CHECK(found.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(found.text()), ContainsSubstring("tag_prefix"));
}

TEST_CASE("partitions keep the data they read, and mutated buffers on request") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId p = graph.stored(EdgeOrigin::Parameter, "p");
  const ValueId c = graph.stored(EdgeOrigin::Constant, "c");
  const ValueId unread = graph.stored(EdgeOrigin::Buffer, "unread");
  const ValueId alone = graph.stored(EdgeOrigin::Buffer, "alone");
  const ValueId shared = graph.stored(EdgeOrigin::Buffer, "shared");
  const ValueId a = graph.add("a", graph.add("ap", x, p), graph.add("ac", c, alone));
  const ValueId s = graph.add("s", a, shared);
  graph.builder.user_output(graph.relu("r", shared));
  graph.builder.user_output(graph.relu("rc", c));
  graph.builder.mutation(alone, a);
  graph.builder.mutation(shared, s);
  const OwnedEdgeProgram program = graph.build();

  const auto tagged = [](const PartitionResult& result) {
    std::vector<ValueId> out;
    for (ValueId value = 0; value < result.value_tags.size(); ++value) {
      if (!result.tag_of_value(value).empty()) out.push_back(value);
    }
    return out;
  };
  const auto stateless = partition(program.view(), adds);
  CHECK(tagged(stateless) == std::vector{p, c});
  CHECK(stateless.tag_of_value(p) == "tag0");
  auto options = for_toy();
  options.tag_mutated_buffers = true;
  CHECK(tagged(partition(program.view(), adds, options)) == std::vector{p, c, alone});
  options.tag_mutated_buffers = options.tag_constant_data = false;
  CHECK(tagged(partition(program.view(), adds, options)).empty());
  CHECK(stateless.tag_of_value(unread).empty());
}

TEST_CASE("partitions of random graphs can be ordered, are as few as can be, and are equal") {
  std::mt19937 random(8);
  for (int round = 0; round < 300; ++round) {
    const OwnedEdgeProgram program = random_graph(random, 1 + random() % 60);
    std::vector<bool> supported(program.view().num_nodes());
    for (std::size_t i = 0; i < supported.size(); ++i) supported[i] = random() % 10 < 6;
    const auto supports = [&](const EdgeProgram& graph, const EdgeNode& node) {
      return supported[node_named(graph, node.name())];
    };
    auto options = for_toy();
    options.tag_mutated_buffers = round % 2 == 0;
    const auto found = partition(program.view(), supports, options);
    const Status status = check_partition(program.view(), found);
    INFO(status.text());
    REQUIRE(status.ok());
    REQUIRE(found.partition_tags.size() == fewest_partitions(program.view(), supported));
    const EdgeUses uses(program.view());
    for (std::size_t i = 0; i < supported.size(); ++i) {
      REQUIRE(found.tag_of(i).empty() == !(supported[i] && uses.is_live(i)));
    }
    CHECK(partition(program.view(), supports, options).node_tags == found.node_tags);

    options.skip_horizontal_fusion = true;
    const auto connected = partition(program.view(), supports, options);
    const Status also = check_partition(program.view(), connected);
    INFO(also.text());
    REQUIRE(also.ok());
    REQUIRE(connected.partition_tags.size() >= found.partition_tags.size());
  }
}

TEST_CASE("a graph of ten thousand nodes is partitioned") {
  std::mt19937 random(11);
  const OwnedEdgeProgram program = random_graph(random, 10'000);
  const auto found = partition(program.view(), adds);
  CHECK(check_partition(program.view(), found).ok());
  CHECK(found.partition_tags.size() > 10);
}

}  // namespace partition_by_support_test
