// SPDX-License-Identifier: MIT
//
// Several backends for one program, compiled and summed up: which backend gets which nodes, what
// each of them sees, and in how many calls.
#include "tenon/aot/compiler/partition/partition_by_backends.hpp"

#include <cstdint>
#include <string>
#include <tenon/aot.hpp>
#include <tenon/aot/edge_program_builder.hpp>
#include <utility>
#include <vector>

#include "fake_compiler.hpp"
#include "support/catch.hpp"
#include "tenon/aot/compiler/compile_methods.hpp"
#include "tenon/aot/compiler/lower/delegation_info.hpp"
#include "tenon/aot/compiler/lower/edge_program_text.hpp"
#include "tenon/aot/compiler/lower/lower.hpp"

namespace partition_by_backends_test {

using namespace tenon;
using namespace tenon::aot;
using test::FakeCompiler;

/// relu, exp(+ weight), relu, and a relu without a reader.
OwnedEdgeProgram relu_exp_relu(std::string_view method) {
  const EdgeTensor tensor{ScalarType::Float, {{1, 4, "s0"}}};
  EdgeProgramBuilder graph(method);
  const ValueId x = graph.user_input("x", tensor);
  const ValueId weight =
      graph.stored(EdgeOrigin::Parameter, "p_weight", "weight", {ScalarType::Float, {1}},
                   SharedBytes(std::vector<std::byte>(4)));
  const ValueId first = graph.node("aten.relu.default", {{"self", EdgeRef{x}}}, tensor);
  const ValueId sum =
      graph.node("aten.add.Tensor", {{"self", EdgeRef{first}}, {"other", EdgeRef{weight}}}, tensor);
  const ValueId last = graph.node("aten.relu.default", {{"self", EdgeRef{sum}}}, tensor);
  graph.node("aten.relu.default", {{"self", EdgeRef{sum}}}, tensor, "unseen");
  graph.user_output(last);
  auto built = std::move(graph).build();
  REQUIRE(built.ok());
  return *std::move(built);
}

/// A backend that takes each node with that target as a partition of its own, with the parameters
/// that it reads, and compiles it to "ID:NODE".
struct Taker : FakeCompiler {
  std::vector<std::string> seen;  ///< The graph of each call of `partition`.
  int preprocess_calls = 0;

  Taker(std::string backend_id, std::string target) : FakeCompiler(backend_id) {
    partition = [this, target](const tenon_edge_program& raw, const tenon_compile_spec* options,
                               std::uint32_t num_options, const tenon_partition_sink& sink) {
      const EdgeProgram program(raw);
      seen.push_back(to_text(program));
      for (std::uint32_t i = 0; i < program.num_nodes(); ++i) {
        if (program.node(i).target() != target) continue;
        const std::string tag(program.node(i).name());
        sink.add_partition(sink.context, tag.c_str(), options, num_options);
        sink.tag_node(sink.context, i, tag.c_str());
        program.node(i).for_each_input([&](ValueId value) {
          if (program.value(value).has_fqn()) {
            sink.tag_value(sink.context, value, tag.c_str());
          }
        });
      }
      return tenon_status{TENON_STATUS_OK};
    };
    preprocess = [this, backend_id](const tenon_partition* partitions, std::uint32_t count,
                                    const tenon_preprocess_sink& sink) {
      ++preprocess_calls;
      const tenon::detail::StridedArray<tenon_partition> all(partitions, count);
      for (std::uint32_t i = 0; i < count; ++i) {
        const EdgeProgram program(*all[i].program);
        const std::string blob = concat(backend_id, ":", program.method_name(), ":",
                                        program.node(0).name(), ":", all[i].num_compile_specs);
        sink.set_processed(sink.context, i, blob.data(), blob.size());
      }
      return tenon_status{TENON_STATUS_OK};
    };
  }

  BackendToUse use(bool whole_program = false) {
    auto found = PluginPreprocess::of(ref());
    REQUIRE(found.ok());
    return {*std::move(found), {{"mode", SharedBytes::copy_of("fast")}}, whole_program};
  }
};

PartitionResult partition_ok(const OwnedEdgeProgram& program,
                             const std::vector<BackendToUse>& backends) {
  auto result = partition_by_backends(program.view(), backends);
  INFO(result.text());
  REQUIRE(result.ok());
  return *std::move(result);
}

TEST_CASE("the first backend gets what both could take", "[aot]") {
  Taker first("First", "aten.relu.default");
  Taker second("Second", "aten.relu.default");
  const OwnedEdgeProgram program = relu_exp_relu("forward");
  const PartitionResult result = partition_ok(program, {first.use(), second.use()});
  CHECK(result.tag_of(0) == "First/relu");
  CHECK(result.tag_of(1).empty());
  CHECK(result.tag_of(2) == "First/relu_1");
  REQUIRE(result.partition_tags.size() == 2);
  CHECK(result.partition_tags.at("First/relu").backend_id == "First");
  CHECK(result.partition_tags.at("First/relu").compile_specs.at(0).key == "mode");
}

TEST_CASE("a later backend sees what others took as calls of their delegates", "[aot]") {
  Taker relu("Relu", "aten.relu.default");
  Taker add("Add", "aten.add.Tensor");
  const OwnedEdgeProgram program = relu_exp_relu("forward");
  const PartitionResult result = partition_ok(program, {relu.use(), add.use()});
  CHECK(result.tag_of(1) == "Add/add");
  CHECK(result.tag_of_value(*program.view().find_value("p_weight")) == "Add/add");
  CHECK(result.partition_tags.size() == 3);

  REQUIRE(add.seen.size() == 1);
  CHECK_THAT(add.seen[0], ContainsSubstring("higher_order.executorch_call_delegate") &&
                              ContainsSubstring("aten.add.Tensor") && !ContainsSubstring("relu."));
  CHECK_THAT(relu.seen[0], !ContainsSubstring("unseen"));  // Not read, so not delegated.
  const auto lowered = lower(program.view(), result);
  REQUIRE(lowered.ok());
  CHECK(lowered->steps.size() == 3);
}

TEST_CASE("a backend that takes another one's delegate is refused", "[aot]") {
  Taker relu("Relu", "aten.relu.default");
  Taker thief("Thief", "higher_order.executorch_call_delegate");
  const OwnedEdgeProgram program = relu_exp_relu("forward");
  const std::vector<BackendToUse> backends = {relu.use(), thief.use()};
  const auto result = partition_by_backends(program.view(), backends);
  CHECK(result.error() == Error::InvalidArgument);
  CHECK(result.text() == "backend Thief: partition: node 'delegate 0' belongs to another backend");
}

TEST_CASE("a backend that is named twice is refused", "[aot]") {
  Taker relu("Relu", "aten.relu.default");
  const OwnedEdgeProgram program = relu_exp_relu("forward");
  // With the second call nothing is left, so let it declare what it does not use.
  Taker again("Relu", "aten.add.Tensor");
  again.partition = [](const tenon_edge_program&, const tenon_compile_spec*, std::uint32_t,
                       const tenon_partition_sink& sink) {
    return sink.add_partition(sink.context, "relu", nullptr, 0);
  };
  const std::vector<BackendToUse> backends = {relu.use(), again.use()};
  CHECK_THAT(std::string(partition_by_backends(program.view(), backends).text()),
             ContainsSubstring("backend Relu was named twice"));
}

TEST_CASE("a partition that cannot be taken out is refused with its backend", "[aot]") {
  Taker relu("Relu", "aten.relu.default");
  relu.partition = [](const tenon_edge_program&, const tenon_compile_spec*, std::uint32_t,
                      const tenon_partition_sink& sink) {
    sink.add_partition(sink.context, "p", nullptr, 0);
    sink.tag_node(sink.context, 0, "p");
    return sink.tag_node(sink.context, 2, "p");  // Around the addition.
  };
  const OwnedEdgeProgram program = relu_exp_relu("forward");
  const std::vector<BackendToUse> backends = {relu.use()};
  const auto result = partition_by_backends(program.view(), backends);
  CHECK(result.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(result.text()),
             ContainsSubstring("partitions of backend Relu: ") && ContainsSubstring("'add'"));
}

TEST_CASE("a backend may be given the whole program unasked", "[aot][S0.9]") {
  Taker relu("Relu", "aten.relu.default");
  const OwnedEdgeProgram program = relu_exp_relu("forward");
  const PartitionResult result = partition_ok(program, {relu.use(true)});
  CHECK(relu.seen.empty());
  REQUIRE(result.partition_tags.size() == 1);
  for (const std::size_t node : {0u, 1u, 2u}) CHECK(result.tag_of(node) == "Relu/whole");
  CHECK(result.tag_of(3).empty());
  CHECK(result.tag_of_value(*program.view().find_value("p_weight")) == "Relu/whole");
}

TEST_CASE("each backend compiles all of its partitions in one call", "[aot][S0.9]") {
  Taker relu("Relu", "aten.relu.default");
  Taker add("Add", "aten.add.Tensor");
  Taker none("None", "aten.exp.default");
  const OwnedEdgeProgram encode = relu_exp_relu("encode");
  const OwnedEdgeProgram decode = relu_exp_relu("decode");
  const std::vector<EdgeProgram> methods = {encode.view(), decode.view()};
  const std::vector<BackendToUse> backends = {relu.use(), add.use(), none.use()};
  const auto compiled = compile_methods(methods, backends);
  INFO(compiled.text());
  REQUIRE(compiled.ok());
  REQUIRE(compiled->size() == 2);
  CHECK(relu.preprocess_calls == 1);
  CHECK(add.preprocess_calls == 1);
  CHECK(none.preprocess_calls == 0);
  const auto blob = [&](std::size_t method, std::size_t partition) {
    const Bytes bytes = compiled->at(method).results.at(partition).processed_bytes.bytes();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  CHECK(blob(0, 0) == "Relu:encode:relu:1");
  CHECK(blob(0, 1) == "Add:encode:add:1");
  CHECK(blob(0, 2) == "Relu:encode:relu_1:1");
  CHECK(blob(1, 1) == "Add:decode:add:1");

  const auto program = emit(*compiled);
  INFO(program.text());
  REQUIRE(program.ok());
  REQUIRE(program->methods.size() == 2);
  CHECK(program->methods[0].delegates.size() == 3);
  CHECK(program->methods[0].operators.empty());
}

TEST_CASE("failures of a method name it", "[aot]") {
  Taker relu("Relu", "aten.relu.default");
  relu.partition = [&](const tenon_edge_program&, const tenon_compile_spec*, std::uint32_t,
                       const tenon_partition_sink&) {
    return relu.fail(TENON_STATUS_NOT_SUPPORTED, "no");
  };
  const OwnedEdgeProgram encode = relu_exp_relu("encode");
  const std::vector<EdgeProgram> methods = {encode.view()};
  const std::vector<BackendToUse> backends = {relu.use()};
  CHECK(compile_methods(methods, backends).text() ==
        "method 'encode': backend Relu: partition: no");
}

TEST_CASE("nodes are counted by where they went", "[aot]") {
  Taker relu("Relu", "aten.relu.default");
  const OwnedEdgeProgram program = relu_exp_relu("forward");
  const std::vector<EdgeProgram> methods = {program.view()};
  const auto count = [&](const std::vector<BackendToUse>& backends) {
    const auto compiled = compile_methods(methods, backends);
    REQUIRE(compiled.ok());
    return get_delegation_info(compiled->front().program);
  };
  const DelegationInfo some = count({relu.use()});
  CHECK(some.num_delegated_subgraphs == 2);
  CHECK(some.num_delegated_nodes == 2);
  CHECK(some.num_non_delegated_nodes == 1);
  REQUIRE(some.delegation_by_operator.size() == 2);
  CHECK(some.delegation_by_operator.at("aten.relu.default") == DelegationBreakdown{2, 0});
  CHECK(some.delegation_by_operator.at("aten.add.Tensor") == DelegationBreakdown{0, 1});
  const DelegationInfo none = count({});
  CHECK(none.num_delegated_subgraphs == 0);
  CHECK(none.num_non_delegated_nodes == 3);
  CHECK(none.delegation_by_operator.at("aten.relu.default") == DelegationBreakdown{0, 2});
}

}  // namespace partition_by_backends_test
