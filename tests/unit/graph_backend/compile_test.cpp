// SPDX-License-Identifier: MIT
//
// The ahead-of-time half: what it folds, where it places tensors, what it refuses.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "aot/operators.hpp"
#include "aot/options.hpp"
#include "common/blob.hpp"
#include "compiled.hpp"

using namespace tenon;
using namespace tenon::test;
using graph_backend::blob::Operator;
using graph_backend::blob::Place;

namespace graph_compile_test {
namespace {

using aot::EdgeOrigin;
using aot::EdgeProgramBuilder;
using aot::EdgeRef;
using aot::EdgeTensor;
using aot::ValueId;

constexpr auto f32 = ScalarType::Float;

std::vector<float> ramp(std::size_t count, float step = 0.25F) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(i % 11) * step - 1.0F;
  return out;
}

ValueId parameter(EdgeProgramBuilder& graph, const std::string& name, const EdgeTensor& tensor) {
  std::size_t count = 1;
  for (const auto& size : tensor.sizes) count *= static_cast<std::size_t>(size.max);
  auto values = ramp(count);
  for (float& value : values) value += 1.5F;
  return graph.stored(EdgeOrigin::Parameter, name, name, tensor, bytes_of(values));
}

/// y = linear(x): [2, 3] to [2, 4]
aot::OwnedEdgeProgram linear_program() {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {2, 3}});
  const auto weight = parameter(graph, "weight", {f32, {4, 3}});
  const auto bias = parameter(graph, "bias", {f32, {4}});
  graph.user_output(
      graph.node("aten.linear.default",
                 {{"input", EdgeRef{x}}, {"weight", EdgeRef{weight}}, {"bias", EdgeRef{bias}}},
                 {f32, {2, 4}}));
  return build_ok(std::move(graph));
}

/// A convolution, a batch norm, relu.
aot::OwnedEdgeProgram vision_program() {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {1, 2, 5, 5}});
  const auto weight = parameter(graph, "weight", {f32, {3, 2, 3, 3}});
  const auto conv =
      graph.node("aten.conv2d.default", {{"input", EdgeRef{x}}, {"weight", EdgeRef{weight}}},
                 {f32, {1, 3, 3, 3}});
  const EdgeTensor by_channel{f32, {3}};
  const auto norm = graph.node("aten.batch_norm.default",
                               {{"input", EdgeRef{conv}},
                                {"weight", EdgeRef{parameter(graph, "scale", by_channel)}},
                                {"bias", EdgeRef{parameter(graph, "shift", by_channel)}},
                                {"running_mean", EdgeRef{parameter(graph, "mean", by_channel)}},
                                {"running_var", EdgeRef{parameter(graph, "var", by_channel)}},
                                {"training", false},
                                {"momentum", 0.1},
                                {"eps", 1e-5}},
                               {f32, {1, 3, 3, 3}});
  graph.user_output(
      graph.node("aten.relu.default", {{"self", EdgeRef{norm}}}, {f32, {1, 3, 3, 3}}));
  return build_ok(std::move(graph));
}

std::vector<float> run(const aot::OwnedEdgeProgram& program, const Specs& specs,
                       const std::vector<std::int64_t>& sizes) {
  const auto method = load_ok(program, specs);
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  const auto x = ramp(count);
  REQUIRE(set_floats(*method, 0, x, sizes).ok());
  const Status ran = method->execute();
  INFO(ran.text());
  REQUIRE(ran.ok());
  return floats(method->output(0));
}

void check_near(const std::vector<float>& a, const std::vector<float>& b) {
  CAPTURE(a, b);
  CHECK(std::ranges::equal(a, b, [](float x, float y) { return std::abs(x - y) <= 1e-4F; }));
}

graph_backend::Graph graph_in(const aot::PreprocessResult& compiled) {
  auto graph = graph_backend::read_graph(compiled.processed_bytes.bytes());
  INFO(graph.text());
  REQUIRE(graph.ok());
  return *std::move(graph);
}

std::vector<Operator> operators_in(const aot::PreprocessResult& compiled) {
  std::vector<Operator> out;
  for (const auto& node : graph_in(compiled).nodes) out.push_back(node.op.type);
  return out;
}

std::string refusal(const aot::OwnedEdgeProgram& program, const Specs& specs, Error code) {
  const auto result = compile(program, specs);
  CHECK(result.error() == code);
  return std::string(result.text());
}

}  // namespace

TEST_CASE("no run turns a weight", "[graph_backend]") {
  // Whether it is a constant or an input, and whether `linear` was decomposed or not.
  CHECK(operators_in(compile_ok(linear_program())) == std::vector{Operator::MatMul});
  for (const bool is_parameter : {true, false}) {
    EdgeProgramBuilder graph;
    const auto x = graph.user_input("x", {f32, {2, 3}});
    const EdgeTensor described{f32, {4, 3}};
    const auto weight = is_parameter ? parameter(graph, "weight", described)
                                     : graph.user_input("weight", described);
    const auto turned =
        graph.node("aten.permute.default",
                   {{"self", EdgeRef{weight}}, {"dims", aot::EdgeInts({1, 0})}}, {f32, {3, 4}});
    graph.user_output(graph.node("aten.mm.default",
                                 {{"self", EdgeRef{x}}, {"mat2", EdgeRef{turned}}}, {f32, {2, 4}}));
    const auto compiled = compile_ok(build_ok(std::move(graph)));
    CHECK(operators_in(compiled) == std::vector{Operator::MatMul});
    CHECK(graph_in(compiled).nodes[0].op.AsMatMul()->transposed);
  }
}

TEST_CASE("a turned matrix that is also read elsewhere is made", "[graph_backend]") {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {2, 3}});
  const auto y = graph.user_input("y", {f32, {2, 3}});
  const auto turned =
      graph.node("aten.permute.default", {{"self", EdgeRef{y}}, {"dims", aot::EdgeInts({1, 0})}},
                 {f32, {3, 2}});
  graph.user_output(turned);
  graph.user_output(graph.node("aten.mm.default", {{"self", EdgeRef{x}}, {"mat2", EdgeRef{turned}}},
                               {f32, {2, 2}}));
  CHECK(operators_in(compile_ok(build_ok(std::move(graph)))) ==
        std::vector{Operator::Permute, Operator::MatMul});
}

TEST_CASE("a batch norm is folded into the convolution before it", "[graph_backend]") {
  const auto program = vision_program();
  const auto compiled = compile_ok(program);
  CHECK(operators_in(compiled) == std::vector{Operator::Convolution, Operator::Unary});
  check_near(run(program, {}, {1, 2, 5, 5}), run(program, {{"fold", "0"}}, {1, 2, 5, 5}));

  // The convolution's event represents both nodes.
  const auto& handles = compiled.debug_handle_map;
  REQUIRE(handles.size() == 2);
  CHECK(*handles.find(0) == std::vector<std::uint32_t>{1, 2});
  CHECK(*handles.find(1) == std::vector<std::uint32_t>{3});
}

TEST_CASE("a convolution whose result is also read elsewhere stays as it is", "[graph_backend]") {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {1, 1, 2, 2}});
  const auto weight = parameter(graph, "weight", {f32, {1, 1, 1, 1}});
  const auto conv =
      graph.node("aten.conv2d.default", {{"input", EdgeRef{x}}, {"weight", EdgeRef{weight}}},
                 {f32, {1, 1, 2, 2}});
  const auto doubled =
      graph.node("aten.mul.Tensor", {{"self", EdgeRef{conv}}, {"other", 2.0}}, {f32, {1, 1, 2, 2}});
  graph.user_output(conv);
  graph.user_output(doubled);
  const auto program = build_ok(std::move(graph));
  CHECK(operators_in(compile_ok(program)) == std::vector{Operator::Convolution, Operator::Binary});
}

TEST_CASE("the same program gives the same bytes", "[graph_backend][TN-AOT-2]") {
  const auto a = compile_ok(vision_program());
  const auto b = compile_ok(vision_program());
  CHECK(std::ranges::equal(a.processed_bytes.bytes(), b.processed_bytes.bytes()));
}

TEST_CASE("scratch memory is used again by what lives later", "[graph_backend]") {
  EdgeProgramBuilder graph;
  auto value = graph.user_input("x", {f32, {100}});
  for (int i = 0; i < 8; ++i) {
    value = graph.node("aten.relu.default", {{"self", EdgeRef{value}}}, {f32, {100}});
  }
  graph.user_output(value);
  // Two tensors at a time, each rounded up to a line of the cache.
  CHECK(graph_in(compile_ok(build_ok(std::move(graph)))).scratch_bytes == 2 * 448);
}

TEST_CASE("a reshaped tensor shares the memory of the original", "[graph_backend]") {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {2, 3}});
  const auto flat = graph.node("aten.view.default",
                               {{"self", EdgeRef{x}}, {"size", aot::EdgeInts({6})}}, {f32, {6}});
  const auto relu = graph.node("aten.relu.default", {{"self", EdgeRef{flat}}}, {f32, {6}});
  const auto back =
      graph.node("aten.view.default", {{"self", EdgeRef{relu}}, {"size", aot::EdgeInts({3, 2})}},
                 {f32, {3, 2}});
  graph.user_output(back);
  const auto compiled = graph_in(compile_ok(build_ok(std::move(graph))));
  CHECK(compiled.scratch_bytes == 0);
  CHECK(compiled.tensors[compiled.nodes[0].output].place == Place::Input);
  CHECK(compiled.tensors[compiled.nodes[1].output].place == Place::Output);
}

TEST_CASE("an input, a parameter or a result can be several outputs", "[graph_backend]") {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {2}});
  const auto weight = parameter(graph, "weight", {f32, {2}});
  const auto relu = graph.node("aten.relu.default", {{"self", EdgeRef{x}}}, {f32, {2}});
  const auto same = graph.node("aten.clone.default", {{"self", EdgeRef{relu}}}, {f32, {2}});
  for (const ValueId id : {x, weight, relu, same, x}) graph.user_output(id);
  const auto program = build_ok(std::move(graph));
  const auto method = load_ok(program);
  const std::vector<float> in = {-1, 2};
  REQUIRE(set_floats(*method, 0, in, {2}).ok());
  REQUIRE(method->execute().ok());
  CHECK(floats(method->output(0)) == in);
  CHECK(floats(method->output(1)) == std::vector<float>{0.5F, 0.75F});
  CHECK(floats(method->output(2)) == std::vector<float>{0, 2});
  CHECK(floats(method->output(3)) == std::vector<float>{0, 2});
  CHECK(floats(method->output(4)) == in);
}

TEST_CASE("weights go where the option says", "[graph_backend]") {
  const auto program = linear_program();
  const auto expected = run(program, {}, {2, 3});
  CHECK(compile_ok(program).data_store_output.pte_data.empty());

  const auto named = compile_ok(program, {{"weights", "named"}});
  CHECK(named.data_store_output.pte_data.size() == 2);
  CHECK(named.processed_bytes.size() < compile_ok(program).processed_bytes.size());
  CHECK(run(program, {{"weights", "named"}}, {2, 3}) == expected);

  const Specs specs = {{"weights", "external"}, {"external_tag", "acme"}};
  const auto external = compile_ok(program, specs);
  REQUIRE(external.data_store_output.find_external_data("acme"));
  const auto image = aot::make_ptd(external.data_store_output.buffers,
                                   external.data_store_output.find_external_data("acme")->entries);
  REQUIRE(image.ok());
  auto bytes = std::make_shared<std::vector<std::byte>>(image->bytes());
  const auto file = host::DataFile::from_bytes(*bytes, bytes, "acme.ptd");
  REQUIRE(file.ok());
  const auto data = one_delegate(program.view(), external);
  CHECK(load(data).error() == Error::NotFound);
  host::MethodOptions options;
  options.layers.add(host::DataFiles({*file}));
  auto method = load(data, options);
  INFO(method.text());
  REQUIRE(method.ok());
  const auto x = ramp(6);
  REQUIRE(set_floats(**method, 0, x, {2, 3}).ok());
  REQUIRE((*method)->execute().ok());
  CHECK(floats((*method)->output(0)) == expected);
}

TEST_CASE("options are checked", "[graph_backend]") {
  const auto program = linear_program();
  CHECK_THAT(refusal(program, {{"wieghts", "inline"}}, Error::NotFound),
             ContainsSubstring(
                 "compile spec 'wieghts' is unknown; the backend has: weights, external_tag"));
  CHECK_THAT(refusal(program, {{"weights", "on the moon"}}, Error::InvalidArgument),
             ContainsSubstring("expected inline|named|external, found 'on the moon'"));
  CHECK_THAT(refusal(program, {{"fold", "2"}}, Error::InvalidArgument),
             ContainsSubstring("expected 0|1"));
  CHECK_THAT(refusal(program, {{"external_tag", "../up"}}, Error::InvalidArgument),
             ContainsSubstring("external_tag"));
  CHECK_THAT(refusal(program, {{"max_scratch_bytes", "12k"}}, Error::InvalidArgument),
             ContainsSubstring("a number, found '12k'"));
  CHECK_THAT(refusal(program, {{"fold", "1"}, {"fold", "1"}}, Error::InvalidArgument),
             ContainsSubstring("given twice"));
  const auto vision = vision_program();
  CHECK_THAT(refusal(vision, {{"max_scratch_bytes", "40"}}, Error::OutOfResources),
             ContainsSubstring("needs 128 bytes of scratch memory, max_scratch_bytes is 40"));
  CHECK(compile(vision, {{"max_scratch_bytes", "128"}}).ok());
  for (const auto& row : graph_backend::option_rows) {
    CHECK_FALSE(row.meaning.empty());
  }
}

TEST_CASE("the result of a partition is reported in one line", "[graph_backend]") {
  CHECK(compile_ok(linear_program()).delegate_info ==
        "1 operator, 2 constants (64 bytes, inline), 0 bytes of scratch");
}

}  // namespace graph_compile_test
