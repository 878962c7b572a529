// SPDX-License-Identifier: MIT
//
// Which nodes the backend takes, and that it compiles all that it takes.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "compiled.hpp"
#include "tenon/aot/compiler/lower/lower.hpp"

using namespace tenon;
using namespace tenon::test;

namespace graph_partition_test {
namespace {

using aot::EdgeProgramBuilder;
using aot::EdgeRef;
using aot::EdgeTensor;
using aot::ValueId;
using Size = aot::EdgeTensor::Size;

constexpr auto f32 = ScalarType::Float;

aot::PartitionResult partition_ok(const aot::OwnedEdgeProgram& program, const Specs& specs = {}) {
  const SpecList list(specs);
  auto result = graph_backend::partition(program.view(), list.view());
  INFO(result.text());
  REQUIRE(result.ok());
  return *std::move(result);
}

/// Compiles each partition; the number of them.
std::size_t compile_all(const aot::OwnedEdgeProgram& program) {
  auto partitions = partition_ok(program);
  // What the boundary does with what a plugin returns.
  for (auto& [tag, spec] : partitions.partition_tags) spec.backend_id = TENON_GRAPH_BACKEND_ID;
  const auto lowered = aot::lower(program.view(), partitions);
  INFO(lowered.text());
  REQUIRE(lowered.ok());
  for (const auto& part : lowered->partitions) {
    const auto result = graph_backend::preprocess(part.program.view(), CompileSpecs(nullptr, 0));
    INFO(part.tag << ": " << result.text());
    CHECK(result.ok());
  }
  return lowered->partitions.size();
}

ValueId unary(EdgeProgramBuilder& graph, std::string_view target, ValueId x,
              const EdgeTensor& tensor) {
  return graph.node(target, {{"self", EdgeRef{x}}}, tensor);
}

}  // namespace

TEST_CASE("unsupported nodes are left to others", "[graph_backend][TN-AOT-5]") {
  EdgeProgramBuilder graph;
  const EdgeTensor vector{f32, {4}};
  const auto x = graph.user_input("x", vector);
  const auto relu = unary(graph, "aten.relu.default", x, vector);
  const auto erf = unary(graph, "aten.erf.default", relu, vector);
  graph.user_output(unary(graph, "aten.exp.default", erf, vector));
  const auto program = build_ok(std::move(graph));
  const auto result = partition_ok(program, {{"fold", "0"}});
  CHECK_FALSE(result.tag_of(0).empty());
  CHECK(result.tag_of(1).empty());
  CHECK_FALSE(result.tag_of(2).empty());
  CHECK(result.tag_of(0) != result.tag_of(2));
  // Options reach `preprocess` as they were given.
  const auto& specs = result.partition_tags.begin()->second.compile_specs;
  REQUIRE(specs.size() == 1);
  CHECK(specs[0].key == "fold");
  CHECK(as_text(specs[0].value.bytes()) == "0");
  CHECK(compile_all(program) == 2);
}

TEST_CASE("a wrong option is refused before anything is chosen", "[graph_backend]") {
  EdgeProgramBuilder graph;
  graph.user_output(
      unary(graph, "aten.relu.default", graph.user_input("x", {f32, {4}}), {f32, {4}}));
  const auto program = build_ok(std::move(graph));
  const SpecList list(Specs{{"speed", "high"}});
  CHECK(graph_backend::partition(program.view(), list.view()).error() == Error::NotFound);
}

TEST_CASE("values of other dtypes are left to others", "[graph_backend][TN-AOT-5]") {
  EdgeProgramBuilder graph;
  const EdgeTensor doubles{ScalarType::Double, {4}};
  const auto x = graph.user_input("x", doubles);
  graph.user_output(unary(graph, "aten.relu.default", x, doubles));
  graph.user_output(unary(graph, "aten._to_copy.default", x, {f32, {4}}));
  const auto program = build_ok(std::move(graph));
  CHECK(compile_all(program) == 0);
}

TEST_CASE("a number that two partitions read is made by neither", "[graph_backend][TN-AOT-5]") {
  EdgeProgramBuilder graph;
  const Size n(0, 4, "s0");
  const EdgeTensor cube{f32, {n, 2, 3}};
  const EdgeTensor flat{f32, {n, 6}};
  const auto x = graph.user_input("x", cube);
  const auto count =
      graph.node_symbol("aten.sym_size.int", {{"self", EdgeRef{x}}, {"dim", std::int64_t{0}}},
                        aot::EdgeValueKind::SymInt, n);
  const auto view = [&](ValueId value, std::vector<std::int64_t> sizes, const EdgeTensor& out) {
    std::vector<ValueId> symbols(sizes.size(), aot::no_value);
    symbols[0] = count;
    return graph.node(
        "aten.view.default",
        {{"self", EdgeRef{value}}, {"size", aot::EdgeInts(std::move(sizes), std::move(symbols))}},
        out);
  };
  const auto first = view(x, {0, 6}, flat);
  const auto erf = unary(graph, "aten.erf.default", first, flat);
  graph.user_output(view(erf, {0, 2, 3}, cube));
  const auto program = build_ok(std::move(graph));
  CHECK(compile_all(program) == 2);
  CHECK(partition_ok(program).tag_of(0).empty());
}

TEST_CASE("indices may be reshaped, also for other readers", "[graph_backend][TN-AOT-5]") {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {ScalarType::Long, {4}});
  const auto view =
      graph.node("aten.view.default", {{"self", EdgeRef{x}}, {"size", aot::EdgeInts({2, 2})}},
                 {ScalarType::Long, {2, 2}});
  graph.user_output(view);
  const auto program = build_ok(std::move(graph));
  CHECK(compile_all(program) == 1);

  const auto method = load_ok(program);
  const std::vector<std::int64_t> numbers = {4, 3, 2, 1};
  const std::vector<std::int64_t> sizes = {4};
  REQUIRE(method
              ->set_input(
                  0, host::InputTensor{ScalarType::Long, sizes, std::as_bytes(std::span(numbers))})
              .ok());
  REQUIRE(method->execute().ok());
  const Tensor<const std::int64_t> out(*method->output(0).as.tensor);
  CHECK(std::ranges::equal(out, numbers));
}

/// x + float(b), where b is an int64 buffer {4, -3, 2}; with `changed`, x is what b becomes.
aot::OwnedEdgeProgram sum_with_converted_buffer(bool changed) {
  EdgeProgramBuilder graph;
  const EdgeTensor longs{ScalarType::Long, {3}};
  const std::vector<std::int64_t> numbers = {4, -3, 2};
  const auto x = graph.user_input("x", {f32, {3}});
  const auto b = graph.stored(aot::EdgeOrigin::Buffer, "b", "b", longs,
                              aot::SharedBytes::copy_of(std::as_bytes(std::span(numbers))));
  const auto converted = unary(graph, "aten._to_copy.default", b, {f32, {3}});
  graph.user_output(graph.node("aten.add.Tensor",
                               {{"self", EdgeRef{x}}, {"other", EdgeRef{converted}}}, {f32, {3}}));
  if (changed) graph.mutation(b, graph.user_input("next", longs));
  return build_ok(std::move(graph));
}

TEST_CASE("a constant of int64 is converted ahead of time", "[graph_backend][TN-AOT-5]") {
  const auto program = sum_with_converted_buffer(false);
  CHECK(compile_all(program) == 1);
  CHECK_FALSE(partition_ok(program).tag_of(0).empty());
  const auto method = load_ok(program);
  const std::vector<float> x = {0.5f, 0.5f, 0.5f};
  const std::vector<std::int64_t> sizes = {3};
  REQUIRE(method->set_input(0, host::InputTensor{f32, sizes, std::as_bytes(std::span(x))}).ok());
  REQUIRE(method->execute().ok());
  const Tensor<const float> out(*method->output(0).as.tensor);
  CHECK(std::ranges::equal(out, std::vector{4.5f, -2.5f, 2.5f}));
}

TEST_CASE("a buffer of int64 that changes is converted by others", "[graph_backend][TN-AOT-5]") {
  const auto program = sum_with_converted_buffer(true);
  CHECK(partition_ok(program).tag_of(0).empty());
  CHECK_FALSE(partition_ok(program).tag_of(1).empty());
  CHECK(compile_all(program) == 1);
}

TEST_CASE("an expand is taken unless it makes a size that changes", "[graph_backend][TN-AOT-4]") {
  const Size n(0, 5, "s77");
  const auto program = [&](const EdgeTensor& from, const EdgeTensor& to) {
    EdgeProgramBuilder graph;
    const auto x = graph.user_input("x", from);
    const auto size = aot::EdgeInts({-1, 3});
    const auto expanded =
        graph.node("aten.expand.default", {{"self", EdgeRef{x}}, {"size", size}}, to, "it");
    graph.user_output(unary(graph, "aten.relu.default", expanded, to));
    return build_ok(std::move(graph));
  };
  for (const EdgeTensor& same : {EdgeTensor{f32, {2, 3}}, EdgeTensor{f32, {n, 3}}}) {
    CHECK(compile(program(same, same)).ok());
  }
  CHECK(compile(program({f32, {1, 3}}, {f32, {4, 3}})).ok());
  const auto refused = compile(program({f32, {1, 3}}, {f32, {n, 3}}));
  CHECK_THAT(std::string(refused.text()),
             ContainsSubstring("size 0 (s77) does not follow from the sizes of 'x'"));
}

TEST_CASE("operators that are worth more as a whole are named once", "[graph_backend]") {
  EdgeProgramBuilder graph;
  const EdgeTensor square{f32, {3, 3}};
  auto x = graph.user_input("x", square);
  for (int i = 0; i < 2; ++i) {
    x = graph.node("aten.linear.default", {{"input", EdgeRef{x}}, {"weight", EdgeRef{x}}}, square);
  }
  x = unary(graph, "aten.relu.default", x, square);
  graph.user_output(x);
  const auto program = build_ok(std::move(graph));
  CHECK(graph_backend::ops_to_not_decompose(program.view()) ==
        std::vector<std::string>{"aten.linear.default"});
}

}  // namespace graph_partition_test
