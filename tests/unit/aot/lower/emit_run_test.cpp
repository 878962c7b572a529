// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "graphs.hpp"
#include "support/catch.hpp"
#include "tenon/aot/compiler/emit/emit.hpp"
#include "tenon/aot/compiler/write/ptd_writer.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/data/data_files.hpp"
#include "tenon/host/loader/method/kernels.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "toy_backend.hpp"

/// Runs emitted programs on the host with kernels for vectors of four integers.
namespace emit_run_test {

using namespace graphs;

std::int64_t* elements(tenon_value* value) {
  return static_cast<std::int64_t*>(value->as.tensor->dl.data);
}

/// Arguments behind the last output name the result once more.
template <class Compute>
tenon_status elementwise(tenon_value* const* args, std::uint32_t num_args, std::uint32_t out,
                         const Compute& compute) {
  if (num_args < out + 2 || args[num_args - 1] == nullptr) return TENON_STATUS_INVALID_ARGUMENT;
  for (std::size_t i = 0; i < 4; ++i) elements(args[out])[i] = compute(i);
  return TENON_STATUS_OK;
}

tenon_status add(void*, const tenon_execution_context*, tenon_value* const* args,
                 std::uint32_t num_args) {
  // self, other, alpha, out
  return elementwise(args, num_args, 3, [&](std::size_t i) {
    return elements(args[0])[i] + args[2]->as.integer * elements(args[1])[i];
  });
}
tenon_status mul(void*, const tenon_execution_context*, tenon_value* const* args,
                 std::uint32_t num_args) {
  return elementwise(args, num_args, 2, [&](std::size_t i) {
    return elements(args[0])[i] * elements(args[1])[i] % 1009;
  });
}
tenon_status relu(void*, const tenon_execution_context*, tenon_value* const* args,
                  std::uint32_t num_args) {
  return elementwise(args, num_args, 1, [&](std::size_t i) {
    return std::max<std::int64_t>(elements(args[0])[i], 0);
  });
}
tenon_status both(void*, const tenon_execution_context*, tenon_value* const* args,
                  std::uint32_t num_args) {
  const Vector self(elements(args[0]), elements(args[0]) + 4);
  const tenon_status first =
      elementwise(args, num_args, 1, [&](std::size_t i) { return self[i] - 3; });
  if (first != TENON_STATUS_OK) return first;
  return elementwise(args, num_args, 2, [&](std::size_t i) { return self[i] * 2 % 1009; });
}
tenon_status clone(void*, const tenon_execution_context*, tenon_value* const* args,
                   std::uint32_t num_args) {
  // self, memory_format, out
  return elementwise(args, num_args, 2, [&](std::size_t i) { return elements(args[0])[i]; });
}
tenon_status copy(void*, const tenon_execution_context*, tenon_value* const* args,
                  std::uint32_t num_args) {
  // self, src, non_blocking, and self once more
  if (num_args != 4 || args[0] != args[3]) return TENON_STATUS_INVALID_ARGUMENT;
  std::memcpy(elements(args[0]), elements(args[1]), 32);
  return TENON_STATUS_OK;
}

host::KernelTable kernels() {
  host::KernelTable out;
  REQUIRE(out.add("aten::add.out", {add}).ok());
  REQUIRE(out.add("aten::mul.out", {mul}).ok());
  REQUIRE(out.add("aten::relu.out", {relu}).ok());
  REQUIRE(out.add("toy::both.out", {both}).ok());
  REQUIRE(out.add("aten::clone.out", {clone}).ok());
  REQUIRE(out.add("aten::copy_", {copy}).ok());
  return out;
}

/// A method of a program that was emitted, written and loaded.
class Loaded {
 public:
  explicit Loaded(const EdgeProgram& program, const PartitionResult& partitions = {},
                  EmitOptions options = {})
      : kernels_(kernels()) {
    REQUIRE(options.operators
                .add("toy.both.default",
                     "toy::both.out(Tensor self, *, Tensor(a!) out0, Tensor(b!) out1)")
                .ok());
    auto lowered = lower(program, partitions);
    REQUIRE(lowered.ok());
    methods_.push_back({*std::move(lowered), {}});
    toy_programs().clear();
    for (const LoweredPartition& part : methods_[0].program.partitions) {
      const auto number = static_cast<std::uint32_t>(toy_programs().size());
      toy_programs().push_back(part.program.view());
      PreprocessResult result;
      result.processed_bytes = SharedBytes::copy_of(std::as_bytes(std::span(&number, 1)));
      methods_[0].results.push_back(std::move(result));
    }
    const auto emitted = emit(methods_, options);
    INFO(emitted.text());
    REQUIRE(emitted.ok());
    const Status proof = check_method_memory(emitted->methods[0]);
    INFO(proof.text());
    REQUIRE(proof.ok());
    const auto image = make_pte(*emitted);
    INFO(image.text());
    REQUIRE(image.ok());
    bytes_ = image->bytes();
    auto opened = host::Program::from_bytes(bytes_, nullptr, "emitted");
    INFO(opened.text());
    REQUIRE(opened.ok());
    host::MethodOptions with{.registry = &registry_, .kernels = &kernels_};
    for (const ExternalData& external : emitted->named_data.external_data) {
      const auto file = make_ptd(emitted->named_data.buffers, external.entries);
      INFO(file.text());
      REQUIRE(file.ok());
      data_bytes_.push_back(file->bytes());
      auto data = host::DataFile::from_bytes(data_bytes_.back(), nullptr, external.tag);
      INFO(data.text());
      REQUIRE(data.ok());
      with.layers.add(host::DataFiles({*data}));
    }
    REQUIRE(registry_.register_backend(tenon_static_plugin_Toy).ok());
    auto method = host::Method::load(*opened, "forward", with);
    INFO(method.text());
    REQUIRE(method.ok());
    method_ = *std::move(method);
  }

  std::vector<Vector> operator()(const std::vector<Vector>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::int64_t sizes[] = {4};
      REQUIRE(method_->set_input(i, {ScalarType::Long, sizes, std::as_bytes(std::span(inputs[i]))})
                  .ok());
    }
    const Status status = method_->execute();
    INFO(status.text());
    REQUIRE(status.ok());
    std::vector<Vector> out;
    for (std::size_t i = 0; i < method_->num_outputs(); ++i) {
      out.emplace_back(4);
      REQUIRE(method_->read_output(i, std::as_writable_bytes(std::span(out.back()))).ok());
    }
    return out;
  }

  /// The content of a changed input after the last call. The memory of other values may have been
  /// reused.
  [[nodiscard]] Vector input(std::size_t index) const {
    Vector out(4);
    std::memcpy(out.data(), method_->input(index).as.tensor->dl.data, 32);
    return out;
  }

 private:
  std::vector<CompiledMethod> methods_;
  host::BackendRegistry registry_;
  host::KernelTable kernels_;
  std::vector<std::byte> bytes_;
  std::deque<std::vector<std::byte>> data_bytes_;
  std::unique_ptr<host::Method> method_;
};

/// Runs a method three times, and compares its outputs with the ones that the program should have.
void check_three_calls(Loaded& loaded, const OwnedEdgeProgram& program) {
  State state;
  for (int call = 0; call < 3; ++call) {
    std::vector<Vector> inputs(3, Vector(4));
    for (Vector& input : inputs) std::iota(input.begin(), input.end(), -2 + call);
    INFO("call " << call);
    const auto expected = run(program.view(), inputs, state);
    REQUIRE(loaded(inputs) == expected);
  }
}

TEST_CASE("random programs without delegates run on the host, call after call") {
  std::mt19937 random(31);
  for (int round = 0; round < 200; ++round) {
    const OwnedEdgeProgram owned = random_graph(random, 1 + random() % 40);
    Loaded loaded(owned.view());
    INFO("round " << round);
    check_three_calls(loaded, owned);
  }
}

TEST_CASE("random programs with delegates run on the host, call after call") {
  std::mt19937 random(32);
  for (int round = 0; round < 200; ++round) {
    const OwnedEdgeProgram owned = random_graph(random, 1 + random() % 40);
    PartitionOptions options;
    options.spec.backend_id = "Toy";
    options.tag_mutated_buffers = random() % 2 == 0;
    options.tag_constant_data = random() % 3 != 0;
    options.skip_horizontal_fusion = random() % 2 == 0;
    auto partitions = partition_by_support(
        owned.view(), [&](const auto&, const auto&) { return random() % 10 < 6; }, options);
    REQUIRE(partitions.ok());
    Loaded loaded(owned.view(), *partitions);
    INFO("round " << round);
    check_three_calls(loaded, owned);
  }
}

TEST_CASE("two buffers swap, and outputs show what was there before") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId a = graph.stored(EdgeOrigin::Buffer, "a", {1, 1, 1, 1});
  const ValueId b = graph.stored(EdgeOrigin::Buffer, "b", {2, 2, 2, 2});
  const ValueId same = graph.stored(EdgeOrigin::Buffer, "same", {9, 9, 9, 9});
  graph.builder.mutation(a, b);
  graph.builder.mutation(b, a);
  graph.builder.mutation(same, same);
  graph.builder.mutation(x, a);
  for (const ValueId id : {x, a, b, same, a}) graph.builder.user_output(id);
  const OwnedEdgeProgram owned = graph.build();
  Loaded loaded(owned.view());
  const std::vector<Vector> inputs = {{5, 6, 7, 8}};
  CHECK(loaded(inputs) ==
        std::vector<Vector>{{5, 6, 7, 8}, {1, 1, 1, 1}, {2, 2, 2, 2}, {9, 9, 9, 9}, {1, 1, 1, 1}});
  CHECK(loaded.input(0) == Vector{1, 1, 1, 1});
  CHECK(loaded(inputs)[1] == Vector{2, 2, 2, 2});
  CHECK(loaded.input(0) == Vector{2, 2, 2, 2});
}

TEST_CASE("inputs, constants and values that are given out twice are outputs") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId c = graph.stored(EdgeOrigin::Constant, "c", {4, 3, 2, 1});
  const ValueId sum = graph.add("sum", x, c);
  for (const ValueId id : {c, sum, x, sum}) graph.builder.user_output(id);
  const OwnedEdgeProgram owned = graph.build();
  Loaded loaded(owned.view());
  const std::vector<Vector> inputs = {{1, 2, 3, 4}};
  CHECK(loaded(inputs) ==
        std::vector<Vector>{{4, 3, 2, 1}, {5, 5, 5, 5}, {1, 2, 3, 4}, {5, 5, 5, 5}});
}

TEST_CASE("constants in a file of their own are found by name; what changes stays") {
  Graph graph;
  const ValueId x = graph.input("x");
  const ValueId w = graph.builder.stored(EdgeOrigin::Parameter, "w", "layer.weight", tensor,
                                         data_of({10, 20, 30, 40}));
  const ValueId state = graph.stored(EdgeOrigin::Buffer, "state", {1, 1, 1, 1});
  const ValueId sum = graph.add("sum", graph.add("xw", x, w), state);
  graph.builder.mutation(state, sum);
  graph.builder.user_output(sum);
  const OwnedEdgeProgram owned = graph.build();
  EmitOptions options;
  options.external_constants = "weights";
  Loaded loaded(owned.view(), {}, options);
  const std::vector<Vector> inputs = {{1, 2, 3, 4}};
  CHECK(loaded(inputs)[0] == Vector{12, 23, 34, 45});
  CHECK(loaded(inputs)[0] == Vector{23, 45, 67, 89});

  auto lowered = lower(owned.view(), {});
  REQUIRE(lowered.ok());
  std::vector<CompiledMethod> methods;
  methods.push_back({*std::move(lowered), {}});
  const auto program = emit(methods, options);
  REQUIRE(program.ok());
  CHECK(program->constants.empty());
  CHECK(program->initial_states.size() == 1);
  const ExternalData* weights = program->named_data.find_external_data("weights");
  REQUIRE(weights);
  REQUIRE(weights->entries.size() == 1);
  CHECK(weights->entries[0].key == "layer.weight");
}

}  // namespace emit_run_test
