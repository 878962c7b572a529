// SPDX-License-Identifier: MIT
//
// Sizes that are known only when a method runs, arguments that do not fit, and events.
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compiled.hpp"

using namespace tenon;
using namespace tenon::test;

namespace graph_dynamic_test {
namespace {

using aot::EdgeOrigin;
using aot::EdgeProgramBuilder;
using aot::EdgeRef;
using aot::EdgeTensor;
using Size = aot::EdgeTensor::Size;

constexpr auto f32 = ScalarType::Float;

/// x [n, 2, 3], y [n, 6]: relu(x as [n, 6]) + y, then the rows' sums; n is at most 5.
aot::OwnedEdgeProgram dynamic_program() {
  EdgeProgramBuilder graph;
  const Size n(0, 5, "s77");
  const auto x = graph.user_input("x", {f32, {n, 2, 3}});
  const auto y = graph.user_input("y", {f32, {n, 6}});
  const auto count =
      graph.node_symbol("aten.sym_size.int", {{"self", EdgeRef{x}}, {"dim", std::int64_t{0}}},
                        aot::EdgeValueKind::SymInt, n);
  const auto flat =
      graph.node("aten.view.default",
                 {{"self", EdgeRef{x}}, {"size", aot::EdgeInts({0, 6}, {count, aot::no_value})}},
                 {f32, {n, 6}});
  const auto relu = graph.node("aten.relu.default", {{"self", EdgeRef{flat}}}, {f32, {n, 6}});
  const auto sum = graph.node("aten.add.Tensor", {{"self", EdgeRef{relu}}, {"other", EdgeRef{y}}},
                              {f32, {n, 6}});
  graph.user_output(sum);
  graph.user_output(graph.node("aten.sum.dim_IntList",
                               {{"self", EdgeRef{sum}}, {"dim", aot::EdgeInts({1})}}, {f32, {n}}));
  return build_ok(std::move(graph));
}

/// Gives each input zeros, at its largest sizes. They are used in place.
std::vector<std::vector<std::byte>> set_zeros(host::Method& method) {
  std::vector<std::vector<std::byte>> kept;
  for (std::size_t i = 0; i < method.num_inputs(); ++i) {
    const TensorView tensor(*method.input(i).as.tensor);
    const auto& zeros = kept.emplace_back(tensor.nbytes());
    REQUIRE(
        method.set_input(i, host::InputTensor{tensor.scalar_type(), tensor.bounds(), zeros}).ok());
  }
  return kept;
}

std::string refused_node(EdgeProgramBuilder&& graph) {
  const auto program = build_ok(std::move(graph));
  const auto result = compile(program);
  CHECK_FALSE(result.ok());
  return std::string(result.text());
}

/// Compiles one node on a float32 [2, 3] input.
std::string refused(std::string_view target, std::vector<EdgeProgramBuilder::Argument> arguments,
                    const EdgeTensor& in, const EdgeTensor& out) {
  EdgeProgramBuilder graph;
  arguments.insert(arguments.begin(), {"self", EdgeRef{graph.user_input("x", in)}});
  graph.user_output(graph.node(target, arguments, out, "it"));
  return refused_node(std::move(graph));
}

}  // namespace

TEST_CASE("every size up to the bound runs, from none on", "[graph_backend][TN-EXE-10]") {
  const auto program = dynamic_program();
  const auto method = load_ok(program);
  for (const std::int64_t n : {5, 0, 3, 3, 1, 5, 2, 4}) {
    std::vector<float> x(static_cast<std::size_t>(n) * 6), y(x.size()), sum(x.size());
    std::vector<float> rows(static_cast<std::size_t>(n), 0.0F);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i % 5) - 2.0F;
      y[i] = static_cast<float>(i) * 0.5F;
      sum[i] = std::max(x[i], 0.0F) + y[i];
      rows[i / 6] += sum[i];
    }
    REQUIRE(set_floats(*method, 0, x, {n, 2, 3}).ok());
    REQUIRE(set_floats(*method, 1, y, {n, 6}).ok());
    const Status ran = method->execute();
    INFO(n << ": " << ran.text());
    REQUIRE(ran.ok());
    CHECK(floats(method->output(0)) == sum);
    CHECK(floats(method->output(1)) == rows);
    const TensorView out(*method->output(0).as.tensor);
    CHECK(std::ranges::equal(out.sizes(), std::vector<std::int64_t>{n, 6}));
  }
}

TEST_CASE("sizes of one symbol must be equal", "[graph_backend][TN-EXE-5]") {
  const auto method = load_ok(dynamic_program());
  const std::vector<float> numbers(30);
  REQUIRE(set_floats(*method, 0, std::span(numbers).first(18), {3, 2, 3}).ok());
  REQUIRE(set_floats(*method, 1, std::span(numbers).first(12), {2, 6}).ok());
  const Status ran = method->execute();
  CHECK(ran.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(ran.text()),
             ContainsSubstring("argument 1: size 0: expected 3, as another input has it, found 2"));
  // Nothing of that stays.
  REQUIRE(set_floats(*method, 1, std::span(numbers).first(18), {3, 6}).ok());
  CHECK(method->execute().ok());
}

TEST_CASE("a program whose arguments do not fit the blob is refused when it runs",
          "[graph_backend][TN-EXE-5]") {
  const auto program = dynamic_program();
  const auto compiled = compile_ok(program);
  const auto run = [&](const std::function<void(aot::ProgramData&)>& change) {
    auto data = one_delegate(program.view(), compiled);
    change(data);
    auto method = load(data);
    INFO(method.text());
    REQUIRE(method.ok());
    const auto inputs = set_zeros(**method);
    const Status ran = (*method)->execute();
    CHECK_FALSE(ran.ok());
    return std::string(ran.text());
  };
  const auto tensor = [](aot::ProgramData& data, std::size_t value) -> aot::TensorValue& {
    return std::get<aot::TensorValue>(data.methods[0].values[value]);
  };
  const auto args = [](aot::ProgramData& data) -> auto& {
    return std::get<aot::DelegateCall>(data.methods[0].instructions[0]).args;
  };
  CHECK_THAT(run([&](auto& data) { args(data).pop_back(); }),
             ContainsSubstring("number of arguments: expected 4, found 3"));
  CHECK_THAT(run([&](auto& data) { tensor(data, 0).layout.scalar_type = ScalarType::Int; }),
             ContainsSubstring("argument 0: expected dtype Float, found Int"));
  CHECK_THAT(run([&](auto& data) { tensor(data, 0).layout.sizes = {5, 6}; }),
             ContainsSubstring("argument 0: expected 3 dimensions"));
  CHECK_THAT(run([&](auto& data) { tensor(data, 0).layout.sizes = {5, 2, 2}; }),
             ContainsSubstring("argument 0: size 2: expected 3, found 2"));
  CHECK_THAT(run([&](auto& data) { tensor(data, 0).layout.dim_order = {2, 0, 1}; }),
             ContainsSubstring("in their own order"));
  CHECK_THAT(run([&](auto& data) { tensor(data, 2).layout.dim_order = {1, 0}; }),
             ContainsSubstring("argument 2: expected dimensions in memory in their own order"));
  CHECK_THAT(run([&](auto& data) { tensor(data, 3).layout.sizes = {4}; }),
             ContainsSubstring("argument 3: cannot resize"));
  CHECK_THAT(
      run([&](auto& data) { args(data)[1] = data.methods[0].add(aot::Value(std::int64_t{3})); }),
      ContainsSubstring("argument 1: expected Tensor, found Int"));
}

TEST_CASE("an index outside of its table is refused", "[graph_backend]") {
  EdgeProgramBuilder graph;
  const auto indices = graph.user_input("i", {ScalarType::Long, {2}});
  const auto table =
      graph.stored(EdgeOrigin::Parameter, "table", "table", {f32, {3, 1}}, bytes_of({10, 11, 12}));
  graph.user_output(graph.node("aten.embedding.default",
                               {{"weight", EdgeRef{table}}, {"indices", EdgeRef{indices}}},
                               {f32, {2, 1}}));
  const auto program = build_ok(std::move(graph));
  const auto method = load_ok(program);
  const auto run = [&](const std::vector<std::int64_t>& values) {
    const std::vector<std::int64_t> sizes = {2};
    REQUIRE(method
                ->set_input(
                    0, host::InputTensor{ScalarType::Long, sizes, std::as_bytes(std::span(values))})
                .ok());
    return method->execute();
  };
  CHECK_THAT(std::string(run({0, 3}).text()),
             ContainsSubstring("node 0 (Embedding): index 1 is 3, expected 0 to 2"));
  CHECK_FALSE(run({-1, 0}).ok());
  REQUIRE(run({2, 0}).ok());
  CHECK(floats(method->output(0)) == std::vector<float>{12, 10});
}

TEST_CASE("what cannot be compiled is refused by the name of its node",
          "[graph_backend][TN-AOT-4]") {
  const EdgeTensor matrix{f32, {2, 3}};
  CHECK_THAT(refused("aten.cumsum.default", {{"dim", std::int64_t{0}}}, matrix, matrix),
             ContainsSubstring(
                 "node 'it' (aten.cumsum.default): the backend does not have this operator"));
  const EdgeTensor doubles{ScalarType::Double, {2, 3}};
  CHECK_THAT(
      refused("aten.relu.default", {}, doubles, doubles),
      ContainsSubstring("value 'x': expected dtype Float") && ContainsSubstring("found Double"));
  CHECK_THAT(refused("aten._to_copy.default", {}, matrix, doubles),
             ContainsSubstring("value 'it': expected dtype Float"));
  CHECK_THAT(refused("aten.relu.default", {}, {f32, {2, 3}, {1, 0}}, matrix),
             ContainsSubstring("value 'x': expected dimensions in their own order"));
  CHECK_THAT(refused("aten.relu.default", {}, {f32, {Size(0, INT64_MAX, "s0")}}, {f32, {2}}),
             ContainsSubstring("size 0 (s0) has no bound"));
  CHECK_THAT(refused("aten.relu.default", {}, matrix, {f32, {3, 2}}),
             ContainsSubstring("but the operator makes [2, 3]"));
  CHECK_THAT(refused("aten.gelu.default", {{"approximate", std::string("exact")}}, matrix, matrix),
             ContainsSubstring("argument 'approximate': expected none or tanh, found 'exact'"));
  CHECK_THAT(
      refused("aten.permute.default", {{"dims", aot::EdgeInts({0, 2})}}, matrix, matrix),
      ContainsSubstring("argument 'dims': expected a dimension of a tensor with 2, found 2"));
  CHECK_THAT(refused("aten.add.Tensor", {{"other", std::string("one")}}, matrix, matrix),
             ContainsSubstring("argument 'other': expected a tensor, found 'one'"));
  CHECK_THAT(refused("aten.max_pool2d.default",
                     {{"kernel_size", aot::EdgeInts({2, 2})}, {"padding", aot::EdgeInts({2, 2})}},
                     {f32, {1, 4, 4}}, {f32, {1, 4, 4}}),
             ContainsSubstring("at most half of the kernel"));

  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {1, 1, 3, 3}});
  const auto weight = graph.user_input("w", {f32, {1, 1, 2, 2}});
  graph.user_output(
      graph.node("aten.convolution.default",
                 {{"input", EdgeRef{x}}, {"weight", EdgeRef{weight}}, {"transposed", true}},
                 {f32, {1, 1, 4, 4}}, "up"));
  CHECK_THAT(refused_node(std::move(graph)),
             ContainsSubstring("node 'up' (aten.convolution.default): argument 'transposed': "
                               "expected false, found true"));
}

TEST_CASE("a buffer that changes is refused", "[graph_backend][TN-AOT-4]") {
  EdgeProgramBuilder graph;
  const auto x = graph.user_input("x", {f32, {2}});
  const auto state =
      graph.stored(EdgeOrigin::Buffer, "state", "state", {f32, {2}}, bytes_of({0, 0}));
  const auto sum =
      graph.node("aten.add.Tensor", {{"self", EdgeRef{x}}, {"other", EdgeRef{state}}}, {f32, {2}});
  graph.mutation(state, sum);
  graph.user_output(sum);
  CHECK_THAT(refused_node(std::move(graph)), ContainsSubstring("changes a buffer or an input"));
}

TEST_CASE("each operator has an event whose handle the handle map knows", "[graph_backend]") {
  const auto program = dynamic_program();
  const auto compiled = compile_ok(program);
  const auto& handles = compiled.debug_handle_map;
  REQUIRE(handles.size() == 4);
  // The view is node 2 of the program: nodes count from 1, and the first one only computes a size.
  CHECK(*handles.find(0) == std::vector<std::uint32_t>{2});

  host::Trace trace;
  host::MethodOptions options;
  options.layers.add(trace);
  const auto method = load_ok(program, {}, options);
  const auto inputs = set_zeros(*method);
  REQUIRE(method->execute().ok());
  std::string names;
  const auto events = nlohmann::json::parse(trace.json()).at("traceEvents");
  for (const auto& event : events) {
    if (!event.at("args").contains("debug_handle")) continue;
    names += concat(event.at("name").get<std::string>(), " ",
                    event.at("args").at("debug_handle").get<std::string>(), "; ");
  }
  CHECK(names == "Reshape 0; Unary 1; Binary 2; Reduce 3; ");
}

TEST_CASE("scratch memory is reported for the delegate that holds it",
          "[graph_backend][cpu-memory]") {
  // The result of relu, [5, 6] at its largest.
  const auto method = load_ok(dynamic_program());
  const auto memory = method->memory_info();
  REQUIRE(memory.ok());
  REQUIRE(memory->delegates.size() == 1);
  REQUIRE(memory->delegates[0].held.size() == 1);
  CHECK(memory->delegates[0].held[0].workspace == 128);
  REQUIRE(memory->backends.size() == 1);
  CHECK(memory->backends[0].held.empty());
}

}  // namespace graph_dynamic_test
