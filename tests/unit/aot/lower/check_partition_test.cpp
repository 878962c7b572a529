// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "graphs.hpp"
#include "support/catch.hpp"
#include "tenon/aot/compiler/lower/check_partition.hpp"

namespace check_partition_test {

using namespace graphs;

void refused(const EdgeProgram& program, const PartitionResult& partitions, const std::string& text,
             const LowerOptions& options = {}) {
  const Status status = check_partition(program, partitions, options);
  CHECK(status.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(status.text()), ContainsSubstring(text));
  CHECK(lower(program, partitions, options).error() == Error::InvalidArgument);
}

/// x -> a -> r -> b, and a -> b.
struct Diamond {
  Diamond() {
    Graph graph;
    x = graph.input("x");
    w = graph.stored(EdgeOrigin::Parameter, "w");
    const ValueId a = graph.add("a", x, w);
    const ValueId r = graph.relu("r", a);
    b = graph.add("b", r, a);
    graph.builder.user_output(b);
    owned.emplace(graph.build());
  }
  [[nodiscard]] EdgeProgram program() const { return owned->view(); }

  ValueId x = no_value;
  ValueId w = no_value;
  ValueId b = no_value;
  std::optional<OwnedEdgeProgram> owned;
};

TEST_CASE("a good partition passes, also one whose tag no node has") {
  const Diamond diamond;
  auto partitions = tags(diamond.program(), {{"a", "t"}, {"r", "t"}, {"b", "t"}});
  partitions.partition_tags["unused"] = {"Toy", {}};
  CHECK(check_partition(diamond.program(), partitions).ok());
}

TEST_CASE("a tag without delegation spec is refused") {
  const Diamond diamond;
  auto partitions = tags(diamond.program(), {{"a", "t"}});
  partitions.tag_node(1, "other");
  refused(diamond.program(), partitions, "node 'r' has tag 'other', which has no");
}

TEST_CASE("a delegation spec without backend, and an empty tag, are refused") {
  const Diamond diamond;
  auto partitions = tags(diamond.program(), {{"a", "t"}});
  partitions.partition_tags["t"].backend_id.clear();
  refused(diamond.program(), partitions, "the delegation spec of tag 't' names no backend");
  partitions.partition_tags.clear();
  partitions.partition_tags[""] = {"Toy", {}};
  refused(diamond.program(), partitions, "the tag of a partition for backend 'Toy' is empty");
}

TEST_CASE("tags for nodes and values that do not exist are refused") {
  const Diamond diamond;
  auto partitions = tags(diamond.program(), {{"a", "t"}});
  partitions.tag_value(1000, "t");
  refused(diamond.program(), partitions, "value 1000 has tag 't', but the program has 5 values");
  partitions.tag_value(1000, "");
  CHECK(check_partition(diamond.program(), partitions).ok());
  partitions.tag_node(7, "t");
  refused(diamond.program(), partitions, "node 7 has tag 't', but the program has 3 nodes");
  partitions.tag_node(7, "");
  CHECK(check_partition(diamond.program(), partitions).ok());
}

TEST_CASE("a tag on what a node or the caller makes is refused") {
  const Diamond diamond;
  auto partitions = tags(diamond.program(), {{"a", "t"}});
  partitions.tag_value(diamond.x, "t");
  refused(diamond.program(), partitions,
          "'x' has tag 't', but is not a parameter, buffer or constant");
  partitions.value_tags.clear();
  partitions.tag_value(diamond.b, "t");
  refused(diamond.program(), partitions, "'b' has tag 't', but is not a parameter");
  partitions.value_tags.clear();
  partitions.tag_value(diamond.w, "unknown");
  refused(diamond.program(), partitions, "value 'w' has tag 'unknown', which has no");
}

TEST_CASE("a partition that is not convex is refused with the path") {
  const Diamond diamond;
  refused(diamond.program(), tags(diamond.program(), {{"a", "t"}, {"b", "t"}}),
          "partition 't' is not convex: a path leaves it and comes back: 'a' (t) -> 'r' (left to "
          "kernels) -> 'b' (t)");
}

TEST_CASE("partitions that need each other are refused with the paths") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId a = graph.add("a", x, x);
  const ValueId b = graph.add("b", x, x);
  graph.builder.user_output(graph.relu("c", a));
  graph.builder.user_output(graph.relu("d", b));
  const OwnedEdgeProgram program = graph.build();
  // Each is convex: no path comes back to where it began.
  refused(program.view(), tags(program.view(), {{"a", "p"}, {"d", "p"}, {"b", "q"}, {"c", "q"}}),
          "partitions 'p' and 'q' each need what the other one makes: 'a' (p) -> 'c' (q), 'b' (q) "
          "-> 'd' (p)");
}

TEST_CASE("a path through another partition is refused, too") {
  const Diamond diamond;
  refused(diamond.program(), tags(diamond.program(), {{"a", "t"}, {"r", "u"}, {"b", "t"}}),
          "partitions 't' and 'u' each need what the other one makes: 'a' (t) -> 'r' (u), 'r' (u) "
          "-> 'b' (t)");
}

TEST_CASE("shared constant data is refused only when it must not be duplicated") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId w = graph.stored(EdgeOrigin::Parameter, "w");
  const ValueId out = graph.stored(EdgeOrigin::Constant, "out");
  graph.builder.user_output(graph.add("a", x, w));
  graph.builder.user_output(graph.add("b", graph.relu("r", w), out));
  graph.builder.user_output(out);
  const OwnedEdgeProgram program = graph.build();
  auto partitions = tags(program.view(), {{"a", "t"}, {"b", "u"}});
  partitions.tag_value(w, "t");
  CHECK(check_partition(program.view(), partitions).ok());
  const LowerOptions no_copy{.duplicate_constants = false};
  refused(program.view(), partitions,
          "constant data 'w' is tagged with 't' but read by 'r', which is not in that partition",
          no_copy);
  partitions.value_tags.clear();
  partitions.tag_value(out, "u");
  refused(program.view(), partitions, "'out' is tagged with 'u' but the method returns it",
          no_copy);
}

TEST_CASE("a tagged mutated buffer must be read, made and seen in its partition alone") {
  const auto refusal = [](const std::string& text, const auto& change) {
    Graph graph;
    const ValueId x = graph.input("x");
    const ValueId state = graph.stored(EdgeOrigin::Buffer, "state");
    const ValueId a = graph.add("a", x, state);
    const ValueId r = graph.relu("r", x);
    graph.builder.mutation(state, change(graph, state, a, r));
    graph.builder.user_output(graph.add("z", a, a));
    graph.builder.user_output(r);
    const OwnedEdgeProgram program = graph.build();
    auto partitions = tags(program.view(), {{"a", "t"}});
    partitions.tag_value(state, "t");
    if (text.empty()) {
      CHECK(check_partition(program.view(), partitions).ok());
    } else {
      refused(program.view(), partitions, text);
    }
  };
  refusal("", [](Graph&, ValueId, ValueId a, ValueId) { return a; });
  refusal("'state' is tagged with 't' but 'other' reads it, which is not in that partition",
          [](Graph& graph, ValueId state, ValueId a, ValueId) {
            graph.builder.user_output(graph.relu("other", state));
            return a;
          });
  refusal("'state' is tagged with 't' and is an output of the method itself",
          [](Graph& graph, ValueId state, ValueId a, ValueId) {
            graph.builder.user_output(state);
            return a;
          });
  refusal("its new content 'r' is not made in that partition",
          [](Graph&, ValueId, ValueId, ValueId r) { return r; });
  refusal("its new content 'x' is not made in that partition",
          [](Graph&, ValueId, ValueId, ValueId) { return ValueId{0}; });
  refusal("its new content 'a' is also another output of the method",
          [](Graph& graph, ValueId, ValueId a, ValueId) {
            graph.builder.user_output(a);
            return a;
          });
}

/// Whether partitions can be ordered, found out the slow way: no unit reaches itself.
bool can_be_ordered(const EdgeProgram& program, const PartitionResult& partitions) {
  const EdgeUses uses(program);
  std::map<std::string, std::size_t> tags_seen;
  std::vector<std::size_t> unit(program.num_nodes());
  for (std::size_t i = 0; i < unit.size(); ++i) {
    const std::string tag(partitions.tag_of(i));
    unit[i] = tag.empty() ? i : tags_seen.try_emplace(tag, i).first->second;
  }
  std::vector<std::vector<bool>> reaches(unit.size(), std::vector<bool>(unit.size(), false));
  for (std::size_t i = 0; i < unit.size(); ++i) {
    for (const ValueId value : program.node(i).outputs()) {
      for (const std::uint32_t user : uses.users(value)) {
        if (uses.is_live(user) && unit[i] != unit[user]) reaches[unit[i]][unit[user]] = true;
      }
    }
  }
  for (std::size_t k = 0; k < unit.size(); ++k) {
    for (std::size_t i = 0; i < unit.size(); ++i) {
      for (std::size_t j = 0; reaches[i][k] && j < unit.size(); ++j) {
        if (reaches[k][j]) reaches[i][j] = true;
      }
    }
  }
  for (std::size_t i = 0; i < unit.size(); ++i) {
    if (reaches[i][i]) return false;
  }
  return true;
}

TEST_CASE("tags at random are accepted exactly when the partitions can be ordered") {
  std::mt19937 random(77);
  int accepted = 0;
  for (int round = 0; round < 500; ++round) {
    const OwnedEdgeProgram owned = random_graph(random, 8 + random() % 24);
    PartitionResult partitions;
    partitions.partition_tags = {{"p", {"Toy", {}}}, {"q", {"Toy", {}}}};
    for (std::size_t i = 0; i < owned.view().num_nodes(); ++i) {
      const auto which = random() % 5;
      if (which < 2) partitions.tag_node(i, which == 0 ? "p" : "q");
    }
    const Status status = check_partition(owned.view(), partitions);
    INFO(status.text());
    REQUIRE(status.ok() == can_be_ordered(owned.view(), partitions));
    if (status.ok()) ++accepted;
  }
  CHECK(accepted > 50);
  CHECK(accepted < 450);
}

TEST_CASE("uses list the producer and readers of values, and nodes that need not run") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId twice = graph.add("twice", x, x);
  const ValueId dead = graph.relu("dead", twice);
  const ValueId written =
      graph.builder.node("aten.add_.Tensor", {{"self", EdgeRef{twice}}}, tensor);
  const ValueId kept = graph.builder.node("aten.__and__.Scalar", {{"self", EdgeRef{dead}}}, tensor);
  graph.builder.user_output(x);
  const OwnedEdgeProgram owned = graph.build();
  const EdgeUses uses(owned.view());
  CHECK(uses.producer(x) == EdgeUses::no_node);
  CHECK(uses.producer(twice) == 0);
  CHECK(std::ranges::equal(uses.users(x), std::vector<std::uint32_t>{0}));
  CHECK(std::ranges::equal(uses.users(twice), std::vector<std::uint32_t>{1, 2}));
  CHECK(uses.users(written).empty());
  CHECK(uses.is_output(x));
  CHECK_FALSE(uses.is_output(kept));
  // A node that writes to its argument runs although its result is not read; so do its inputs.
  CHECK(uses.is_live(0));
  CHECK_FALSE(uses.is_live(1));
  CHECK(uses.is_live(2));
  CHECK_FALSE(uses.is_live(3));
}

}  // namespace check_partition_test
