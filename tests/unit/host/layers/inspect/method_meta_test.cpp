// SPDX-License-Identifier: MIT
#include <vector>

#include "tenon/host/layers/inspect/method_meta.hpp"
#include "unit/host/loader/program/rich_program.hpp"

using namespace tenon;
using namespace tenon::test;
using tenon::host::MethodMeta;

namespace {

class Rich {
 public:
  Rich() : file_(builder().build()) {}

  [[nodiscard]] MethodMeta meta() const { return *MethodMeta::of(*program_, "forward"); }

 private:
  static ProgramBuilder builder() {
    auto builder = rich_program();
    forward(builder).inputs = {rich::input, rich::integer, rich::none, rich::tensor_items};
    forward(builder).outputs = {rich::constant, rich::boolean, rich::text, rich::real};
    auto& dynamic = *forward(builder).values[rich::input]->val.AsTensor();
    dynamic.shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
    dynamic.dim_order = {1, 0};
    PlanBuilder(forward(builder)).delegate("Outside", schema::DataLocation::SEGMENT, 2);
    return builder;
  }

  AlignedBytes file_;
  std::shared_ptr<const host::Program> program_ =
      *host::Program::from_bytes(std::as_const(file_).bytes(), nullptr, "rich.pte");
};

template <class T>
void check_above_end(const Result<T>& result, const std::string& text) {
  REQUIRE_FALSE(result.ok());
  CHECK(result.error() == Error::InvalidArgument);
  CHECK(result.text() == "method 'forward': " + text);
}

TEST_CASE("a method's inputs and outputs are reported with their kinds") {
  const Rich rich;
  const auto meta = rich.meta();
  CHECK(meta.name() == "forward");
  REQUIRE(meta.num_inputs() == 4);
  CHECK(*meta.input_tag(0) == TENON_VALUE_TENSOR);
  CHECK(*meta.input_tag(1) == TENON_VALUE_INT);
  CHECK(*meta.input_tag(2) == TENON_VALUE_NONE);
  CHECK(*meta.input_tag(3) == TENON_VALUE_TENSOR_LIST);
  REQUIRE(meta.num_outputs() == 4);
  CHECK(*meta.output_tag(0) == TENON_VALUE_TENSOR);
  CHECK(*meta.output_tag(1) == TENON_VALUE_BOOL);
  CHECK(*meta.output_tag(2) == TENON_VALUE_STRING);
  CHECK(*meta.output_tag(3) == TENON_VALUE_DOUBLE);
  check_above_end(meta.input_tag(4), "input 4 does not exist: there are 4");
  check_above_end(meta.output_tag(4), "output 4 does not exist: there are 4");
}

TEST_CASE("each kind of value has its number") {
  const auto file = rich_program().build();
  const auto program = *host::Program::from_bytes(file.bytes(), nullptr, "x");
  const auto& values = *(*program->plan("forward"))->values();
  CHECK(host::value_kind(*values.Get(rich::int_items)) == TENON_VALUE_INT_LIST);
  CHECK(host::value_kind(*values.Get(rich::double_items)) == TENON_VALUE_DOUBLE_LIST);
  CHECK(host::value_kind(*values.Get(rich::bool_items)) == TENON_VALUE_BOOL_LIST);
  CHECK(host::value_kind(*values.Get(rich::optional_items)) == TENON_VALUE_OPTIONAL_TENSOR_LIST);
}

TEST_CASE("a method's tensors are reported with their layout") {
  const Rich rich;
  const auto meta = rich.meta();
  const auto input = meta.input_tensor_meta(0);
  REQUIRE(input.ok());
  CHECK(std::vector(input->layout.sizes.begin(), input->layout.sizes.end()) ==
        std::vector<std::int32_t>{2, 3});
  CHECK(std::vector(input->layout.dim_order.begin(), input->layout.dim_order.end()) ==
        std::vector<std::uint8_t>{1, 0});
  CHECK(input->layout.scalar_type == ScalarType::Float);
  CHECK(input->layout.nbytes() == 24);
  CHECK(input->is_memory_planned);
  CHECK(input->shape_dynamism == TENON_SHAPE_DYNAMIC_BOUND);
  CHECK(input->device.device_type == TENON_DL_CPU);
  const auto output = meta.output_tensor_meta(0);
  REQUIRE(output.ok());
  CHECK(output->is_memory_planned);
  CHECK(output->shape_dynamism == TENON_SHAPE_STATIC);
  check_above_end(meta.input_tensor_meta(1), "input 1 is of kind Int, expected Tensor");
  check_above_end(meta.output_tensor_meta(2), "output 2 is of kind String, expected Tensor");
  check_above_end(meta.input_tensor_meta(9), "input 9 does not exist: there are 4");
}

TEST_CASE("a method's attributes are its named tensors") {
  const Rich rich;
  const auto meta = rich.meta();
  REQUIRE(meta.num_attributes() == 2);
  const auto state = meta.attribute_tensor_meta(0);
  REQUIRE(state.ok());
  CHECK(state->name == "module.state");
  CHECK(state->device.device_type == TENON_DL_CUDA);
  CHECK(state->device.device_id == 1);
  CHECK(meta.attribute_tensor_meta(1)->name == "module.weight");
  CHECK_FALSE(meta.attribute_tensor_meta(1)->is_memory_planned);
  check_above_end(meta.attribute_tensor_meta(2), "attribute 2 does not exist: there are 2");
}

TEST_CASE("a method's planned buffers are reported without the reserved one") {
  const Rich rich;
  const auto meta = rich.meta();
  REQUIRE(meta.num_memory_planned_buffers() == 2);
  CHECK(*meta.memory_planned_buffer_size(0) == 64);
  CHECK(*meta.memory_planned_buffer_size(1) == 16);
  CHECK(meta.memory_planned_buffer_device(0)->device_type == TENON_DL_CPU);
  CHECK(meta.memory_planned_buffer_device(1)->device_type == TENON_DL_CUDA);
  CHECK(meta.memory_planned_buffer_device(1)->device_id == 1);
  check_above_end(meta.memory_planned_buffer_size(2),
                  "memory-planned buffer 2 does not exist: there are 2");
  check_above_end(meta.memory_planned_buffer_device(2),
                  "memory-planned buffer 2 does not exist: there are 2");
}

TEST_CASE("a method's delegates and backends are reported") {
  const Rich rich;
  const auto meta = rich.meta();
  REQUIRE(meta.num_delegates() == 3);
  const auto outside = meta.delegate(0);
  REQUIRE(outside.ok());
  CHECK(outside->id == "Outside");
  CHECK(outside->blob.size() == 17);
  REQUIRE(outside->compile_specs.size() == 2);
  CHECK(outside->compile_specs[0].key == "first");
  CHECK(outside->compile_specs[0].value.size() == 3);
  CHECK(outside->compile_specs[1].value.empty());
  CHECK(meta.delegate(1)->blob.size() == 11);
  CHECK(meta.backends() == std::vector<std::string_view>{"Inside", "Outside"});
  CHECK(meta.uses_backend("Inside"));
  CHECK_FALSE(meta.uses_backend("In"));
  CHECK_FALSE(meta.uses_backend(""));
  check_above_end(meta.delegate(3), "delegate 3 does not exist: there are 3");
}

TEST_CASE("a method's instructions and operators are reported") {
  const Rich rich;
  const auto meta = rich.meta();
  CHECK(meta.num_instructions() == 6);
  REQUIRE(meta.num_operators() == 1);
  CHECK(*meta.operator_name(0) == "aten::add.out");
  check_above_end(meta.operator_name(1), "operator 1 does not exist: there are 1");
}

}  // namespace
