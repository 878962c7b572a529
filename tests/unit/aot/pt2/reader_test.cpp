// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/pt2/reader.hpp"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "tenon/aot/compiler/lower/edge_program_text.hpp"
#include "tenon/core/concat.hpp"

using namespace tenon;
using namespace tenon::aot;

// The archives are what torch 2.15 wrote: tests/live/exporters/export_pt2.py made them.
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

TEST_CASE("an MLP is read unchanged", "[pt2]") {
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

TEST_CASE("sizes that are known at run time come with their range", "[pt2]") {
  for (const std::string_view name : {"vision", "vision_decomposed"}) {
    const OwnedEdgeProgram vision = forward(name);
    const EdgeValue x = value(vision, "x");
    REQUIRE(x.rank() == 4);
    CHECK(x.size(0) == EdgeSize{1, 16, "s77"});
    CHECK(x.size(0).min == 1);
    CHECK(x.size(0).max == 16);
    CHECK(x.size(1).is_static());
    CHECK(x.max_numel() == 16 * 3 * 16 * 16);
    CHECK(value(vision, "relu").size(0) == x.size(0));
  }
}

TEST_CASE("operators with several outputs keep unused ones", "[pt2]") {
  const OwnedEdgeProgram vision = forward("vision_decomposed");
  const EdgeNode norm = node(vision, "_native_batch_norm_legit_no_training");
  REQUIRE(norm.outputs().size() == 3);
  CHECK(vision.view().value(norm.outputs()[1]).max_numel() == 0);
  const EdgeNode pool = node(vision, "max_pool2d_with_indices");
  REQUIRE(pool.outputs().size() == 2);
  CHECK(vision.view().value(pool.outputs()[1]).scalar_type() == ScalarType::Long);
  // The view's first size is a value.
  const auto size = node(vision, "view").find("size");
  REQUIRE(size);
  CHECK_FALSE(size->integers());
  REQUIRE(size->symbols().size() == 2);
  CHECK(vision.view().value(size->symbols()[0]).kind() == EdgeValueKind::SymInt);
  CHECK(size->symbols()[1] == no_value);
  CHECK(size->mixed_integers()[1] == 128);
}

TEST_CASE("expressions of sizes are followed through the program", "[pt2]") {
  const OwnedEdgeProgram symbolic = forward("symbolic");
  const EdgeSize joined = value(symbolic, "view").size(0);
  CHECK(joined.expression == "2*s17 + 2*s77");
  CHECK(joined.min == 8);
  CHECK(joined.max == 64);
  const EdgeSize head = value(symbolic, "slice_1").size(0);
  CHECK(head.expression == "(s17 + s77)//2");
  CHECK(head.min == 2);
  CHECK(head.max == 16);
  const EdgeValue rows = value(symbolic, "add_4");
  CHECK(rows.kind() == EdgeValueKind::SymInt);
  CHECK(rows.range() == value(symbolic, "cat").size(0));
  CHECK(node(symbolic, "add_4").target() == "_operator.add");
  CHECK(node(symbolic, "sym_size_int_2").target() == "aten.sym_size.int");
  CHECK(node(symbolic, "sym_size_int_2").module_path().empty());
}

TEST_CASE("inputs and outputs may be numbers", "[pt2]") {
  const OwnedEdgeProgram program = forward("count");
  const EdgeProgram view = program.view();
  REQUIRE(view.inputs().size() == 2);
  const EdgeValue count = view.value(view.inputs()[1]);
  CHECK(count.kind() == EdgeValueKind::SymInt);
  CHECK(count.origin() == EdgeOrigin::UserInput);
  CHECK(count.range().max == 9);
  REQUIRE(view.num_outputs() == 2);
  const EdgeValue next = view.value(view.output(1).value);
  CHECK(next.range().expression == concat(count.range().expression, " + 1"));
  CHECK(next.range().max == 10);
}

TEST_CASE("sizes that come from what tensors hold have ranges, too", "[pt2]") {
  const OwnedEdgeProgram unbacked = forward("unbacked");
  const EdgeSize rows = value(unbacked, "_local_scalar_dense").range();
  CHECK(rows.expression == "u0");
  CHECK(rows.min == 1);
  CHECK(rows.max == 4);
  CHECK(value(unbacked, "slice_1").size(0) == rows);
  CHECK(value(unbacked, "index").size(0).expression == "u1");
  CHECK(value(unbacked, "truediv").kind() == EdgeValueKind::SymFloat);
  CHECK(value(unbacked, "truediv").range().expression == "IntTrueDiv(u0, 2)");
  CHECK(value(unbacked, "sym_min").range().expression == "Min(3, u0)");
  CHECK(value(unbacked, "sym_min").range().max == 3);
  CHECK(node(unbacked, "sym_min").target() == "torch.sym_min");
  // Comparisons that only assertions read are left out with them.
  for (std::size_t i = 0; i < unbacked.view().num_nodes(); ++i) {
    const std::string target(unbacked.view().node(i).target());
    CHECK_THAT(target, !ContainsSubstring("assert"));
    CHECK(target != "_operator.ge");
    CHECK(target != "_operator.le");
  }
}

TEST_CASE("buffers that change, persistent or not, are known with their first content", "[pt2]") {
  const OwnedEdgeProgram stateful = forward("stateful");
  const EdgeProgram view = stateful.view();
  REQUIRE(view.num_outputs() == 3);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(view.output(i).kind == EdgeOutputKind::BufferMutation);
    CHECK(view.value(view.output(i).target).origin() == EdgeOrigin::Buffer);
  }
  CHECK(view.value(view.output(0).target).fqn() == "total");
  CHECK(view.value(view.output(1).target).fqn() == "calls");
  CHECK(view.output(2).kind == EdgeOutputKind::UserOutput);
  CHECK(elements<float>(value(stateful, "b_total")) == std::vector<float>(4));
  CHECK(elements<std::int64_t>(value(stateful, "b_calls")) == std::vector<std::int64_t>(1));
}

TEST_CASE("an input that the program changes is an output", "[pt2]") {
  const OwnedEdgeProgram program = forward("mutated_input");
  const EdgeOutput output = program.view().output(0);
  CHECK(output.kind == EdgeOutputKind::UserInputMutation);
  CHECK(program.view().value(output.target).name() == "state");
  CHECK(program.view().value(output.value).name() == "add");
}

TEST_CASE("weights are dense whatever they looked like in memory", "[pt2]") {
  const OwnedEdgeProgram shared = forward("shared");
  // All but two are parts of one range of numbers, number i being i / 32 - 1.
  const auto number = [](std::size_t i) { return static_cast<float>(i) / 32 - 1; };
  const auto base = elements<float>(value(shared, "p_base"));
  const auto back = elements<float>(value(shared, "p_back"));
  const auto turned = elements<float>(value(shared, "p_turned"));
  REQUIRE(base.size() == 64);
  REQUIRE(back.size() == 36);
  REQUIRE(turned.size() == 36);
  for (std::size_t i = 0; i < 64; ++i) CHECK(base[i] == number(i));
  for (std::size_t i = 0; i < 36; ++i) CHECK(back[i] == number(28 + i));
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t column = 0; column < 6; ++column) {
      CHECK(turned[row * 6 + column] == number(column * 6 + row));
    }
  }
  CHECK(order(value(shared, "p_turned")) == std::vector<int>{0, 1});
  CHECK(elements<float>(value(shared, "b_repeated")) == std::vector<float>(18, 0.5f));
  CHECK(elements<float>(value(shared, "b_every_third")) == std::vector<float>{0, 3, 6, 9, 12, 15});

  // Weights that are dense in the file are used in place; shared memory stays shared.
  const std::byte* const begin = value(shared, "p_base").data().data();
  CHECK(value(shared, "p_front").data().data() == begin);
  CHECK(value(shared, "p_tied").data().data() == begin);
  CHECK(value(shared, "p_back").data().data() == begin + 28 * sizeof(float));
  CHECK(reinterpret_cast<std::uintptr_t>(begin) % 64 == 0);
}

TEST_CASE("weights outlive the archive and the other methods", "[pt2]") {
  std::optional<Pt2Program> program = read("methods");
  REQUIRE(program->methods.size() == 2);
  CHECK(program->methods[0].name == "decode");
  CHECK(program->methods[1].name == "encode");
  const OwnedEdgeProgram encode = std::move(program->methods[1].program);
  program.reset();
  CHECK(encode.view().method_name() == "encode");
  CHECK(value(encode, "p_fc_weight").data().size() == 3 * 4 * sizeof(float));
  float sum = 0;
  for (const float weight : elements<float>(value(encode, "p_fc_weight"))) sum += weight * weight;
  CHECK(sum > 0.01f);
}

TEST_CASE("element types are the same as in programs", "[pt2]") {
  const OwnedEdgeProgram dtypes = forward("dtypes");
  const auto type = [&](std::string_view name) { return value(dtypes, name).scalar_type(); };
  CHECK(type("b_as_float16") == ScalarType::Half);
  CHECK(type("b_as_bfloat16") == ScalarType::BFloat16);
  CHECK(type("b_as_float64") == ScalarType::Double);
  CHECK(type("b_as_int64") == ScalarType::Long);
  CHECK(type("b_as_int32") == ScalarType::Int);
  CHECK(type("b_as_int16") == ScalarType::Short);
  CHECK(type("b_as_int8") == ScalarType::Char);
  CHECK(type("b_as_uint8") == ScalarType::Byte);
  CHECK(type("b_as_bool") == ScalarType::Bool);
  CHECK(elements<std::int64_t>(value(dtypes, "b_as_int64")) == std::vector<std::int64_t>{0, 1, 2});
  CHECK(elements<std::uint8_t>(value(dtypes, "b_as_bool")) == std::vector<std::uint8_t>{1, 0, 1});
  CHECK(elements<std::uint16_t>(value(dtypes, "b_as_bfloat16")) ==
        std::vector<std::uint16_t>{0, 0x3f80, 0x4000});
  // An argument that is a type.
  CHECK(node(dtypes, "_to_copy_1").find("dtype")->scalar_type() == ScalarType::BFloat16);
}

TEST_CASE("operators that only state what holds are left out", "[pt2]") {
  const OwnedEdgeProgram dtypes = forward("dtypes");
  for (std::size_t i = 0; i < dtypes.view().num_nodes(); ++i) {
    CHECK_THAT(std::string(dtypes.view().node(i).target()), !ContainsSubstring("assert"));
    CHECK(dtypes.view().node(i).debug_handle() == i + 1);
  }
}

TEST_CASE("arguments are of the kind that the operator was given", "[pt2]") {
  const OwnedEdgeProgram program = forward("arguments");
  const auto argument = [&](std::string_view of, std::string_view name) {
    const auto found = node(program, of).find(name);
    INFO(of << "." << name);
    REQUIRE(found);
    return *found;
  };
  const ValueId index = *program.view().find_value("index");
  const auto indices = argument("index_2", "indices").values();
  REQUIRE(indices);
  CHECK(std::vector<ValueId>(indices->begin(), indices->end()) ==
        std::vector<ValueId>{no_value, index, index});
  const auto dims = argument("amax", "dim").integers();
  REQUIRE(dims);
  CHECK(std::vector<std::int64_t>(dims->begin(), dims->end()) == std::vector<std::int64_t>{-1, -2});
  CHECK(argument("full", "fill_value").number() == 0.25);
  CHECK(argument("full", "dtype").scalar_type() == ScalarType::Float);
  CHECK(argument("full", "device").device()->device_type == TENON_DL_CPU);
  CHECK(argument("full", "pin_memory").boolean() == false);
  CHECK(argument("gelu", "approximate").text() == "tanh");
  CHECK(argument("scalar_tensor", "s").number() == -std::numeric_limits<double>::infinity());
  CHECK(argument("scalar_tensor", "layout").enumerator() == 0);
  CHECK(argument("topk", "k").integer() == 2);
  // Left out because it is the default of the operator's schema.
  CHECK_FALSE(node(program, "topk").find("largest"));
  CHECK(value(program, "c_lifted_tensor_0").origin() == EdgeOrigin::Constant);
  CHECK(elements<float>(value(program, "c_lifted_tensor_0")) == std::vector<float>{1, 2, 3});
}

TEST_CASE("views have the plain order, channels last stays where it is given or asked for",
          "[pt2]") {
  const OwnedEdgeProgram layouts = forward("layouts");
  const std::vector<int> plain{0, 1, 2, 3};
  const std::vector<int> channels_last{0, 2, 3, 1};
  CHECK(order(value(layouts, "x")) == channels_last);
  CHECK(order(value(layouts, "convolution")) == channels_last);
  CHECK(order(value(layouts, "y")) == plain);
  CHECK(order(value(layouts, "permute")) == plain);
  CHECK(order(value(layouts, "convolution_1")) == plain);
  CHECK(order(value(layouts, "mul")) == plain);
  CHECK(order(value(layouts, "clone")) == channels_last);
  CHECK(order(value(layouts, "add")) == plain);
  CHECK(node(layouts, "clone").find("memory_format")->enumerator() == 2);
}

TEST_CASE("operators that change their inputs are refused with what helps", "[pt2]") {
  const auto program = read_pt2(fixture("in_place"));
  REQUIRE(program.error() == Error::NotSupported);
  const std::string text(program.text());
  CHECK_THAT(text, ContainsSubstring("model.pt2: models/model.json: "));
  CHECK_THAT(text, ContainsSubstring("'aten.add_.Tensor'"));
  CHECK_THAT(text, ContainsSubstring("run_decompositions()"));
}

TEST_CASE("control flow is refused by its name", "[pt2]") {
  const auto program = read_pt2(fixture("control_flow"));
  REQUIRE(program.error() == Error::NotSupported);
  CHECK_THAT(std::string(program.text()),
             ContainsSubstring("nodes[2].target: is 'torch.ops.higher_order.cond'"));
}

TEST_CASE("a file that cannot be read is refused with its name", "[pt2]") {
  const auto missing = read_pt2(fixture("none"));
  CHECK(missing.error() == Error::AccessFailed);
  CHECK_THAT(std::string(missing.text()), ContainsSubstring("none/model.pt2"));
}
