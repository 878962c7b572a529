// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/pt2_reader.hpp"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "tenon/aot/compiler/edge_program_text.hpp"

using namespace tenon;
using namespace tenon::aot;

// The archives are what torch 2.15 wrote: tests/live/export_pt2.py made them.
namespace reader_test {

std::filesystem::path fixture(std::string_view name) {
  return std::filesystem::path(TENON_TEST_FIXTURES) / "pt2" / name / "model.pt2";
}

Pt2Program read(std::string_view name) {
  auto program = read_pt2(fixture(name));
  INFO(program.text());
  REQUIRE(program.ok());
  return *std::move(program);
}

/// The only method.
OwnedEdgeProgram forward(std::string_view name) {
  Pt2Program program = read(name);
  REQUIRE(program.methods.size() == 1);
  CHECK(program.methods[0].name == "forward");
  return std::move(program.methods[0].program);
}

EdgeValue value(const OwnedEdgeProgram& program, std::string_view name) {
  const auto id = program.view().find_value(name);
  INFO(name);
  REQUIRE(id);
  return program.view().value(*id);
}

EdgeNode node(const OwnedEdgeProgram& program, std::string_view name) {
  for (std::size_t i = 0; i < program.view().num_nodes(); ++i) {
    if (program.view().node(i).name() == name) return program.view().node(i);
  }
  FAIL("there is no node " << name);
  return program.view().node(0);
}

template <class T>
std::vector<T> elements(const EdgeValue& value) {
  std::vector<T> out(value.data().size() / sizeof(T));
  REQUIRE(out.size() * sizeof(T) == value.data().size());
  if (!out.empty()) std::memcpy(out.data(), value.data().data(), value.data().size());
  return out;
}

std::vector<int> order(const EdgeValue& value) {
  return {value.dim_order().begin(), value.dim_order().end()};
}

}  // namespace reader_test

using namespace reader_test;

TEST_CASE("an MLP is read as it was exported", "[pt2]") {
  const OwnedEdgeProgram mlp = forward("mlp");
  CHECK(to_text(mlp.view()) ==
        "method \"forward\"\n"
        "input x: Float[2, 16]\n"
        "parameter p_fc1_weight \"fc1.weight\": Float[32, 16]\n"
        "parameter p_fc1_bias \"fc1.bias\": Float[32]\n"
        "parameter p_fc2_weight \"fc2.weight\": Float[10, 32]\n"
        "parameter p_fc2_bias \"fc2.bias\": Float[10]\n"
        "1 linear: Float[2, 32] = aten.linear.default(input=x, weight=p_fc1_weight, "
        "bias=p_fc1_bias)  # fc1\n"
        "2 relu: Float[2, 32] = aten.relu.default(self=linear)\n"
        "3 linear_1: Float[2, 10] = aten.linear.default(input=relu, weight=p_fc2_weight, "
        "bias=p_fc2_bias)  # fc2\n"
        "4 softmax: Float[2, 10] = aten.softmax.int(self=linear_1, dim=-1)\n"
        "output softmax\n");
}

TEST_CASE("an MLP is read in Core ATen operators", "[pt2]") {
  const OwnedEdgeProgram mlp = forward("mlp_decomposed");
  std::vector<std::string> targets;
  for (std::size_t i = 0; i < mlp.view().num_nodes(); ++i) {
    targets.emplace_back(mlp.view().node(i).target());
  }
  CHECK(targets == std::vector<std::string>{"aten.permute.default", "aten.addmm.default",
                                            "aten.relu.default", "aten.permute.default",
                                            "aten.addmm.default", "aten._softmax.default"});
  CHECK(value(mlp, "p_fc1_weight").data().size() == 32 * 16 * sizeof(float));
  CHECK(node(mlp, "addmm").module_path() == "fc1");
  CHECK(node(mlp, "relu").module_path().empty());
}
