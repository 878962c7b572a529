// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "support/catch.hpp"
#include "tenon/aot.hpp"
#include "tenon/aot/compiler/lower/lower.hpp"
#include "tenon/aot/edge_program_builder.hpp"

/// Graphs over vectors of four integers, and an interpreter for them.
namespace graphs {

using namespace tenon;
using namespace tenon::aot;

inline const EdgeTensor tensor{ScalarType::Long, {4}};
using Vector = std::vector<std::int64_t>;

inline SharedBytes data_of(const Vector& vector) {
  return SharedBytes::copy_of(std::as_bytes(std::span(vector)));
}

/// A graph that tests write down: nodes by letter, each the sum of two values or `relu` of one.
class Graph {
 public:
  ValueId input(std::string_view name) { return builder.user_input(name, tensor); }
  ValueId stored(EdgeOrigin origin, std::string_view name, const Vector& content = {1, 2, 3, 4}) {
    return builder.stored(origin, name, name, tensor, data_of(content));
  }
  ValueId add(std::string_view name, ValueId a, ValueId b) {
    return builder.node("aten.add.Tensor", {{"self", EdgeRef{a}}, {"other", EdgeRef{b}}}, tensor,
                        name);
  }
  ValueId relu(std::string_view name, ValueId a) {
    return builder.node("aten.relu.default", {{"self", EdgeRef{a}}}, tensor, name);
  }
  OwnedEdgeProgram build() {
    auto built = std::move(builder).build();
    INFO(built.text());
    REQUIRE(built.ok());
    return *std::move(built);
  }

  EdgeProgramBuilder builder;
};

inline std::uint32_t node_named(const EdgeProgram& program, std::string_view name) {
  for (std::uint32_t i = 0; i < program.num_nodes(); ++i) {
    if (program.node(i).name() == name) return i;
  }
  FAIL("no node is called " << name);
  return 0;
}

/// Tags by nodes' names: {{"a", "left"}, {"b", "left"}}. Every backend is called "Toy".
inline PartitionResult tags(const EdgeProgram& program,
                            const std::vector<std::pair<std::string, std::string>>& nodes) {
  PartitionResult out;
  for (const auto& [name, tag] : nodes) {
    out.tag_node(node_named(program, name), tag);
    out.partition_tags.try_emplace(tag, DelegationSpec{"Toy", {}});
  }
  return out;
}

/// Names of the nodes of each tag, by tag: "a b".
inline std::map<std::string, std::string> nodes_by_tag(const EdgeProgram& program,
                                                       const PartitionResult& partitions) {
  std::map<std::string, std::string> out;
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    const std::string tag(partitions.tag_of(i));
    if (tag.empty()) continue;
    std::string& names = out[tag];
    if (!names.empty()) names += ' ';
    names += program.node(i).name();
  }
  return out;
}

/// Contents of buffers by fully-qualified name, from one call to the next.
using State = std::map<std::string, Vector, std::less<>>;

/// Runs nodes on what is in `values`.
inline void run_node(const EdgeNode& node, std::vector<Vector>& values) {
  const auto input = [&](std::string_view name) -> const Vector& {
    const Vector& found = values[*node.find(name)->value()];
    REQUIRE(found.size() == 4);  // A value is made before it is read.
    return found;
  };
  const std::string_view target = node.target();
  std::vector<Vector> made(node.outputs().size(), Vector(4));
  for (std::size_t i = 0; i < 4; ++i) {
    if (target == "aten.add.Tensor") {
      made[0][i] = input("self")[i] + input("other")[i];
    } else if (target == "aten.mul.Tensor") {
      made[0][i] = input("self")[i] * input("other")[i] % 1009;
    } else if (target == "aten.relu.default") {
      made[0][i] = std::max<std::int64_t>(input("self")[i], 0);
    } else if (target == "toy.both.default") {
      made[0][i] = input("self")[i] - 3;
      made[1][i] = input("self")[i] * 2 % 1009;
    } else {
      FAIL("the interpreter does not know " << target);
    }
  }
  for (std::size_t i = 0; i < made.size(); ++i) values[node.outputs()[i]] = made[i];
}

inline void load(const EdgeProgram& program, const std::vector<Vector>& inputs, const State& state,
                 std::vector<Vector>& values) {
  for (ValueId id = 0; id < program.num_values(); ++id) {
    const EdgeValue value = program.value(id);
    if (!value.has_fqn()) continue;
    const auto kept = state.find(value.fqn());
    if (kept != state.end()) {
      values[id] = kept->second;
    } else {
      values[id].resize(4);
      std::memcpy(values[id].data(), value.data().data(), value.data().size());
    }
  }
  REQUIRE(inputs.size() == program.inputs().size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[program.inputs()[i]] = inputs[i];
}

/// User outputs; new contents of buffers go to `state`.
inline std::vector<Vector> finish(const EdgeProgram& program,
                                  const std::vector<EdgeOutput>& outputs,
                                  const std::vector<Vector>& values, State& state) {
  std::vector<Vector> out;
  for (const EdgeOutput& output : outputs) {
    REQUIRE(values[output.value].size() == 4);
    if (output.kind == EdgeOutputKind::UserOutput) out.push_back(values[output.value]);
    if (output.kind == EdgeOutputKind::BufferMutation) {
      state[std::string(program.value(output.target).fqn())] = values[output.value];
    }
  }
  return out;
}

inline std::vector<EdgeOutput> outputs_of(const EdgeProgram& program) {
  std::vector<EdgeOutput> out;
  for (std::size_t i = 0; i < program.num_outputs(); ++i) out.push_back(program.output(i));
  return out;
}

inline std::vector<Vector> run(const EdgeProgram& program, const std::vector<Vector>& inputs,
                               State& state) {
  std::vector<Vector> values(program.num_values());
  load(program, inputs, state, values);
  for (std::size_t i = 0; i < program.num_nodes(); ++i) run_node(program.node(i), values);
  return finish(program, outputs_of(program), values, state);
}

/// Each partition has state of its own.
inline std::vector<Vector> run(const LoweredProgram& lowered, const std::vector<Vector>& inputs,
                               State& state, std::vector<State>& states) {
  std::vector<Vector> values(lowered.program.num_values());
  load(lowered.program, inputs, state, values);
  for (const LoweredStep& step : lowered.steps) {
    if (const auto* node = std::get_if<NodeStep>(&step)) {
      run_node(lowered.program.node(node->node), values);
      continue;
    }
    const std::uint32_t number = std::get<DelegateStep>(step).partition;
    const LoweredPartition& part = lowered.partitions[number];
    std::vector<Vector> arguments;
    for (const ValueId id : part.inputs) {
      REQUIRE(values[id].size() == 4);
      arguments.push_back(values[id]);
    }
    const auto made = run(part.program.view(), arguments, states[number]);
    REQUIRE(made.size() == part.outputs.size());
    for (std::size_t i = 0; i < made.size(); ++i) values[part.outputs[i]] = made[i];
  }
  return finish(lowered.program, lowered.outputs, values, state);
}

/// A graph of `size` nodes that reads values at random from earlier nodes; some of it is not used,
/// some is given out twice, and half of the buffers change.
inline OwnedEdgeProgram random_graph(std::mt19937& random, std::size_t size) {
  const auto below = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  Graph graph;
  std::vector<ValueId> values;
  std::vector<ValueId> buffers;
  for (int i = 0; i < 3; ++i) values.push_back(graph.input(concat("x", i)));
  for (int i = 0; i < 3; ++i) {
    const auto content = Vector{static_cast<std::int64_t>(below(9)), -3, 2, i};
    values.push_back(graph.stored(EdgeOrigin::Parameter, concat("p", i), content));
    buffers.push_back(graph.stored(EdgeOrigin::Buffer, concat("b", i), content));
    values.push_back(buffers.back());
  }
  std::vector<ValueId> made;
  // Mostly recent values: long chains with shortcuts.
  const auto pick = [&] {
    const std::size_t window = std::min<std::size_t>(values.size(), 4 + below(12));
    return values[below(4) == 0 ? below(values.size()) : values.size() - 1 - below(window)];
  };
  for (std::size_t i = 0; i < size; ++i) {
    const std::string name = concat("n", i);
    switch (below(4)) {
      case 0:
        made.push_back(graph.relu(name, pick()));
        break;
      case 1:
        made.push_back(graph.add(name, pick(), pick()));
        break;
      case 2:
        made.push_back(graph.builder.node("aten.mul.Tensor",
                                          {{"self", EdgeRef{pick()}}, {"other", EdgeRef{pick()}}},
                                          tensor, name));
        break;
      default: {
        const ValueId from = pick();
        const ValueId first = graph.builder.node_output(concat(name, "_0"), tensor);
        made.push_back(graph.builder.node_output(concat(name, "_1"), tensor));
        graph.builder.add_node(name, "toy.both.default", {{"self", EdgeRef{from}}},
                               {first, made.back()});
        values.push_back(first);
      }
    }
    values.push_back(made.back());
  }
  for (std::size_t i = 0; i < 1 + below(4); ++i) {
    graph.builder.user_output(below(5) == 0 ? values[below(values.size())] : made[below(size)]);
  }
  for (const ValueId buffer : buffers) {
    if (below(2) == 0) graph.builder.mutation(buffer, made[below(size)]);
  }
  return graph.build();
}

}  // namespace graphs
