// SPDX-License-Identifier: MIT
//
// examples/backends/demo_backend, linked in, on programs built here and on programs of ExecuTorch's
// exporter.

#include <array>
#include <cmath>

#include "method_support.hpp"
#include "tenon/abi/extensions/check_blob.h"
#include "tenon/host/schema/program_generated.h"

TENON_DECLARE_STATIC_PLUGIN(BackendWithCompilerDemo);

using namespace tenon;
using namespace tenon::test;

namespace {

host::MethodOptions with_demo() {
  static host::BackendRegistry registry;
  static const bool added =
      registry.register_backend(tenon_static_plugin_BackendWithCompilerDemo).ok();
  REQUIRE(added);
  host::MethodOptions options;
  options.registry = &registry;
  return options;
}

/// A program that hands `num_inputs` 2 x 2 tensors to one delegate.
ProgramBuilder demo_program(const std::string& blob, int num_inputs) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(16);
  std::vector<std::int32_t> args;
  for (int i = 0; i < num_inputs; ++i)
    args.push_back(plan.input(tensor(ScalarType::Float, {2, 2})));
  args.push_back(plan.output(planned_tensor(ScalarType::Float, {2, 2}, memory, 0)));
  const auto delegate = plan.delegate("BackendWithCompilerDemo", schema::DataLocation::SEGMENT,
                                      builder.segment(bytes_of(blob)));
  plan.instruction(delegate_call(delegate, args));
  return builder;
}

std::string blob_of(const std::vector<std::string>& ops) {
  std::string blob = concat(ops.size(), "version:0#");
  for (const std::string& op : ops) {
    blob += "op:demo::aten." + op + ", numel:4, dtype:torch.float32<debug_handle>1#";
  }
  return blob;
}

const std::array<std::array<float, 4>, 3> inputs{{{1, 2, 3, 4}, {5, 6, 7, 8}, {0.5f, 1, 1.5f, 2}}};

Status run(host::Method& method) {
  for (std::size_t i = 0; i < method.num_inputs(); ++i) {
    TENON_RETURN_IF_ERROR(set_floats(method, i, inputs[i], {2, 2}));
  }
  return method.execute();
}

std::vector<float> compute(const std::vector<std::string>& ops, int num_inputs) {
  const auto method = load_ok(demo_program(blob_of(ops), num_inputs), with_demo());
  const Status status = run(*method);
  INFO(status.text());
  REQUIRE(status.ok());
  return floats(method->output(0));
}

}  // namespace

TEST_CASE("the demo backend computes each of its operators", "[demo]") {
  CHECK(compute({"add.Tensor"}, 2) == std::vector<float>{6, 8, 10, 12});
  CHECK(compute({"mul.Tensor"}, 2) == std::vector<float>{5, 12, 21, 32});
  CHECK(compute({"mm.default"}, 2) == std::vector<float>{19, 22, 43, 50});
  CHECK(compute({"sin.default"}, 1) ==
        std::vector<float>{std::sin(1.f), std::sin(2.f), std::sin(3.f), std::sin(4.f)});
}

TEST_CASE("the demo backend hands each result to the next operator", "[demo]") {
  CHECK(compute({"mm.default", "add.Tensor"}, 3) == std::vector<float>{19.5f, 23, 44.5f, 52});
  // The product may not be written over its own operand.
  CHECK(compute({"add.Tensor", "mm.default"}, 3) == std::vector<float>{15, 22, 23, 34});
}

TEST_CASE("the demo backend refuses a payload of another version", "[demo][TN-INI-2]") {
  const auto method = load(demo_program("1version:7#", 1), with_demo());
  REQUIRE(method.error() == Error::DelegateInvalidCompatibility);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("expected payload version 0, found 7"));
}

TEST_CASE("the demo backend refuses blobs that are wrong, and check_blob says the same",
          "[demo][TN-BLB-2]") {
  const std::string op = "op:demo::aten.sin.default, numel:4, dtype:torch.float32<debug_handle>1#";
  const std::vector<std::string> blobs{
      "",
      "1",
      "1version:",
      "xversion:0#" + op,
      "1version:0",
      "0version:0#",
      "2version:0#" + op,
      "1version:0#op:other::aten.sin.default, numel:4, dtype:torch.float32<debug_handle>1#",
      "1version:0#op:demo::aten.cos.default, numel:4, dtype:torch.float32<debug_handle>1#",
      "1version:0#op:demo::aten.sin.default, numel:four, dtype:torch.float32<debug_handle>1#",
      "1version:0#op:demo::aten.sin.default, numel:4, dtype:torch.int64<debug_handle>1#",
      "1version:0#op:demo::aten.sin.default, numel:4, dtype:torch.float32<debug_handle>1",
      "99999999999999999999version:0#" + op};
  const auto backend = with_demo().registry->lookup_backend("BackendWithCompilerDemo");
  REQUIRE(backend.ok());
  const auto table = (*backend)->extension<tenon_check_blob_v1>(TENON_EXTENSION_CHECK_BLOB);
  REQUIRE(table);
  for (const std::string& blob : blobs) {
    INFO(blob);
    const auto method = load(demo_program(blob, 1), with_demo());
    CHECK_FALSE(method.ok());
    CHECK_THAT(std::string(method.text()), ContainsSubstring("blob: expected"));

    tenon_buffer processed{};
    processed.struct_size = sizeof processed;
    processed.data = blob.data();
    processed.nbytes = blob.size();
    tenon_init_context context{};
    context.struct_size = sizeof context;
    context.host = (*backend)->host();
    context.method_name = "forward";
    context.processed = &processed;
    std::uint32_t verdict = 99;
    CHECK(table->check_blob((*backend)->raw(), &context, &verdict) == TENON_STATUS_OK);
    CHECK(verdict == TENON_BLOB_INCOMPATIBLE);
  }
}

TEST_CASE("the demo backend reads max_value in as many bytes as it has", "[demo]") {
  const auto with_spec = [](std::string_view value) {
    ProgramBuilder builder = demo_program(blob_of({"sin.default"}), 1);
    PlanBuilder(*builder.program.execution_plan[0]).compile_spec(0, "max_value", value);
    return load(builder, with_demo());
  };
  CHECK(with_spec("\4").ok());
  CHECK(with_spec(std::string_view("\1\0\0\0", 4)).ok());
  CHECK(with_spec("\5").error() == Error::InvalidArgument);
  CHECK(with_spec(std::string_view("\1\1\0\0", 4)).error() == Error::InvalidArgument);
  CHECK(with_spec("").error() == Error::InvalidArgument);
  CHECK(with_spec("123456789").error() == Error::InvalidArgument);
}

TEST_CASE("the demo backend refuses arguments that do not fit its blob", "[demo][TN-EXE-5]") {
  const auto fails = [](const std::vector<std::string>& ops, int num_inputs) {
    const auto method = load_ok(demo_program(blob_of(ops), num_inputs), with_demo());
    return run(*method).error() == Error::InvalidArgument;
  };
  CHECK(fails({"add.Tensor"}, 1));
  CHECK(fails({"sin.default"}, 2));
  CHECK(fails({"mm.default", "add.Tensor"}, 2));

  ProgramBuilder other_size = demo_program(
      "1version:0#op:demo::aten.sin.default, numel:5, "
      "dtype:torch.float32<debug_handle>1#",
      1);
  CHECK(run(*load_ok(other_size, with_demo())).error() == Error::InvalidArgument);
  ProgramBuilder other_dtype = demo_program(blob_of({"sin.default"}), 1);
  other_dtype.program.execution_plan[0]->values[1]->val.AsTensor()->scalar_type =
      schema::ScalarType::INT;
  CHECK(run(*load_ok(other_dtype, with_demo())).error() == Error::InvalidType);
}
