// SPDX-License-Identifier: MIT

#include <array>
#include <cmath>
#include <cstring>
#include <thread>

#include "method_support.hpp"

using namespace tenon;
using namespace tenon::test;
using host::InputScalar;
using host::InputTensor;
using host::Kernel;
using host::KernelTable;
using host::Method;

namespace {

/// Program whose one delegate doubles a dynamic [bound, 2] input.
ProgramBuilder dynamic_program(std::int32_t bound) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto size = bound * 2 * 4;
  const auto memory = plan.buffer(2 * size);
  auto x = planned_tensor(ScalarType::Float, {bound, 2}, memory, 0);
  auto y = planned_tensor(ScalarType::Float, {bound, 2}, memory, static_cast<std::uint64_t>(size));
  x.shape_dynamism = y.shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
  const auto in = plan.input(std::move(x));
  const auto out = plan.output(std::move(y));
  const auto delegate =
      plan.delegate("Test", schema::DataLocation::SEGMENT, builder.segment(bytes_of("scale")));
  plan.instruction(delegate_call(delegate, {in, out}));
  return builder;
}

tenon_status add_one(void*, const tenon_execution_context*, tenon_value* const* args,
                     std::uint32_t) {
  args[0]->as.integer += 1;
  return TENON_STATUS_OK;
}

/// Resizes its first argument to the bounds of that.
tenon_status grow(void*, const tenon_execution_context* context, tenon_value* const* args,
                  std::uint32_t) {
  tenon_tensor* const tensor = args[0]->as.tensor;
  return context->host->resize_tensor(context->host, tensor, tensor->bounds,
                                      static_cast<std::uint32_t>(tensor->dl.ndim));
}

tenon_status refuse(void*, const tenon_execution_context* context, tenon_value* const*,
                    std::uint32_t) {
  const std::string_view text = "expected a broadcastable shape";
  context->host->set_last_error(context->host, TENON_STATUS_INVALID_ARGUMENT, text.data(),
                                text.size());
  return TENON_STATUS_INVALID_ARGUMENT;
}

host::MethodOptions with_kernel(const KernelTable& kernels) {
  auto options = with_registry();
  options.kernels = &kernels;
  return options;
}

}  // namespace

TEST_CASE("a method does not run before its inputs are set", "[method]") {
  auto method = load_ok(chain_of({"a"}));
  const Status status = method->execute();
  CHECK(status.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(status.text()), ContainsSubstring("input 0 was not set"));
}

TEST_CASE("an input is used in place, without a copy", "[method]") {
  auto method = load_ok(chain_of({"scale"}));
  std::array<float, 4> x{1, 2, 3, 4};
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  CHECK(method->input(0).as.tensor->dl.data == x.data());
  REQUIRE(method->execute().ok());
  CHECK(floats(method->output(0)) == std::vector<float>{2, 4, 6, 8});
  x[0] = 10;
  REQUIRE(method->execute().ok());
  CHECK(floats(method->output(0))[0] == 20);
}

TEST_CASE("an input cannot become larger than the bytes that the caller gave", "[method]") {
  auto builder = dynamic_program(4);
  auto& plan = *builder.program.execution_plan.front();
  PlanBuilder(plan).op("test::grow", "");
  plan.chains.front()->instructions.clear();
  PlanBuilder(plan).instruction(kernel_call(0, {plan.inputs.front()}));
  KernelTable kernels;
  REQUIRE(kernels.add("test::grow", Kernel{&grow, nullptr}).ok());
  auto method = load_ok(builder, with_kernel(kernels));
  const std::array<float, 8> x{};
  const tenon_tensor& input = *method->input(0).as.tensor;

  REQUIRE(set_floats(*method, 0, std::span(x).first(4), {2, 2}).ok());
  CHECK(input.capacity == 16);
  CHECK(method->execute().error() == Error::NotSupported);
  CHECK(input.nbytes == 16);
  // Sizes that are refused change nothing.
  const std::array<float, 10> too_large{};
  CHECK(set_floats(*method, 0, too_large, {5, 2}).error() == Error::NotSupported);
  CHECK(input.capacity == 16);
  CHECK(input.dl.data == x.data());
  // The next bytes may be as large as the bounds.
  REQUIRE(set_floats(*method, 0, x, {4, 2}).ok());
  CHECK(input.capacity == 32);
  CHECK(method->execute().ok());
}

TEST_CASE("an input that another tensor shares memory with is copied to the plan", "[method]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(32);
  plan.input(planned_tensor(ScalarType::Float, {4}, memory, 0));
  const auto view = plan.value(planned_tensor(ScalarType::Float, {2, 2}, memory, 0));
  const auto out = plan.output(planned_tensor(ScalarType::Float, {2, 2}, memory, 16));
  const auto delegate =
      plan.delegate("Test", schema::DataLocation::SEGMENT, builder.segment(bytes_of("scale")));
  plan.instruction(delegate_call(delegate, {view, out}));
  auto method = load_ok(builder);
  const std::array<float, 4> x{1, 2, 3, 4};
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  CHECK(method->input(0).as.tensor->dl.data != x.data());
  REQUIRE(method->execute().ok());
  CHECK(floats(method->output(0)) == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("an input of the wrong dtype, rank, size, length or alignment is refused", "[method]") {
  auto method = load_ok(chain_of({"a"}));
  const std::array<double, 8> data{};
  const auto bytes = std::as_bytes(std::span(data));
  const auto set = [&](ScalarType type, std::vector<std::int64_t> sizes,
                       std::span<const std::byte> from) {
    return method->set_input(0, InputTensor{type, sizes, from});
  };
  CHECK(set(ScalarType::Double, {4}, bytes.first(32)).error() == Error::InvalidArgument);
  CHECK(set(ScalarType::Float, {2, 2}, bytes.first(16)).error() == Error::NotSupported);
  CHECK(set(ScalarType::Float, {5}, bytes.first(20)).error() == Error::NotSupported);
  CHECK(set(ScalarType::Float, {4}, bytes.first(12)).error() == Error::InvalidArgument);
  CHECK(set(ScalarType::Float, {4}, bytes.first(20)).error() == Error::InvalidArgument);
  CHECK(set(ScalarType::Float, {-1}, bytes.first(0)).error() == Error::InvalidArgument);
  CHECK(set(ScalarType::Float, {INT64_MAX, 4}, bytes).error() == Error::InvalidArgument);
  CHECK(set(ScalarType::Float, {4}, bytes.subspan(1, 16)).error() == Error::InvalidArgument);
  const std::byte* const none = nullptr;
  CHECK(set(ScalarType::Float, {4}, {none, 16}).text() ==
        "method forward: input 0: expected 16 bytes of data, found none");
  CHECK(method->set_input(1, InputTensor{ScalarType::Float, {}, bytes}).error() ==
        Error::InvalidArgument);
  CHECK(method->set_input(0, InputScalar(std::int64_t{1})).error() == Error::InvalidArgument);
  CHECK(method->execute().error() == Error::InvalidArgument);
}

TEST_CASE("inputs that are not tensors must equal what was exported", "[method]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  plan.input(int_value(7));
  plan.input(bool_value(true));
  plan.input(double_value(0.5));
  plan.input(string_value("mode"));
  auto method = load_ok(builder);
  CHECK(method->set_input(0, InputScalar(std::int64_t{7})).ok());
  CHECK(method->set_input(1, InputScalar(true)).ok());
  CHECK(method->set_input(2, InputScalar(0.50001)).ok());
  CHECK(method->set_input(3, InputScalar(std::string_view("mode"))).ok());
  CHECK(method->execute().ok());
  CHECK(method->set_input(0, InputScalar(std::int64_t{8})).error() == Error::InvalidArgument);
  CHECK(method->set_input(1, InputScalar(false)).error() == Error::InvalidArgument);
  CHECK(method->set_input(2, InputScalar(0.6)).error() == Error::InvalidArgument);
  CHECK(method->set_input(2, InputScalar(NAN)).error() == Error::InvalidArgument);
  CHECK(method->set_input(3, InputScalar(std::string_view("made"))).error() ==
        Error::InvalidArgument);
  CHECK(method->set_input(3, InputScalar(true)).error() == Error::InvalidArgument);
}

TEST_CASE("an input that is None needs no value", "[method]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  plan.input(schema::objects::NullT());
  const auto x = plan.input(tensor(ScalarType::Float, {1}));
  plan.table().outputs.push_back(x);
  auto method = load_ok(builder);
  CHECK(method->execute().error() == Error::InvalidArgument);
  const std::array<float, 1> data{7};
  REQUIRE(set_floats(*method, 1, data, {1}).ok());
  const Status status = method->execute();
  INFO(status.text());
  CHECK(status.ok());
}

TEST_CASE("a dynamic shape runs at every size up to its bound, in one place, and not above",
          "[method][TN-TEN-3]") {
  auto method = load_ok(dynamic_program(5));
  const tenon_tensor* const place = method->output(0).as.tensor;
  const tenon_dl_tensor at_load = place->dl;
  std::vector<float> x(12, 1.5f);
  for (const std::int64_t rows : {5, 1, 0, 3, 5}) {
    const auto count = static_cast<std::size_t>(rows * 2);
    REQUIRE(set_floats(*method, 0, std::span(x).first(count), {rows, 2}).ok());
    REQUIRE(method->execute().ok());
    const TensorView out(*method->output(0).as.tensor);
    CHECK(std::ranges::equal(out.sizes(), std::vector<std::int64_t>{rows, 2}));
    CHECK(method->output(0).as.tensor == place);
    CHECK(place->dl.shape == at_load.shape);
    CHECK(place->dl.strides == at_load.strides);
    CHECK(floats(method->output(0)) == std::vector<float>(count, 3.0f));
  }
  const Status status = set_floats(*method, 0, x, {6, 2});
  CHECK(status.error() == Error::NotSupported);
  CHECK_THAT(std::string(status.text()),
             ContainsSubstring("within [5, 2]") && ContainsSubstring("[6, 2]"));
}

TEST_CASE("a tensor is dense in its dim order at every size, and has one lane",
          "[method][TN-TEN-7]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  auto tensor = planned_tensor(ScalarType::Float, {2, 3, 4}, plan.buffer(96), 0);
  tensor.dim_order = {2, 0, 1};
  tensor.shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
  plan.input(tensor);
  plan.output(tensor);
  auto method = load_ok(builder);
  const tenon_tensor& input = *method->input(0).as.tensor;
  const auto strides = [&] {
    return std::vector<std::int64_t>(input.dl.strides, input.dl.strides + 3);
  };
  CHECK(strides() == std::vector<std::int64_t>{3, 1, 6});
  const std::vector<float> x(24);
  REQUIRE(set_floats(*method, 0, std::span(x).first(8), {2, 1, 4}).ok());
  CHECK(strides() == std::vector<std::int64_t>{1, 1, 2});
  REQUIRE(set_floats(*method, 0, {}, {2, 0, 4}).ok());
  CHECK(strides() == std::vector<std::int64_t>{1, 1, 2});
  CHECK(input.dl.dtype.code == TENON_DL_FLOAT);
  CHECK(input.dl.dtype.bits == 32);
  CHECK(input.dl.dtype.lanes == 1);
}

TEST_CASE("an option changes what a delegate computes", "[method]") {
  auto options = with_registry();
  options.backend_options.push_back({"Test", "factor", 10.0});
  auto method = load_ok(chain_of({"scale"}), std::move(options));
  const std::array<float, 4> x{1, 2, 3, 4};
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  REQUIRE(method->execute().ok());
  CHECK(floats(method->output(0)) == std::vector<float>{10, 20, 30, 40});
}

TEST_CASE("a failed execute says where, destroys nothing, and may be tried again",
          "[method][TN-EXE-3]") {
  calls().clear();
  auto method = load_ok(chain_of({"a", "fail-execute", "c"}));
  const std::array<float, 4> x{};
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  for (int i = 0; i < 2; ++i) {
    calls().clear();
    const Status status = method->execute();
    CHECK(status.error() == Error::OutOfResources);
    CHECK_THAT(std::string(status.text()), ContainsSubstring("instruction 0:1") &&
                                               ContainsSubstring("delegate 1 (Test)") &&
                                               ContainsSubstring("the device is gone"));
    CHECK(calls() == std::vector<std::string>{"execute a", "execute fail-execute"});
  }
}

TEST_CASE("an exception of a backend becomes an error with its text", "[method][TN-BCK-1]") {
  auto method = load_ok(chain_of({"throw"}));
  const std::array<float, 4> x{};
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  const Status status = method->execute();
  CHECK(status.error() == Error::Internal);
  CHECK_THAT(std::string(status.text()), ContainsSubstring("thrown by the author"));
}

TEST_CASE("execute allocates nothing, also with temporary memory after the first run", "[method]") {
  auto method = load_ok(chain_of({"quiet", "temp", "scale", "temp"}));
  const std::array<float, 4> x{};
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  REQUIRE(method->execute().ok());
  const std::size_t before = num_allocations();
  bool good = true;
  for (int i = 0; i < 100; ++i) good = good && method->execute().ok();
  CHECK(num_allocations() == before);
  CHECK(good);
}

TEST_CASE("an output that is not planned is written where the caller says", "[method]") {
  ProgramBuilder builder = chain_of({"scale"});
  builder.program.execution_plan[0]->values[1]->val.AsTensor()->allocation_info.reset();
  auto method = load_ok(builder);
  const std::array<float, 4> x{1, 2, 3, 4};
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  const Status unset = method->execute();
  CHECK(unset.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(unset.text()), ContainsSubstring("argument 1"));

  std::array<float, 4> y{};
  const auto room = std::as_writable_bytes(std::span(y));
  CHECK(method->set_output(0, room.first(12)).error() == Error::InvalidArgument);
  CHECK(method->set_output(1, room).error() == Error::InvalidArgument);
  REQUIRE(method->set_output(0, room).ok());
  REQUIRE(method->execute().ok());
  CHECK(y == std::array<float, 4>{2, 4, 6, 8});
}

TEST_CASE("a planned output keeps its place", "[method]") {
  auto method = load_ok(chain_of({"scale"}));
  std::array<float, 4> y{};
  CHECK(method->set_output(0, std::as_writable_bytes(std::span(y))).error() == Error::InvalidState);
}

TEST_CASE("initial state is copied into planned memory and constants stay in the file",
          "[method]") {
  ProgramBuilder builder = chain_of({"scale"});
  PlanBuilder plan(*builder.program.execution_plan[0]);
  const float state[] = {1, 2, 3, 4};
  const std::string bytes(reinterpret_cast<const char*>(state), sizeof state);
  builder.constants({bytes});
  builder.mutable_data({bytes});
  const auto memory = plan.buffer(16);
  auto variable = planned_tensor(ScalarType::Float, {4}, memory, 0);
  variable.data_buffer_idx = 1;
  plan.table().outputs.push_back(plan.value(std::move(variable)));
  plan.table().outputs.push_back(plan.value(constant_tensor(ScalarType::Float, {4}, 1)));
  auto method = load_ok(builder);
  CHECK(floats(method->output(1)) == std::vector<float>{1, 2, 3, 4});
  CHECK((method->output(1).as.tensor->flags & TENON_TENSOR_CONSTANT) == 0);
  CHECK(floats(method->output(2)) == std::vector<float>{1, 2, 3, 4});
  CHECK((method->output(2).as.tensor->flags & TENON_TENSOR_CONSTANT) != 0);
}

TEST_CASE("an output is read as a tensor of its type, and the bytes are the method's", "[method]") {
  auto method = load_ok(chain_of({"scale"}));
  const std::array<float, 4> x{1, 2, 3, 4};
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  REQUIRE(method->execute().ok());
  const auto output = method->output<float>(0);
  REQUIRE(output.ok());
  CHECK(output->sizes()[0] == 4);
  CHECK((*output)[3] == 8);
  CHECK(output->data() == method->output(0).as.tensor->dl.data);
  const auto of_run_time = method->output(0, ScalarType::Float);
  REQUIRE(of_run_time.ok());
  CHECK(of_run_time->data() == static_cast<const void*>(output->data()));
}

TEST_CASE("an output that is not what its reader expects is refused for one reason at a time",
          "[method]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(16);
  auto turned = planned_tensor(ScalarType::Float, {2, 2}, memory, 0);
  turned.dim_order = {1, 0};
  plan.output(std::move(turned));
  plan.output(int_value(5));
  plan.output(tensor(ScalarType::Float, {3}));
  auto method = load_ok(builder);
  const auto refusal = [](auto&& result) { return describe(std::move(result).status()); };
  CHECK(
      refusal(method->output<float>(0)) ==
      "NotSupported (0x10): output 0: expected dimensions in memory in their own order, found dim "
      "order [1, 0]");
  CHECK(method->output<float>(0, Layout::Any).ok());
  CHECK(refusal(method->output<std::int32_t>(0)) ==
        "InvalidType (0x13): output 0: expected dtype Int, found Float");
  CHECK(refusal(method->output<float>(1)) ==
        "InvalidArgument (0x12): output 1: expected Tensor, found Int");
  CHECK(refusal(method->output<float>(2)) ==
        "InvalidArgument (0x12): output 2: expected 12 bytes of data, found none");
  CHECK(refusal(method->output<float>(3)) ==
        "InvalidArgument (0x12): output 3: expected Tensor, found only 3 outputs");
}

TEST_CASE("writing to a constant is refused", "[method][TN-TEN-1]") {
  ProgramBuilder builder = chain_of({"scale"});
  PlanBuilder plan(*builder.program.execution_plan[0]);
  builder.constants({std::string(16, '\0')});
  const auto constant = plan.value(constant_tensor(ScalarType::Float, {4}, 1));
  builder.program.execution_plan[0]->chains[0]->instructions[0]->instr_args.AsDelegateCall()->args =
      {0, constant};
  auto method = load_ok(builder);
  const std::array<float, 4> x{};
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  const Status status = method->execute();
  CHECK(status.error() == Error::NotSupported);
  CHECK_THAT(std::string(status.text()), ContainsSubstring("constant"));
}

TEST_CASE("a kernel runs, writes integers that lists see, and fails with its text", "[method]") {
  KernelTable kernels;
  REQUIRE(kernels.add("test::add_one", Kernel{&add_one, nullptr}).ok());
  REQUIRE(kernels.add("test::refuse.out", Kernel{&refuse, nullptr}).ok());
  CHECK(kernels.add("test::add_one", Kernel{&refuse, nullptr}).error() ==
        Error::RegistrationAlreadyRegistered);

  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto number = plan.value(int_value(1));
  plan.output(int_list({number, number}));
  plan.instruction(kernel_call(plan.op("test::add_one", ""), {number}));
  auto method = load_ok(builder, with_kernel(kernels));
  REQUIRE(method->execute().ok());
  REQUIRE(method->execute().ok());
  tenon_value* list = const_cast<tenon_value*>(&method->output(0));
  const Args args(nullptr, &list, 1);
  const auto items = args.list(0);
  REQUIRE(items.ok());
  CHECK(*items->integer(0) == 3);
  CHECK(*items->integer(1) == 3);

  plan.instruction(kernel_call(plan.op("test::refuse", "out"), {number}));
  auto failing = load_ok(builder, with_kernel(kernels));
  const Status status = failing->execute();
  CHECK(status.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(status.text()),
             ContainsSubstring("kernel test::refuse.out") && ContainsSubstring("broadcastable"));
}

TEST_CASE("moves, jumps and frees do what ExecuTorch's do", "[method]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto condition = plan.value(bool_value(false));
  const auto never = plan.value(bool_value(false));
  const auto one = plan.value(int_value(1));
  const auto two = plan.value(int_value(2));
  const auto result = plan.output(int_value(0));
  const auto memory = plan.buffer(4);
  const auto tensor = plan.output(planned_tensor(ScalarType::Float, {1}, memory, 0));
  plan.instruction(jump_false_call(condition, 3));  // 0
  plan.instruction(move_call(one, result));         // 1
  plan.instruction(jump_false_call(never, 4));      // 2
  plan.instruction(move_call(two, result));         // 3
  plan.instruction(free_call(tensor));              // 4
  auto method = load_ok(builder);
  REQUIRE(method->execute().ok());
  CHECK(method->output(0).as.integer == 2);
  CHECK(method->output(1).as.tensor->dl.data == nullptr);

  builder.program.execution_plan[0]->values[0]->val.AsBool()->bool_val = true;
  method = load_ok(builder);
  REQUIRE(method->execute().ok());
  CHECK(method->output(0).as.integer == 1);
}

TEST_CASE("a boolean tensor decides a jump when all its elements are true", "[method]") {
  for (const bool last : {true, false}) {
    ProgramBuilder builder;
    auto plan = builder.plan("forward");
    builder.constants({std::string{'\1', '\1', last ? '\1' : '\0'}});
    const auto condition = plan.value(constant_tensor(ScalarType::Bool, {3}, 1));
    const auto one = plan.value(int_value(1));
    const auto result = plan.output(int_value(0));
    plan.instruction(jump_false_call(condition, 2));
    plan.instruction(move_call(one, result));
    auto method = load_ok(builder);
    REQUIRE(method->execute().ok());
    CHECK(method->output(0).as.integer == (last ? 1 : 0));
  }
}

TEST_CASE("a condition that is not a boolean and a free of a non-tensor are errors", "[method]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto number = plan.value(int_value(1));
  const auto empty = plan.value(tensor(ScalarType::Bool, {2}));
  const auto flag = plan.value(bool_value(true));
  plan.instruction(move_call(number, flag));
  plan.instruction(jump_false_call(flag, 0));
  CHECK(load_ok(builder)->execute().error() == Error::InvalidProgram);
  auto& instructions = builder.program.execution_plan[0]->chains[0]->instructions;
  instructions.pop_back();
  plan.instruction(jump_false_call(empty, 0));
  CHECK(load_ok(builder)->execute().error() == Error::InvalidProgram);
  instructions.clear();
  const auto slot = plan.value(tensor(ScalarType::Bool, {2}));
  plan.instruction(move_call(number, slot));
  plan.instruction(free_call(slot));
  CHECK(load_ok(builder)->execute().error() == Error::InvalidType);
}

TEST_CASE("an input that a MoveCall replaced takes no more than its own planned memory",
          "[method]") {
  constexpr std::int32_t large = 16384;
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto few = plan.buffer(16);
  const auto many = plan.buffer(large * 4);
  const auto x = plan.input(planned_tensor(ScalarType::Float, {4}, few, 0));
  plan.value(planned_tensor(ScalarType::Float, {4}, few, 0));  // A view: inputs are copied.
  const auto y = plan.value(planned_tensor(ScalarType::Float, {large}, many, 0));
  const auto number = plan.input(int_value(7));
  const auto other = plan.value(int_value(8));
  plan.instruction(move_call(y, x));
  plan.instruction(move_call(other, number));
  auto method = load_ok(builder);
  const std::array<float, 4> data{1, 2, 3, 4};
  for (int run = 0; run < 2; ++run) {
    REQUIRE(set_floats(*method, 0, data, {4}).ok());
    REQUIRE(method->set_input(1, std::int64_t{7}).ok());
    CHECK(floats(method->input(0)) == std::vector<float>{1, 2, 3, 4});
    CHECK(method->input(1).as.integer == 7);
    REQUIRE(method->execute().ok());
    CHECK(method->input(0).as.tensor->dl.shape[0] == large);
  }
  const Status refused = set_floats(*method, 0, std::vector<float>(large), {large});
  CHECK(refused.error() == Error::NotSupported);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("expected sizes [4], found [16384]"));
  CHECK(method->set_input(1, std::int64_t{8}).error() == Error::InvalidArgument);
}

TEST_CASE("a program that loops for ever is stopped with InvalidProgram", "[method]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto condition = plan.value(bool_value(false));
  plan.instruction(jump_false_call(condition, 0));
  const Status status = load_ok(builder)->execute();
  CHECK(status.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(status.text()), ContainsSubstring("10000000"));
}

TEST_CASE("a method without instructions passes its input on", "[method]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto x = plan.input(tensor(ScalarType::Float, {2}));
  plan.table().outputs.push_back(x);
  auto method = load_ok(builder);
  const std::array<float, 2> data{1, 2};
  REQUIRE(set_floats(*method, 0, data, {2}).ok());
  REQUIRE(method->execute().ok());
  CHECK(floats(method->output(0)) == std::vector<float>{1, 2});
}

TEST_CASE("different methods of one program run at the same time", "[method][threads]") {
  const auto program = open_program(chain_of({"scale", "temp"}));
  // Assertions are for the main thread alone, and getting the options makes one.
  const host::MethodOptions options = with_registry();
  const auto work = [&](bool* good) {
    for (int round = 0; round < 20; ++round) {
      auto method = Method::load(program, "forward", options);
      if (!method.ok()) return;
      const std::array<float, 4> x{1, 2, 3, 4};
      const std::vector<std::int64_t> sizes{4};
      const InputTensor input{ScalarType::Float, sizes, std::as_bytes(std::span(x))};
      if (!(*method)->set_input(0, input).ok() || !(*method)->execute().ok()) return;
    }
    *good = true;
  };
  std::array<bool, 4> good{};
  std::vector<std::thread> threads;
  for (bool& one : good) threads.emplace_back(work, &one);
  for (std::thread& thread : threads) thread.join();
  CHECK(good == std::array<bool, 4>{true, true, true, true});
}

TEST_CASE("a trace records the init and the call of each delegate", "[method]") {
  host::Trace trace;
  auto options = with_registry();
  options.layers.add(trace);
  auto method = load_ok(chain_of({"quiet", "quiet"}), std::move(options));
  const std::array<float, 4> x{};
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  REQUIRE(method->execute().ok());
  const std::string json = trace.json();
  std::size_t inits = 0;
  std::size_t delegate_calls = 0;
  for (std::size_t at = 0; (at = json.find("\"init\"", at)) != std::string::npos; ++at) ++inits;
  for (std::size_t at = 0; (at = json.find("DELEGATE_CALL", at)) != std::string::npos; ++at) {
    ++delegate_calls;
  }
  CHECK(inits == 2);
  CHECK(delegate_calls == 2);
}
