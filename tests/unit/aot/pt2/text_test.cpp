// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/lower/edge_program_text.hpp"

#include <string>

#include "support/catch.hpp"
#include "tenon/aot/edge_program_builder.hpp"

using namespace tenon;
using namespace tenon::aot;

TEST_CASE("a program is printed with a line for each of its parts", "[pt2]") {
  EdgeProgramBuilder graph("forward");
  const EdgeTensor::Size batch(1, 16, "s77");
  const ValueId x = graph.user_input("x", {ScalarType::Float, {batch, 4}});
  const ValueId image = graph.user_input("image", {ScalarType::Half, {1, 2, 3, 4}, {0, 2, 3, 1}});
  const ValueId weight =
      graph.stored(EdgeOrigin::Parameter, "p_w", "fc.weight", {ScalarType::Float, {4}}, {});
  const ValueId total =
      graph.stored(EdgeOrigin::Buffer, "b_total", "total", {ScalarType::Float, {4}}, {});
  const ValueId rows = graph.node_symbol("aten.sym_size.int", {{"self", EdgeRef{x}}, {"dim", 0L}},
                                         EdgeValueKind::SymInt, batch, "rows");
  const ValueId twice =
      graph.node_output_symbol("twice", EdgeValueKind::SymBool, {0, 1, "s77 > 2"});
  const ValueId half = graph.node_output("half", {ScalarType::Float, {{2, 32, "2*s77"}, 4}});
  graph.add_node("split", "my.split.default",
                 {{"self", EdgeRef{x}},
                  {"size", EdgeInts({0, 2}, {rows, no_value})},
                  {"tensors", std::vector<ValueId>{weight, no_value}},
                  {"flags", std::vector<bool>{true, false}},
                  {"scales", std::vector<double>{0.5, 2.0}},
                  {"mode", std::string("tanh\n")},
                  {"nothing", std::monostate()},
                  {"dtype", EdgeEnumerator{EdgeArgumentKind::ScalarType, 5}},
                  {"layout", EdgeEnumerator{EdgeArgumentKind::Layout, 0}},
                  {"memory_format", EdgeEnumerator{EdgeArgumentKind::MemoryFormat, 2}},
                  {"device", tenon_dl_device{TENON_DL_CUDA, 1}},
                  {"alpha", 1.5},
                  {"training", false}},
                 {half, twice}, "encoder.0");
  graph.add_node("check", "my.check.default", {{"a", EdgeRef{image}}}, {});
  graph.user_output(half);
  graph.mutation(total, weight);
  const auto program = std::move(graph).build();
  REQUIRE(program.ok());

  CHECK(
      to_text(program->view()) ==
      "method \"forward\"\n"
      "size 2*s77: 2 to 32\n"
      "size s77: 1 to 16\n"
      "input x: Float[s77, 4]\n"
      "input image: Half[1, 2, 3, 4] order 0,2,3,1\n"
      "parameter p_w \"fc.weight\": Float[4]\n"
      "buffer b_total \"total\": Float[4]\n"
      "1 rows: int s77 = aten.sym_size.int(self=x, dim=0)\n"
      "2 half: Float[2*s77, 4], twice: bool s77 > 2 = my.split.default(self=x, size=[rows, 2], "
      "tensors=[p_w, None], flags=[true, false], scales=[0.5, 2], mode=\"tanh\\n\", nothing=None, "
      "dtype=Half, layout=strided, memory_format=channels last, device=device 2:1, alpha=1.5, "
      "training=false)  # encoder.0\n"
      "3 my.check.default(a=image)\n"
      "output half\n"
      "buffer b_total becomes p_w\n");
}
