// SPDX-License-Identifier: MIT
//
// The operators that copy between the CPU and a device, et_copy::_h2d_copy.out and _d2h_copy.out.
#include <deque>
#include <string>
#include <vector>

#include "device_support.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/schema/program_generated.h"

using namespace tenon;
using namespace tenon::test;

namespace {

schema::objects::TensorT& tensor_at(ProgramBuilder& builder, std::int32_t value) {
  return *builder.program.execution_plan[0]
              ->values[static_cast<std::size_t>(value)]
              ->val.AsTensor();
}

schema::objects::KernelCallT& call_at(ProgramBuilder& builder, std::size_t instruction) {
  return *builder.program.execution_plan[0]
              ->chains[0]
              ->instructions[instruction]
              ->instr_args.AsKernelCall();
}

/// Loads and runs a program, and gives the text of how it failed.
std::string failure(const ProgramBuilder& builder, Error code) {
  const FarRegistry far;
  const auto method = load_ok(builder, far.options());
  std::deque<std::vector<std::byte>> inputs;  // Used in place until the method has run.
  for (std::size_t i = 0; i < method->num_inputs(); ++i) {
    const tenon_tensor& input = *method->input(i).as.tensor;
    if (!host::is_cpu(input.dl.device)) continue;
    const auto& bytes = inputs.emplace_back(static_cast<std::size_t>(input.nbytes));
    const TensorView view(input);
    REQUIRE(method->set_input(i, host::InputTensor{view.scalar_type(), view.sizes(), bytes}).ok());
  }
  const Status executed = method->execute();
  INFO(executed.text());
  CHECK(executed.error() == code);
  return std::string(executed.text());
}

}  // namespace

TEST_CASE("a copy to the wrong side is refused and names both", "[device]") {
  ProgramBuilder both_here = device_program();
  call_at(both_here, 0).args = {values::x, values::out, values::out};
  CHECK(failure(both_here, Error::InvalidArgument) ==
        "method forward: instruction 0:0: kernel et_copy::_h2d_copy.out: expected to copy from the "
        "CPU to a device, found CPU to CPU");

  ProgramBuilder both_there = device_program();
  call_at(both_there, 1).args = {values::device_x, values::device_y, values::device_y};
  CHECK_THAT(failure(both_there, Error::InvalidArgument),
             ContainsSubstring("found CUDA device 0 to CUDA device 0"));

  ProgramBuilder backwards = device_program();
  call_at(backwards, 0).op_index = 1;
  CHECK_THAT(
      failure(backwards, Error::InvalidArgument),
      ContainsSubstring("kernel et_copy::_d2h_copy.out: expected to copy from a device to the "
                        "CPU, found CPU to CUDA device 0"));
}

TEST_CASE("a copy between different dtypes, dim orders or ranks is refused", "[device]") {
  ProgramBuilder dtype = device_program();
  tensor_at(dtype, values::device_x).scalar_type = schema::ScalarType::INT;
  CHECK_THAT(failure(dtype, Error::InvalidType),
             ContainsSubstring("expected an output of dtype Float, found Int"));

  ProgramBuilder order = device_program();
  tensor_at(order, values::device_x).dim_order = {1, 0};
  CHECK_THAT(failure(order, Error::InvalidArgument),
             ContainsSubstring("expected an output of the same rank and dim order as the input"));

  ProgramBuilder rank = device_program();
  tensor_at(rank, values::device_x).sizes = {6};
  tensor_at(rank, values::device_x).dim_order = {0};
  CHECK_THAT(failure(rank, Error::InvalidArgument),
             ContainsSubstring("input of shape [2, 3], found shape [6]"));
}

TEST_CASE("a copy that does not fit its output is refused", "[device]") {
  ProgramBuilder builder = device_program();
  tensor_at(builder, values::device_x).sizes = {2, 2};
  CHECK_THAT(failure(builder, Error::InvalidArgument),
             ContainsSubstring("cannot resize the output of shape [2, 2] to [2, 3], bounds are [2, "
                               "2]"));

  tensor_at(builder, values::device_x).shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
  CHECK_THAT(failure(builder, Error::InvalidArgument), ContainsSubstring("cannot resize"));
}

TEST_CASE("a copy with other arguments is refused", "[device]") {
  for (const auto& args : {std::vector<std::int32_t>{values::x, values::device_x},
                           std::vector<std::int32_t>{values::x, 6, 6},
                           std::vector<std::int32_t>{6, values::device_x, values::device_x}}) {
    ProgramBuilder builder = device_program();
    PlanBuilder(*builder.program.execution_plan[0]).value(int_value(1));
    call_at(builder, 0).args = args;
    CHECK_THAT(failure(builder, Error::InvalidArgument),
               ContainsSubstring("expected three arguments: a tensor, the output tensor"));
  }
}

TEST_CASE("a copy without data, to a constant, or to a device without a backend is refused",
          "[device]") {
  ProgramBuilder no_data = device_program();
  tensor_at(no_data, values::device_x) = tagged(tensor(ScalarType::Float, {2, 3}));
  CHECK_THAT(failure(no_data, Error::InvalidArgument),
             ContainsSubstring("the output of 24 bytes has no data"));

  ProgramBuilder constant = device_program();
  constant.constants({std::string(24, 'c')});
  tensor_at(constant, values::out) = constant_tensor(ScalarType::Float, {2, 3}, 1);
  CHECK_THAT(failure(constant, Error::NotSupported),
             ContainsSubstring("instruction 0:3: kernel et_copy::_d2h_copy.out: expected an output "
                               "that can be written, found a constant of the program"));

  ProgramBuilder elsewhere = device_program();
  tensor_at(elsewhere, values::device_x) = tagged(tensor(ScalarType::Float, {2, 3}), 1);
  CHECK_THAT(failure(elsewhere, Error::NotFound),
             ContainsSubstring("no backend of the method serves CUDA device 1"));
}

TEST_CASE("a copy gives its output the sizes of its input", "[device]") {
  const FarRegistry far;
  ProgramBuilder builder = device_program();
  for (std::int32_t i = 0; i <= values::out; ++i) {
    tensor_at(builder, i).shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
  }
  const auto method = load_ok(builder, far.options());
  for (const std::int64_t columns : {1, 3, 0, 2}) {
    const auto count = static_cast<std::size_t>(2 * columns);
    const std::vector<float> in(counted.begin(), counted.begin() + static_cast<long>(count));
    REQUIRE(set_floats(*method, 0, in, {2, columns}).ok());
    REQUIRE(set_floats(*method, 1, in, {2, columns}).ok());
    const Status executed = method->execute();
    INFO(executed.text());
    REQUIRE(executed.ok());
    std::vector<float> twice;
    for (const float value : in) twice.push_back(2 * value);
    CHECK(floats(method->output(0)) == twice);
    CHECK(TensorView(*method->output(0).as.tensor).sizes()[1] == columns);
  }
}

TEST_CASE("each copy that fails while running names its instruction, and the next run is right",
          "[device]") {
  const FarRegistry far;
  const auto method = load_ok(device_program(), far.options());
  check_adds(*method);
  const std::vector<std::string> wheres{"instruction 0:0: kernel et_copy::_h2d_copy.out",
                                        "instruction 0:1: kernel et_copy::_h2d_copy.out",
                                        "instruction 0:3: kernel et_copy::_d2h_copy.out"};
  for (int nth = 1; nth <= 3; ++nth) {
    far_memory().fail_copy = nth;
    const Status failed = method->execute();
    CHECK(failed.error() == Error::AccessFailed);
    CHECK_THAT(std::string(failed.text()),
               ContainsSubstring(wheres[static_cast<std::size_t>(nth) - 1]) &&
                   ContainsSubstring("backend FarBackend: copy_to_") &&
                   ContainsSubstring("set to fail a copy of 24 bytes"));
    check_adds(*method);
  }
}

TEST_CASE("a kernel of the application for a copy is used in place of the built-in one",
          "[device]") {
  const FarRegistry far;
  int calls = 0;
  host::KernelTable kernels;
  REQUIRE(
      kernels
          .add("et_copy::_d2h_copy.out", {[](void* self, const tenon_execution_context*,
                                             tenon_value* const*, std::uint32_t) -> tenon_status {
                                            ++*static_cast<int*>(self);
                                            return TENON_STATUS_OK;
                                          },
                                          &calls})
          .ok());
  auto options = far.options();
  options.kernels = &kernels;
  const auto method = load_ok(device_program(), options);
  set_inputs(*method);
  REQUIRE(method->execute().ok());
  CHECK(calls == 1);
  CHECK(far_memory().copies == 3);  // Zeroes and two inputs.
}
