// SPDX-License-Identifier: MIT
//
// A graph and example inputs to a function in one call.
#include "tenon/aot/compiler/compile_and_load.hpp"

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "compiled.hpp"
#include "support/environment.hpp"
#include "tenon/aot/edge_program_builder.hpp"
#include "tenon/host/signatures.hpp"

using namespace tenon;
using namespace tenon::test;

namespace compile_and_load_test {
namespace {

using host::ArrayView;

/// Elements of float32 and their shape.
struct Floats {
  std::vector<std::int64_t> shape;
  std::vector<float> elements;

  [[nodiscard]] ArrayView view() const {
    return {ScalarType::Float, shape, std::as_bytes(std::span(elements))};
  }
};

/// relu(x * w + w) for x of 1 to 4 rows of 3.
aot::OwnedEdgeProgram small_graph() {
  const aot::EdgeTensor tensor{ScalarType::Float, {{1, 4, "s0"}, 3}};
  const std::vector<float> weights = {1.0F, -2.0F, 0.5F};
  aot::EdgeProgramBuilder graph("forward");
  const aot::ValueId x = graph.user_input("x", tensor);
  const aot::ValueId w =
      graph.stored(aot::EdgeOrigin::Parameter, "p_w", "w", {ScalarType::Float, {3}},
                   aot::SharedBytes::copy_of(std::as_bytes(std::span(weights))));
  const aot::ValueId scaled = graph.node(
      "aten.mul.Tensor", {{"self", aot::EdgeRef{x}}, {"other", aot::EdgeRef{w}}}, tensor);
  const aot::ValueId shifted = graph.node(
      "aten.add.Tensor", {{"self", aot::EdgeRef{scaled}}, {"other", aot::EdgeRef{w}}}, tensor);
  graph.user_output(graph.node("aten.relu.default", {{"self", aot::EdgeRef{shifted}}}, tensor));
  auto built = std::move(graph).build();
  REQUIRE(built.ok());
  return *std::move(built);
}

std::vector<float> elements_of(const host::Array& array) {
  REQUIRE(array.type == ScalarType::Float);
  std::vector<float> out(array.data.size() / sizeof(float));
  std::memcpy(out.data(), array.data.data(), array.data.size());
  return out;
}

const Floats one_row{{1, 3}, {1.0F, 2.0F, 3.0F}};

Result<CompiledFunction> make(std::span<const ArrayView> examples,
                              std::vector<aot::CompileSpecData> specs = {}) {
  CompileAndLoadOptions options;
  options.registry = &graph_registry();
  options.compile_specs = std::move(specs);
  const aot::OwnedEdgeProgram graph = small_graph();
  return compile_and_load(graph.view(), "GraphBackend", examples, std::move(options));
}

}  // namespace

TEST_CASE("a registry that compile_and_load makes obeys the policy that it is given",
          "[graph_backend]") {
  const std::array examples = {one_row.view()};
  const ::test::ScopedEnvironment found(
      ::test::Variables{{"TENON_PLUGIN_FILES", TENON_GRAPH_BACKEND_PLUGIN}});
  const aot::OwnedEdgeProgram graph = small_graph();
  const auto compile = [&](bool is_policy) {
    CompileAndLoadOptions options;
    if (is_policy) {
      options.host.gates.push_back(std::make_shared<host::SignaturePolicy>(host::Publishers()));
    }
    return compile_and_load(graph.view(), "GraphBackend", examples, std::move(options)).status();
  };
  CHECK(compile(false).ok());
  const Status refused = compile(true);
  CHECK(refused.error() == Error::AccessFailed);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring(".minisig is not there"));
}

TEST_CASE("a graph and example inputs become a function in one call", "[graph_backend][S4.3]") {
  const std::array examples = {one_row.view()};
  auto function = make(examples);
  INFO(function.text());
  REQUIRE(function.ok());
  const auto first = (*function)(examples);
  INFO(first.text());
  REQUIRE(first.ok());
  REQUIRE(first->size() == 1);
  CHECK(first->at(0).shape == std::vector<std::int64_t>{1, 3});
  CHECK(elements_of(first->at(0)) == std::vector<float>{2.0F, 0.0F, 2.0F});

  // Called again, with other sizes, after it was moved; earlier outputs stay.
  CompiledFunction moved = *std::move(function);
  const Floats two_rows{{2, 3}, {0.0F, -2.0F, 1.0F, 4.0F, 0.0F, -3.0F}};
  const std::array inputs = {two_rows.view()};
  const auto second = moved(inputs);
  REQUIRE(second.ok());
  CHECK(second->at(0).shape == std::vector<std::int64_t>{2, 3});
  CHECK(elements_of(second->at(0)) == std::vector<float>{1.0F, 2.0F, 1.0F, 5.0F, 0.0F, 0.0F});
  CHECK(elements_of(first->at(0)) == std::vector<float>{2.0F, 0.0F, 2.0F});
}

TEST_CASE("a backend that puts weights into other files is called as well",
          "[graph_backend][S4.3]") {
  const std::array examples = {one_row.view()};
  for (const char* where : {"named", "external"}) {
    auto function =
        make(examples, {{"weights", aot::SharedBytes::copy_of(std::string_view(where))}});
    INFO(where << function.text());
    REQUIRE(function.ok());
    const auto outputs = (*function)(examples);
    REQUIRE(outputs.ok());
    CHECK(elements_of(outputs->at(0)) == std::vector<float>{2.0F, 0.0F, 2.0F});
  }
}

TEST_CASE("example inputs that the graph does not take fail before the first call",
          "[graph_backend][S4.3]") {
  const auto none = make({});
  CHECK(none.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(none.text()),
             ContainsSubstring("example inputs: method forward: expected 1 inputs, found 0"));
  const Floats rows{{5, 3}, std::vector<float>(15)};
  const std::array too_many = {rows.view()};
  const auto sizes = make(too_many);
  CHECK(sizes.error() == Error::NotSupported);
  CHECK_THAT(std::string(sizes.text()),
             ContainsSubstring("example inputs: ") && ContainsSubstring("input 0"));
  const std::vector<std::int64_t> numbers(3);
  const std::array wrong_type = {
      ArrayView{ScalarType::Long, one_row.shape, std::as_bytes(std::span(numbers))}};
  CHECK(make(wrong_type).error() == Error::InvalidArgument);
}

TEST_CASE("a call with inputs that the graph does not take fails, and the next one runs",
          "[graph_backend][S4.3]") {
  const std::array examples = {one_row.view()};
  auto function = make(examples);
  REQUIRE(function.ok());
  CHECK((*function)({}).error() == Error::InvalidArgument);
  const Floats rank{{3}, {1.0F, 2.0F, 3.0F}};
  const std::array wrong = {rank.view()};
  CHECK_FALSE((*function)(wrong).ok());
  CHECK((*function)(examples).ok());
}

TEST_CASE("a backend that is not known is an error of the registry", "[graph_backend][S4.3]") {
  const aot::OwnedEdgeProgram graph = small_graph();
  const std::array examples = {one_row.view()};
  const auto unknown =
      compile_and_load(graph.view(), "NoSuchBackend", examples, {.registry = &graph_registry()});
  CHECK(unknown.error() == Error::NotFound);
  CHECK_THAT(std::string(unknown.text()), ContainsSubstring("'NoSuchBackend' is not registered"));
}

}  // namespace compile_and_load_test
