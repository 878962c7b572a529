// SPDX-License-Identifier: MIT
//
// A copy that a backend edits before it compiles: all of the program, and nothing of the original.
#include "tenon/aot/edge_program_copy.hpp"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tenon/aot/compiler/lower/edge_program_text.hpp"
#include "tenon/aot/edge_program_builder.hpp"

namespace edge_program_copy_test {

using namespace tenon;
using namespace tenon::aot;

const std::vector<float> weights = {1.0f, 2.0f, 3.0f, 4.0f};

/// A program with every kind of argument.
OwnedEdgeProgram rich_program() {
  const EdgeTensor tensor{ScalarType::Float, {{1, 8, "s0"}, 4}};
  EdgeProgramBuilder graph("forward");
  const ValueId x = graph.user_input("x", tensor);
  const ValueId n = graph.user_input_symbol("n", {0, 9, "s1"});
  const ValueId b = graph.stored(EdgeOrigin::Buffer, "b_b", "stage.b", {ScalarType::Float, {4}, {}},
                                 SharedBytes::copy_of(std::as_bytes(std::span(weights))));
  const ValueId late = graph.stored(EdgeOrigin::Parameter, "p_late", "late",
                                    {ScalarType::Float, {4}}, SharedBytes());
  const ValueId sum =
      graph.node("aten.add.Tensor", {{"self", EdgeRef{x}}, {"other", EdgeRef{b}}}, tensor);
  const ValueId odd = graph.node("test.odd.default",
                                 {{"none", std::monostate{}},
                                  {"values", std::vector<ValueId>{sum, no_value, late}},
                                  {"flag", true},
                                  {"count", std::int64_t{-7}},
                                  {"scale", 0.25},
                                  {"mode", std::string("mean")},
                                  {"flags", std::vector<bool>{true, false}},
                                  {"sizes", EdgeInts({1, 2}, {no_value, n})},
                                  {"reals", std::vector<double>{0.5, 1.5}},
                                  {"layout", EdgeEnumerator{EdgeArgumentKind::Layout, 0}},
                                  {"device", tenon_dl_device{TENON_DL_CPU, 0}}},
                                 tensor);
  graph.mutation(b, odd);
  graph.user_output(sum);
  auto built = std::move(graph).build();
  REQUIRE(built.ok());
  return *std::move(built);
}

TEST_CASE("a copy says what the original says", "[aot][S0.9]") {
  const OwnedEdgeProgram original = rich_program();
  const EdgeProgramCopy copy(original.view());
  CHECK(to_text(copy.view()) == to_text(original.view()));
  for (ValueId id = 0; id < copy.num_values(); ++id) {
    CHECK(copy.view().value(id).data().data() == original.view().value(id).data().data());
    CHECK(copy.view().value(id).name().data() != original.view().value(id).name().data());
  }
}

TEST_CASE("what is edited in a copy is not edited in the original", "[aot][S0.9]") {
  const OwnedEdgeProgram original = rich_program();
  const std::string before = to_text(original.view());
  EdgeProgramCopy copy(original.view());
  copy.node(0).target = copy.keep("aten.sub.Tensor");
  copy.node(1).name = copy.keep(std::string(300, 'n'));
  copy.argument(1, 3).as.integer = 8;
  const std::vector<double> reals = {9.0, 8.0, 7.0};
  copy.argument(1, 8).as.reals = copy.keep(std::span<const double>(reals));
  copy.argument(1, 8).count = 3;
  copy.value(0).name = copy.keep("renamed");
  const std::span<std::byte> data = copy.data(2);
  REQUIRE(data.size() == 16);
  const float nine = 9.0f;
  std::memcpy(data.data(), &nine, sizeof nine);
  CHECK(copy.data(2).data() == data.data());

  const EdgeProgram edited = copy.view();
  CHECK(edited.node(0).target() == "aten.sub.Tensor");
  CHECK(edited.node(1).name().size() == 300);
  CHECK(edited.node(1).find("count")->integer() == 8);
  CHECK(edited.node(1).find("reals")->doubles()->size() == 3);
  CHECK(edited.value(0).name() == "renamed");
  CHECK(std::memcmp(edited.value(2).data().data(), &nine, sizeof nine) == 0);

  CHECK(to_text(original.view()) == before);
  CHECK(std::memcmp(original.view().value(2).data().data(), weights.data(), 16) == 0);
}

TEST_CASE("a value without data has none to edit", "[aot]") {
  const OwnedEdgeProgram original = rich_program();
  EdgeProgramCopy copy(original.view());
  CHECK(copy.data(0).empty());
  CHECK(copy.data(3).empty());
}

TEST_CASE("a node is erased and those behind it move up", "[aot]") {
  const OwnedEdgeProgram original = rich_program();
  EdgeProgramCopy copy(original.view());
  copy.erase_node(0);
  REQUIRE(copy.num_nodes() == 1);
  CHECK(copy.view().node(0).target() == "test.odd.default");
  copy.erase_node(0);
  CHECK(copy.num_nodes() == 0);
  CHECK(original.view().num_nodes() == 2);
}

TEST_CASE("a copy outlives a description, may be moved, and may be empty", "[aot]") {
  std::string text;
  auto original = std::make_unique<OwnedEdgeProgram>(rich_program());
  text = to_text(original->view());
  EdgeProgramCopy copy(original->view());
  for (ValueId id = 0; id < copy.num_values(); ++id) static_cast<void>(copy.data(id));
  original.reset();
  const EdgeProgramCopy moved = std::move(copy);
  CHECK(to_text(moved.view()) == text);
  auto nothing = EdgeProgramBuilder("empty").build();
  REQUIRE(nothing.ok());
  CHECK(EdgeProgramCopy(nothing->view()).num_nodes() == 0);
}

TEST_CASE("structs that are longer or shorter than this header's are copied", "[aot]") {
  const OwnedEdgeProgram original = rich_program();
  tenon_edge_program program = original.view().raw();
  struct Longer {
    tenon_edge_output output;
    std::uint64_t more;
  };
  std::vector<Longer> outputs;
  for (std::uint32_t i = 0; i < program.num_outputs; ++i) {
    outputs.push_back({program.outputs[i], 77});
    outputs.back().output.struct_size = sizeof(Longer);
  }
  program.outputs = &outputs[0].output;
  const EdgeProgramCopy copy{EdgeProgram(program)};
  CHECK(copy.view().output(1).value == original.view().output(1).value);
  CHECK(copy.view().raw().outputs->struct_size == sizeof(tenon_edge_output));
}

}  // namespace edge_program_copy_test
