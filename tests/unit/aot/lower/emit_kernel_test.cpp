// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "one_node.hpp"
#include "support/catch.hpp"

namespace emit_kernel_test {

using namespace graphs;

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
    node.emit("aten.maximum.default", {{"self", EdgeRef{node.x}}, {"other", number}}, 1,
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

TEST_CASE("a tensor and a number use the kernel that takes a number, when there is one") {
  OneNode node;
  node.emit("aten.add.Tensor",
            {{"self", EdgeRef{node.x}}, {"other", std::int64_t{2}}, {"alpha", std::int64_t{3}}});
  CHECK(node.op() == "aten::add.Scalar_out");
  CHECK(std::get<std::int64_t>(node.argument(1)) == 2);
  CHECK(std::get<std::int64_t>(node.argument(2)) == 3);
  CHECK(node.program.constants.empty());
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

namespace {

/// A program with an input of 1 to 8 elements, and with their number.
struct WithSize {
  static EdgeTensor dynamic() { return {ScalarType::Float, {{1, 8, "s0"}}}; }

  EdgeProgramBuilder builder;
  ValueId x = builder.user_input("x", dynamic());
  ValueId n =
      builder.node_symbol("aten.sym_size.int", {{"self", EdgeRef{x}}, {"dim", std::int64_t{0}}},
                          EdgeValueKind::SymInt, {1, 8, "s0"});
};

}  // namespace

TEST_CASE("numbers that are known at run time go through the runtime's own operators") {
  WithSize with;
  const ValueId half = with.builder.node_symbol("_operator.floordiv",
                                                {{"a", EdgeRef{with.n}}, {"b", std::int64_t{2}}},
                                                EdgeValueKind::SymInt, {0, 4, "s0//2"});
  with.builder.user_output(half);
  with.builder.user_output(with.builder.node("aten.full.default",
                                             {{"size", EdgeInts({0}, {half})},
                                              {"fill_value", EdgeRef{with.n}},
                                              {"device", tenon_dl_device{TENON_DL_CPU, 0}},
                                              {"pin_memory", false}},
                                             {ScalarType::Float, {{0, 4, "s0//2"}}}));
  auto owned = std::move(with.builder).build();
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
  WithSize with;
  with.builder.user_output(
      with.builder.node("aten.mul.Tensor", {{"self", EdgeRef{with.x}}, {"other", EdgeRef{with.n}}},
                        WithSize::dynamic()));
  auto owned = std::move(with.builder).build();
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

TEST_CASE("copies that change the order of dimensions get the order as an argument") {
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
               ContainsSubstring(concat("method 'forward': node 'node' (", target, "): ")));
    CHECK_THAT(std::string(result.text()), ContainsSubstring(text));
  };
  using Arguments = std::vector<EdgeProgramBuilder::Argument>;
  const auto self = [](OneNode& node) { return Arguments{{"self", EdgeRef{node.x}}}; };
  refused("operator acme.scale.default has no kernel", "acme.scale.default", self);
  refused("operator aten.add_.Tensor has no kernel", "aten.add_.Tensor", self);
  refused("argument 'other': expected a tensor, found nothing", "aten.add.Tensor", self);
  refused("has no parameter 'more'", "aten.relu.default",
          [](OneNode& node) { return Arguments{{"self", EdgeRef{node.x}}, {"more", true}}; });
  refused("argument 'self': expected a tensor, found None", "aten.relu.default",
          [](OneNode&) { return Arguments{{"self", std::monostate{}}}; });
  refused("argument 'self': expected a tensor, found a text", "aten.relu.default",
          [](OneNode&) { return Arguments{{"self", std::string("x")}}; });
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
  refused("found None in a list of tensors", "aten.cat.default",
          [](OneNode&) { return Arguments{{"tensors", std::vector<ValueId>{no_value}}}; });
  refused(
      "the kernel writes to 'max_values', for which the node has no tensor", "aten.max.dim",
      [](OneNode& node) { return Arguments{{"self", EdgeRef{node.x}}, {"dim", std::int64_t{0}}}; });
  refused("the node has 2 outputs, kernel aten::relu.out writes to 1", "aten.relu.default", self,
          2);
  refused("returns one number, the node has 1 tensor", "aten.sym_numel.default", self);
  refused("there are 2 arguments, executorch_prim::neg takes 1", "_operator.neg",
          [](OneNode& node) { return Arguments{{"a", EdgeRef{node.x}}, {"b", EdgeRef{node.x}}}; });
}

}  // namespace emit_kernel_test
