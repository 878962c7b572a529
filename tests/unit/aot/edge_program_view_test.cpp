// SPDX-License-Identifier: MIT
//
// Views of what the other side of the boundary built, perhaps with newer headers: its structs may
// be larger than these, and its arrays are walked in its steps.
#include <array>
#include <cstdint>
#include <string>
#include <tenon/aot.hpp>
#include <vector>

#include "support/catch.hpp"

namespace edge_program_view_test {

using namespace tenon::aot;
using tenon::ScalarType;

/// A struct of the boundary as a later version may have it.
template <class Known>
struct Later {
  Known known;
  std::uint64_t unknown[3] = {~0ull, ~0ull, ~0ull};

  Later(Known value) : known(value) { known.struct_size = sizeof(Later); }
};

template <class Known>
const Known* first(const std::vector<Later<Known>>& all) {
  return &all.front().known;
}

TEST_CASE("a program of a later version reads in its own steps", "[aot]") {
  const std::vector<Later<tenon_edge_size>> sizes = {tenon_edge_size{0, 0, nullptr, 2, 2},
                                                     tenon_edge_size{0, 0, "s0", 1, 9},
                                                     tenon_edge_size{0, 0, nullptr, 5, 5}};
  const std::array<std::uint8_t, 3> dim_order = {2, 1, 0};
  tenon_edge_value value{};
  value.kind = TENON_EDGE_TENSOR;
  value.origin = TENON_EDGE_USER_INPUT;
  value.rank = 3;
  value.name = "x";
  value.sizes = first(sizes);
  value.dim_order = dim_order.data();
  value.scalar_type = static_cast<std::int8_t>(ScalarType::Half);
  value.device = {TENON_DL_CUDA, 1};
  tenon_edge_value made = value;
  made.origin = TENON_EDGE_FROM_NODE;
  made.name = "y";
  const std::vector<Later<tenon_edge_value>> values = {value, made, made};

  tenon_edge_argument self{};
  self.kind = TENON_EDGE_ARG_VALUE;
  self.name = "self";
  self.as.value = 0;
  tenon_edge_argument scale = self;
  scale.kind = TENON_EDGE_ARG_INT;
  scale.name = "scale";
  scale.as.integer = -3;
  const std::vector<Later<tenon_edge_argument>> arguments = {self, scale};
  const std::array<std::uint32_t, 2> made_values = {1, 2};

  tenon_edge_node node{};
  node.debug_handle = 7;
  node.name = "first";
  node.target = "acme.scale.default";
  node.arguments = first(arguments);
  node.num_arguments = 2;
  node.outputs = made_values.data();
  node.num_outputs = 2;
  tenon_edge_node second = node;
  second.name = "second";
  second.module_path = "head";
  const std::vector<Later<tenon_edge_node>> nodes = {node, second};

  tenon_edge_output given{};
  given.kind = TENON_EDGE_USER_OUTPUT;
  given.value = 1;
  given.target = TENON_NO_VALUE;
  tenon_edge_output mutated = given;
  mutated.kind = TENON_EDGE_USER_INPUT_MUTATION;
  mutated.value = 2;
  mutated.target = 0;
  const std::vector<Later<tenon_edge_output>> outputs = {given, mutated};
  const std::array<std::uint32_t, 1> inputs = {0};

  tenon_edge_program raw{};
  raw.num_values = 3;
  raw.method_name = "forward";
  raw.values = first(values);
  raw.nodes = first(nodes);
  raw.inputs = inputs.data();
  raw.outputs = first(outputs);
  raw.num_nodes = 2;
  raw.num_inputs = 1;
  raw.num_outputs = 2;
  const Later<tenon_edge_program> later(raw);

  const EdgeProgram program(later.known);
  REQUIRE(program.num_values() == 3);
  CHECK(program.value(2).name() == "y");
  CHECK(program.value(2).origin() == EdgeOrigin::Node);
  CHECK(program.find_value("x") == 0u);
  const EdgeValue x = program.value(0);
  CHECK(x.scalar_type() == ScalarType::Half);
  CHECK(x.device().device_id == 1);
  CHECK(x.size(1) == EdgeSize{1, 9, "s0"});
  CHECK(x.size(2) == EdgeSize{5, 5, {}});
  CHECK(x.dim_order()[0] == 2);
  CHECK(x.max_numel() == 90);
  CHECK_FALSE(x.is_static());

  REQUIRE(program.num_nodes() == 2);
  CHECK(program.node(0).module_path().empty());
  CHECK(program.node(1).module_path() == "head");
  CHECK(program.node(1).name() == "second");
  CHECK(program.node(1).argument(1).name() == "scale");
  CHECK(program.node(1).find("scale")->integer() == -3);
  CHECK(program.node(0).outputs()[1] == 2);

  REQUIRE(program.num_outputs() == 2);
  CHECK(program.output(1).kind == EdgeOutputKind::UserInputMutation);
  CHECK(program.output(1).value == 2);
  CHECK(program.output(1).target == 0);
  CHECK(&program.raw() == &later.known);
}

TEST_CASE("a program without anything reads as empty", "[aot]") {
  tenon_edge_program raw{};
  raw.struct_size = sizeof raw;
  raw.method_name = "nothing";
  const EdgeProgram program(raw);
  CHECK(program.method_name() == "nothing");
  CHECK(program.num_values() == 0);
  CHECK(program.num_nodes() == 0);
  CHECK(program.num_outputs() == 0);
  CHECK(program.inputs().empty());
  CHECK_FALSE(program.find_value("x").has_value());
}

TEST_CASE("a node without arguments finds none", "[aot]") {
  tenon_edge_node raw{};
  raw.struct_size = sizeof raw;
  raw.name = "n";
  raw.target = "acme.nothing.default";
  const EdgeNode node(raw);
  CHECK_FALSE(node.find("self").has_value());
  CHECK(node.outputs().empty());
  int visited = 0;
  node.for_each_input([&](ValueId) { ++visited; });
  CHECK(visited == 0);
}

}  // namespace edge_program_view_test
