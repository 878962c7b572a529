// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/emit/emit.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "one_node.hpp"
#include "support/catch.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace emit_test {

using namespace graphs;

TEST_CASE("a program of portable operators is written and opened by the host") {
  EdgeProgramBuilder builder;
  const ValueId x = builder.user_input("x", {ScalarType::Float, {{1, 8, "s0"}, 2}});
  const ValueId w = builder.stored(EdgeOrigin::Parameter, "w", "layer.weight", matrix,
                                   SharedBytes(std::vector<std::byte>(16)));
  const EdgeTensor rows{ScalarType::Float, {{1, 8, "s0"}, 2}};
  const ValueId product =
      builder.node("aten.mm.default", {{"self", EdgeRef{x}}, {"mat2", EdgeRef{w}}}, rows);
  const ValueId sum =
      builder.node("aten.add.Tensor", {{"self", EdgeRef{product}}, {"other", EdgeRef{x}}}, rows);
  const ValueId relu = builder.node("aten.relu.default", {{"self", EdgeRef{sum}}}, rows);
  const ValueId size =
      builder.node_symbol("aten.sym_size.int", {{"self", EdgeRef{relu}}, {"dim", std::int64_t{0}}},
                          EdgeValueKind::SymInt, {1, 8, "s0"});
  builder.user_output(builder.node(
      "aten.view.default",
      {{"self", EdgeRef{relu}}, {"size", EdgeInts({0, 2, 1}, {size, no_value, no_value})}},
      {ScalarType::Float, {{1, 8, "s0"}, 2, 1}}));
  auto owned = std::move(builder).build();
  REQUIRE(owned.ok());
  const ProgramData program = emitted(owned->view());
  const MethodData& method = program.methods.at(0);
  CHECK(method.name == "forward");
  CHECK(method.operators == std::vector<Operator>{{"aten::mm", "out"},
                                                  {"aten::add", "out"},
                                                  {"aten::relu", "out"},
                                                  {"aten::sym_size", "int"},
                                                  {"aten::view_copy", "out"}});
  const auto& input =
      std::get<TensorValue>(method.values[static_cast<std::size_t>(method.inputs.at(0))]);
  CHECK(input.is_dynamic);
  CHECK(input.layout.sizes == std::vector<std::int32_t>{8, 2});
  CHECK(check_method_memory(method).ok());

  const auto image = make_pte(program);
  REQUIRE(image.ok());
  const auto bytes = image->bytes();
  const auto opened = host::Program::from_bytes(bytes, nullptr, "emitted");
  INFO(opened.text());
  CHECK(opened.ok());
  CHECK(make_pte(emitted(owned->view()))->bytes() == bytes);
}

TEST_CASE("a size without bound, and one that is too large, are refused by name") {
  for (const auto& [max, text] :
       {std::pair(EdgeSize::unbounded, "size 1 of 'x' (s9) has no bound"),
        std::pair(std::int64_t{1} << 33, "size 1 of 'x' (s9) is too large")}) {
    EdgeProgramBuilder builder;
    builder.user_output(builder.user_input("x", {ScalarType::Float, {3, {0, max, "s9"}}}));
    auto owned = std::move(builder).build();
    REQUIRE(owned.ok());
    const auto result = emit_all(owned->view());
    CHECK(result.error() == Error::NotSupported);
    CHECK_THAT(std::string(result.text()), ContainsSubstring(text));
  }
}

TEST_CASE("an input that is a number, and a type that files cannot hold, are refused") {
  EdgeProgramBuilder number;
  number.user_input_symbol("n", {1, 4, "s0"});
  auto owned = std::move(number).build();
  REQUIRE(owned.ok());
  const auto result = emit_all(owned->view());
  CHECK(result.error() == Error::NotSupported);
  CHECK_THAT(std::string(result.text()), ContainsSubstring("input 'n' is a number"));

  EdgeProgramBuilder complex;
  complex.user_output(complex.user_input("z", {ScalarType::ComplexFloat, {1}}));
  auto other = std::move(complex).build();
  REQUIRE(other.ok());
  const auto refused = emit_all(other->view());
  CHECK(refused.error() == Error::NotSupported);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("'z': scalar type is ComplexFloat"));
}

TEST_CASE("data that is not there is refused") {
  Graph graph;
  const ValueId w = graph.builder.stored(EdgeOrigin::Parameter, "w", "w", tensor, {});
  graph.builder.user_output(graph.relu("r", w));
  const OwnedEdgeProgram owned = graph.build();
  const auto result = emit_all(owned.view());
  CHECK(result.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(result.text()), ContainsSubstring("'w' has 0 bytes of data, expected 32"));
}

TEST_CASE("buffers that change have an initial state, others are constants") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId state = graph.stored(EdgeOrigin::Buffer, "state");
  const ValueId fixed = graph.stored(EdgeOrigin::Buffer, "fixed");
  const ValueId sum = graph.add("sum", graph.add("xs", x, state), fixed);
  graph.builder.mutation(state, sum);
  graph.builder.user_output(sum);
  const OwnedEdgeProgram owned = graph.build();
  const ProgramData program = emitted(owned.view());
  CHECK(program.initial_states.size() == 1);
  CHECK(program.constants.size() == 1);
  CHECK(program.methods[0].outputs.size() == 1);
  const auto& copy = std::get<KernelCall>(program.methods[0].instructions.back());
  CHECK(program.methods[0].operators[copy.op_index] == Operator{"aten::copy_", ""});
}

TEST_CASE("a delegate gets its inputs, then its outputs, with the blob and the compile specs") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId w = graph.stored(EdgeOrigin::Parameter, "w");
  const ValueId a = graph.add("a", x, w);
  graph.builder.user_output(graph.relu("r", a));
  graph.builder.user_output(a);
  const OwnedEdgeProgram owned = graph.build();
  auto partitions = tags(owned.view(), {{"a", "t"}});
  partitions.tag_value(w, "t");
  partitions.partition_tags["t"].compile_specs = {{"level", SharedBytes::copy_of("3")}};
  auto lowered = lower(owned.view(), partitions);
  REQUIRE(lowered.ok());
  PreprocessResult result;
  result.processed_bytes = SharedBytes::copy_of("blob");
  NamedDataStore store;
  REQUIRE(store.add_named_data("key", SharedBytes::copy_of("data"), {.alignment = 8}).ok());
  result.data_store_output = store.get_named_data_store_output();
  std::vector<CompiledMethod> methods;
  methods.push_back({*std::move(lowered), {result}});
  const auto program = emit(methods);
  INFO(program.text());
  REQUIRE(program.ok());
  const MethodData& method = program->methods[0];
  REQUIRE(method.delegates.size() == 1);
  CHECK(method.delegates[0].id == "Toy");
  CHECK(as_text(method.delegates[0].processed.bytes()) == "blob");
  CHECK(method.delegates[0].compile_specs.at(0).key == "level");
  REQUIRE(method.instructions.size() == 2);
  const auto& call = std::get<DelegateCall>(method.instructions[0]);
  CHECK(call.args == std::vector<ValueIndex>{method.inputs[0], method.outputs[1]});
  CHECK(program->constants.empty());  // The delegate keeps the only one.
  REQUIRE(program->named_data.pte_data.size() == 1);
  CHECK(program->named_data.pte_data[0].entry.alignment == 8);
  CHECK(make_pte(*program).ok());
}

/// Methods of one node each, by name, each a delegate with `result`.
Result<ProgramData> emit_methods(const std::vector<std::pair<std::string, PreprocessResult>>& all,
                                 std::size_t results = 1) {
  std::vector<OwnedEdgeProgram> owners;
  std::vector<CompiledMethod> methods;
  for (const auto& [name, result] : all) {
    EdgeProgramBuilder builder(name);
    const ValueId x = builder.user_input("x", tensor);
    builder.user_output(builder.node("aten.relu.default", {{"self", EdgeRef{x}}}, tensor, "r"));
    auto owned = std::move(builder).build();
    REQUIRE(owned.ok());
    owners.push_back(*std::move(owned));
    auto lowered = lower(owners.back().view(), tags(owners.back().view(), {{"r", "t"}}));
    REQUIRE(lowered.ok());
    methods.push_back({*std::move(lowered), std::vector<PreprocessResult>(results, result)});
  }
  return emit(methods);
}

PreprocessResult with_data(std::string_view key, std::string_view data) {
  NamedDataStore store;
  REQUIRE(store.add_named_data(key, SharedBytes::copy_of(data)).ok());
  PreprocessResult result;
  result.data_store_output = store.get_named_data_store_output();
  return result;
}

TEST_CASE("methods are in the order of their names and share named data") {
  const auto program = emit_methods({{"b", with_data("k", "v")}, {"a", with_data("k", "v")}});
  INFO(program.text());
  REQUIRE(program.ok());
  REQUIRE(program->methods.size() == 2);
  CHECK(program->methods[0].name == "a");
  CHECK(program->named_data.pte_data.size() == 1);
}

TEST_CASE("one key for two contents is refused with the method") {
  const auto program = emit_methods({{"a", with_data("k", "v")}, {"b", with_data("k", "w")}});
  CHECK(program.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(program.text()), ContainsSubstring("method 'b': "));
  CHECK_THAT(std::string(program.text()), ContainsSubstring("'k'"));
}

TEST_CASE("no method, two of one name, and a wrong number of results are refused") {
  CHECK_THAT(std::string(emit({}).text()), ContainsSubstring("expected at least one method"));
  CHECK_THAT(std::string(emit_methods({{"a", {}}, {"a", {}}}).text()),
             ContainsSubstring("two methods have the name 'a'"));
  CHECK_THAT(std::string(emit_methods({{"a", {}}}, 2).text()),
             ContainsSubstring("method 'a' has 1 partitions but 2 results"));
}

}  // namespace emit_test
