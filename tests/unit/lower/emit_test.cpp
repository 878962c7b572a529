// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/emit.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graphs.hpp"
#include "support/catch.hpp"
#include "tenon/aot/compiler/pte_writer.hpp"
#include "tenon/host/program.hpp"

namespace emit_test {

using namespace graphs;

/// One method, all of whose nodes are left to kernels.
Result<ProgramData> emit_all(const EdgeProgram& program, const EmitOptions& options = {}) {
  auto lowered = lower(program, {});
  REQUIRE(lowered.ok());
  std::vector<CompiledMethod> methods;
  methods.push_back({*std::move(lowered), {}});
  return emit(methods, options);
}

ProgramData emitted(const EdgeProgram& program) {
  auto result = emit_all(program);
  INFO(result.text());
  REQUIRE(result.ok());
  return *std::move(result);
}

const EdgeTensor matrix{ScalarType::Float, {2, 2}};

/// A program of one node with outputs of two by two floats, and what became of its arguments.
class OneNode {
 public:
  EdgeProgramBuilder builder;
  ValueId x = builder.user_input("x", matrix);

  Result<ProgramData> try_emit(std::string_view target,
                               const std::vector<EdgeProgramBuilder::Argument>& arguments,
                               std::size_t outputs = 1, const EdgeTensor& output = matrix) {
    std::vector<ValueId> ids;
    for (std::size_t i = 0; i < outputs; ++i) {
      ids.push_back(builder.node_output(concat("out_", i), output));
    }
    builder.add_node("node", target, arguments, ids);
    for (const ValueId id : ids) builder.user_output(id);
    auto built = std::move(builder).build();
    INFO(built.text());
    REQUIRE(built.ok());
    owned.emplace(*std::move(built));
    return emit_all(owned->view());
  }

  void emit(std::string_view target, const std::vector<EdgeProgramBuilder::Argument>& arguments,
            std::size_t outputs = 1, const EdgeTensor& output = matrix) {
    auto result = try_emit(target, arguments, outputs, output);
    INFO(result.text());
    REQUIRE(result.ok());
    program = *std::move(result);
    REQUIRE(program.methods[0].instructions.size() == 1);
  }

  [[nodiscard]] const MethodData& method() const { return program.methods[0]; }
  [[nodiscard]] std::string op() const {
    const Operator& op = method().operators[call().op_index];
    return op.name + "." + op.overload;
  }
  [[nodiscard]] const KernelCall& call() const {
    return std::get<KernelCall>(method().instructions[0]);
  }
  [[nodiscard]] const Value& argument(std::size_t index) const {
    return method().values.at(static_cast<std::size_t>(call().args.at(index)));
  }
  [[nodiscard]] std::vector<std::int64_t> ints(std::size_t index) const {
    std::vector<std::int64_t> out;
    for (const ValueIndex item : std::get<IntList>(argument(index)).items) {
      out.push_back(std::get<std::int64_t>(method().values.at(static_cast<std::size_t>(item))));
    }
    return out;
  }

  std::optional<OwnedEdgeProgram> owned;
  ProgramData program;
};

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

TEST_CASE("defaults are filled in, and the result is named behind the arguments") {
  OneNode node;
  node.emit("aten.add.Tensor", {{"self", EdgeRef{node.x}}, {"other", EdgeRef{node.x}}});
  CHECK(node.op() == "aten::add.out");
  REQUIRE(node.call().args.size() == 5);
  CHECK(node.call().args[0] == node.method().inputs[0]);
  CHECK(std::get<std::int64_t>(node.argument(2)) == 1);
  CHECK(node.call().args[3] == node.method().outputs[0]);
  CHECK(node.call().args[4] == node.call().args[3]);
}

TEST_CASE("arguments go by name, not by their order in the graph") {
  OneNode node;
  const ValueId y = node.builder.user_input("y", matrix);
  node.emit("aten.add.Tensor", {{"alpha", 2.5}, {"other", EdgeRef{node.x}}, {"self", EdgeRef{y}}});
  CHECK(node.call().args[0] == node.method().inputs[1]);
  CHECK(node.call().args[1] == node.method().inputs[0]);
  CHECK(std::get<double>(node.argument(2)) == 2.5);
}

TEST_CASE("a number in place of a tensor becomes a constant without dimensions") {
  const auto constant = [](const EdgeArgumentValue& number, ScalarType output) {
    OneNode node;
    node.emit("aten.mul.Tensor", {{"self", EdgeRef{node.x}}, {"other", number}}, 1,
              {output, {2, 2}});
    const auto& tensor = std::get<TensorValue>(node.argument(1));
    CHECK(tensor.layout.sizes.empty());
    const auto index = std::get<storage::Constant>(tensor.data).index;
    CHECK(node.program.constants.at(index).size() == size_of(tensor.layout.scalar_type));
    return tensor.layout.scalar_type;
  };
  CHECK(constant(2.0, ScalarType::Float) == ScalarType::Float);
  CHECK(constant(2.0, ScalarType::Double) == ScalarType::Double);
  CHECK(constant(std::int64_t{2}, ScalarType::Float) == ScalarType::Long);
  CHECK(constant(true, ScalarType::Float) == ScalarType::Bool);
}

TEST_CASE("several outputs are written to and named once more as a list") {
  OneNode node;
  node.emit("aten.max.dim", {{"self", EdgeRef{node.x}}, {"dim", std::int64_t{1}}}, 2);
  REQUIRE(node.call().args.size() == 6);
  CHECK(std::get<bool>(node.argument(2)) == false);
  CHECK(std::get<TensorList>(node.argument(5)).items == node.method().outputs);
}

TEST_CASE("a list of outputs is one argument") {
  OneNode node;
  node.emit("aten.split.Tensor", {{"self", EdgeRef{node.x}}, {"split_size", std::int64_t{1}}}, 2);
  CHECK(node.op() == "aten::split_copy.Tensor_out");
  REQUIRE(node.call().args.size() == 5);
  CHECK(std::get<TensorList>(node.argument(3)).items == node.method().outputs);
  CHECK(std::get<TensorList>(node.argument(4)).items == node.method().outputs);
}

TEST_CASE("lists of tensors, with and without None") {
  OneNode cat;
  cat.emit("aten.cat.default", {{"tensors", std::vector<ValueId>{cat.x, cat.x}}});
  CHECK(std::get<TensorList>(cat.argument(0)).items.size() == 2);
  OneNode index;
  index.emit("aten.index.Tensor",
             {{"self", EdgeRef{index.x}}, {"indices", std::vector<ValueId>{no_value, index.x}}});
  CHECK(std::get<OptionalTensorList>(index.argument(1)).items[0] == -1);
}

TEST_CASE("numbers, texts, lists and enumerations become what the kernel takes") {
  OneNode pool;
  pool.emit("aten.avg_pool2d.default",
            {{"self", EdgeRef{pool.x}}, {"kernel_size", std::int64_t{2}}});
  CHECK(pool.ints(1) == std::vector<std::int64_t>{2, 2});
  CHECK(pool.ints(2).empty());
  CHECK(pool.ints(3) == std::vector<std::int64_t>{0, 0});
  CHECK(std::holds_alternative<std::monostate>(pool.argument(6)));

  OneNode gelu;
  gelu.emit("aten.gelu.default", {{"self", EdgeRef{gelu.x}}, {"approximate", std::string("tanh")}});
  CHECK(std::get<std::string>(gelu.argument(1)) == "tanh");

  OneNode sum;
  sum.emit("aten.sum.dim_IntList", {{"self", EdgeRef{sum.x}},
                                    {"dim", EdgeInts({1})},
                                    {"dtype", EdgeEnumerator{EdgeArgumentKind::ScalarType, 7}}});
  CHECK(std::get<bool>(sum.argument(2)) == false);
  CHECK(std::get<std::int64_t>(sum.argument(3)) == 7);

  OneNode cast;
  cast.emit("aten._to_copy.default",
            {{"self", EdgeRef{cast.x}},
             {"dtype", EdgeEnumerator{EdgeArgumentKind::ScalarType, 7}},
             {"memory_format", EdgeEnumerator{EdgeArgumentKind::MemoryFormat, 1}}});
  CHECK(cast.op() == "aten::_to_copy.out");
  CHECK(std::get<std::int64_t>(cast.argument(2)) == 1);

  OneNode norm;
  norm.emit("aten.native_layer_norm.default",
            {{"input", EdgeRef{norm.x}},
             {"normalized_shape", EdgeInts({2})},
             {"weight", std::monostate{}},
             {"bias", std::monostate{}},
             {"eps", std::int64_t{1}}},
            3);
  CHECK(std::holds_alternative<std::monostate>(norm.argument(2)));
  CHECK(std::get<double>(norm.argument(4)) == 1.0);

  OneNode upsample;
  upsample.emit("aten.upsample_nearest2d.vec", {{"input", EdgeRef{upsample.x}},
                                                {"output_size", std::monostate{}},
                                                {"scale_factors", std::vector<double>{2, 2}}});
  CHECK(std::get<std::vector<double>>(upsample.argument(2)) == std::vector<double>{2, 2});
}

TEST_CASE("numbers that are known at run time go through the runtime's own operators") {
  EdgeProgramBuilder builder;
  const EdgeTensor dynamic{ScalarType::Float, {{1, 8, "s0"}}};
  const ValueId x = builder.user_input("x", dynamic);
  const ValueId n =
      builder.node_symbol("aten.sym_size.int", {{"self", EdgeRef{x}}, {"dim", std::int64_t{0}}},
                          EdgeValueKind::SymInt, {1, 8, "s0"});
  const ValueId half =
      builder.node_symbol("_operator.floordiv", {{"a", EdgeRef{n}}, {"b", std::int64_t{2}}},
                          EdgeValueKind::SymInt, {0, 4, "s0//2"});
  builder.user_output(half);
  builder.user_output(builder.node("aten.full.default",
                                   {{"size", EdgeInts({0}, {half})},
                                    {"fill_value", EdgeRef{n}},
                                    {"device", tenon_dl_device{TENON_DL_CPU, 0}},
                                    {"pin_memory", false}},
                                   {ScalarType::Float, {{0, 4, "s0//2"}}}));
  auto owned = std::move(builder).build();
  REQUIRE(owned.ok());
  const MethodData method = emitted(owned->view()).methods[0];
  REQUIRE(method.instructions.size() == 3);
  const auto& floordiv = std::get<KernelCall>(method.instructions[1]);
  CHECK(method.operators[floordiv.op_index] == Operator{"executorch_prim::floordiv", "Scalar"});
  REQUIRE(floordiv.args.size() == 3);
  CHECK(floordiv.args[2] == method.outputs[0]);
  const auto& full = std::get<KernelCall>(method.instructions[2]);
  CHECK(std::get<IntList>(method.values[static_cast<std::size_t>(full.args[0])]).items ==
        std::vector<ValueIndex>{floordiv.args[2]});
  CHECK(full.args[1] == floordiv.args[0]);
}

TEST_CASE("a number that is known at run time becomes a tensor where the kernel takes one") {
  EdgeProgramBuilder builder;
  const EdgeTensor dynamic{ScalarType::Float, {{1, 8, "s0"}}};
  const ValueId x = builder.user_input("x", dynamic);
  const ValueId n =
      builder.node_symbol("aten.sym_size.int", {{"self", EdgeRef{x}}, {"dim", std::int64_t{0}}},
                          EdgeValueKind::SymInt, {1, 8, "s0"});
  builder.user_output(
      builder.node("aten.mul.Tensor", {{"self", EdgeRef{x}}, {"other", EdgeRef{n}}}, dynamic));
  auto owned = std::move(builder).build();
  REQUIRE(owned.ok());
  const MethodData method = emitted(owned->view()).methods[0];
  REQUIRE(method.instructions.size() == 3);
  const auto& made = std::get<KernelCall>(method.instructions[1]);
  CHECK(method.operators[made.op_index] == Operator{"aten::scalar_tensor", "out"});
  const auto& mul = std::get<KernelCall>(method.instructions[2]);
  CHECK(mul.args[1] == made.args[1]);
  const auto& tensor_made =
      std::get<TensorValue>(method.values[static_cast<std::size_t>(mul.args[1])]);
  CHECK(tensor_made.layout.sizes.empty());
  CHECK(tensor_made.layout.scalar_type == ScalarType::Long);
}

TEST_CASE("copies that change the order of dimensions are told the order") {
  const EdgeTensor image{ScalarType::Float, {1, 2, 3, 4}};
  EdgeTensor channels_last = image;
  channels_last.dim_order = {0, 2, 3, 1};
  const auto op_of = [&](std::string_view target, const EdgeTensor& output) {
    OneNode node;
    const ValueId y = node.builder.user_input("y", image);
    node.emit(target,
              {{"self", EdgeRef{y}},
               {"memory_format", EdgeEnumerator{EdgeArgumentKind::MemoryFormat, 2}}},
              1, output);
    if (node.op().starts_with("dim_order_ops")) {
      CHECK(node.ints(2) == std::vector<std::int64_t>{0, 2, 3, 1});
      CHECK(node.call().args.size() == 5);
    }
    return node.op();
  };
  CHECK(op_of("aten.clone.default", channels_last) == "dim_order_ops::_clone_dim_order.out");
  CHECK(op_of("aten._to_copy.default", channels_last) == "dim_order_ops::_to_dim_order_copy.out");
  CHECK(op_of("aten.clone.default", image) == "aten::clone.out");
}

TEST_CASE("what a kernel does not take is refused with the node and the argument") {
  const auto refused = [](const std::string& text, std::string_view target, const auto& arguments,
                          std::size_t outputs = 1) {
    OneNode node;
    const auto result = node.try_emit(target, arguments(node), outputs);
    INFO(result.text());
    CHECK(result.error() == Error::NotSupported);
    CHECK_THAT(std::string(result.text()),
               ContainsSubstring("method 'forward': node 'node' (" + std::string(target) + "): "));
    CHECK_THAT(std::string(result.text()), ContainsSubstring(text));
  };
  using Arguments = std::vector<EdgeProgramBuilder::Argument>;
  const auto self = [](OneNode& node) { return Arguments{{"self", EdgeRef{node.x}}}; };
  refused("operator acme.scale.default has no kernel", "acme.scale.default", self);
  refused("operator aten.add_.Tensor has no kernel", "aten.add_.Tensor", self);
  refused("argument 'other': expected a tensor, found nothing", "aten.add.Tensor", self);
  refused("has no parameter 'more'", "aten.relu.default", [](OneNode& node) {
    return Arguments{{"self", EdgeRef{node.x}}, {"more", true}};
  });
  refused("argument 'self': expected a tensor, found None", "aten.relu.default", [](OneNode&) {
    return Arguments{{"self", std::monostate{}}};
  });
  refused("argument 'self': expected a tensor, found a text", "aten.relu.default", [](OneNode&) {
    return Arguments{{"self", std::string("x")}};
  });
  refused("argument 'alpha': expected a number, found a text", "aten.add.Tensor",
          [](OneNode& node) {
            return Arguments{
                {"self", EdgeRef{node.x}}, {"other", EdgeRef{node.x}}, {"alpha", std::string("1")}};
          });
  refused("argument 'dim': expected an int, found a double", "aten._softmax.default",
          [](OneNode& node) {
            return Arguments{{"self", EdgeRef{node.x}}, {"dim", 1.0}, {"half_to_float", false}};
          });
  refused("argument 'dims': expected a list; each an int, found an int", "aten.permute.default",
          [](OneNode& node) {
            return Arguments{{"self", EdgeRef{node.x}}, {"dims", std::int64_t{1}}};
          });
  refused("argument 'dims': expected a list; each an int, found a tensor", "aten.permute.default",
          [](OneNode& node) {
            return Arguments{{"self", EdgeRef{node.x}}, {"dims", std::vector<ValueId>{node.x}}};
          });
  refused("found None in a list of tensors", "aten.cat.default", [](OneNode&) {
    return Arguments{{"tensors", std::vector<ValueId>{no_value}}};
  });
  refused("the kernel writes to 'max_values', for which the node has no tensor", "aten.max.dim",
          [](OneNode& node) {
            return Arguments{{"self", EdgeRef{node.x}}, {"dim", std::int64_t{0}}};
          });
  refused("the node has 2 outputs, kernel aten::relu.out writes to 1", "aten.relu.default", self,
          2);
  refused("returns one number, the node has 1 tensor", "aten.sym_numel.default", self);
  refused("there are 2 arguments, executorch_prim::neg takes 1", "_operator.neg",
          [](OneNode& node) {
            return Arguments{{"a", EdgeRef{node.x}}, {"b", EdgeRef{node.x}}};
          });
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
  CHECK_THAT(std::string(emit({}).text()), ContainsSubstring("needs a method"));
  CHECK_THAT(std::string(emit_methods({{"a", {}}, {"a", {}}}).text()),
             ContainsSubstring("two methods have the name 'a'"));
  CHECK_THAT(std::string(emit_methods({{"a", {}}}, 2).text()),
             ContainsSubstring("method 'a' has 1 partitions but 2 results"));
}

}  // namespace emit_test
