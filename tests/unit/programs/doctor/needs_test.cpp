// SPDX-License-Identifier: MIT
//
// The report of tenon-doctor on the needs of a program besides its backends.
#include <memory>
#include <string>

#include "doctor_support.hpp"
#include "unit/host/layers/data/data_file_builder.hpp"

using namespace test;
using tenon::ScalarType;
using tenon::test::DataFileBuilder;
using tenon::test::delegate_program;

namespace {

std::string missing(const std::string& key) {
  return "named data '" + key + "' is neither in the program nor in a --data file";
}

/// A program with one delegate of `backend`, whose blob is `blob` and whose compile spec
/// "method_name" is `method`.
ProgramBuilder aoti_program(std::string backend, std::string_view blob, std::string_view method) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto delegate = plan.delegate(std::move(backend), tenon::schema::DataLocation::INLINE,
                                      builder.inline_blob(blob));
  if (!method.empty()) plan.compile_spec(delegate, "method_name", method);
  return builder;
}

/// A program with one tensor, "linear.weight", whose data is external.
ProgramBuilder external_program() {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  auto weight = tenon::test::tensor(ScalarType::Float, {2});
  weight.extra_tensor_info = std::make_unique<tenon::schema::objects::ExtraTensorInfoT>();
  weight.extra_tensor_info->fully_qualified_name = "linear.weight";
  weight.extra_tensor_info->location = tenon::schema::TensorDataLocation::EXTERNAL;
  plan.value(std::move(weight));
  return builder;
}

}  // namespace

TEST_CASE("data that a backend asks for and cannot find is named once", "[doctor]") {
  const Bench bench({TENON_JUDGE_PLUGIN});
  ProgramBuilder builder = delegate_program("JudgeBackend", "asks weights bias scale");
  builder.named_data("bias", builder.segment(tenon::test::bytes_of("bytes")));
  const std::string model = bench.write(builder);
  const json delegate = bench.delegate(model, 1);
  CHECK(delegate["check_blob"]["verdict"] == "optimal");
  CHECK(delegate["missing_data"] == json{"weights", "scale"});
  CHECK(delegate["problems"] == json{missing("weights"), missing("scale")});
  CHECK_THAT(bench.run({model}).out, ContainsSubstring("    no: " + missing("weights") + "\n"));

  DataFileBuilder data;
  data.data("weights", "bytes");
  const Words with_data{"--data", bench.write(data.build(), "weights.ptd")};
  CHECK(bench.delegate(model, 1, with_data)["missing_data"] == json{"scale"});
  DataFileBuilder more;
  more.data("scale", "bytes");
  const std::string second = bench.write(more.build(), "scale.ptd");
  CHECK(bench.delegate(model, 0, {with_data[0], with_data[1], "--data", second})["missing_data"]
            .empty());
}

TEST_CASE("weights that a table of an AOTInductor payload names are looked for", "[doctor]") {
  const Bench bench;
  const std::string directory = fixtures + "/cuda_mlp";
  const json without = bench.delegate(directory + "/model.pte", 1);
  CHECK(without["missing_data"] == json{"cuda_fqn_weight:cuda:a.weight",
                                        "cuda_fqn_weight:cuda:a.bias",
                                        "cuda_fqn_weight:cuda:b.weight"});
  CHECK(without["problems"].size() == 4);  // Nothing serves CudaBackend either.
  const Words with_data{"--data", directory + "/aoti_cuda_blob.ptd"};
  const json with = bench.delegate(directory + "/model.pte", 1, with_data);
  CHECK(with["missing_data"].empty());
  CHECK(with["problems"].size() == 1);
}

TEST_CASE("keys that an AOTInductor payload names are looked for", "[doctor]") {
  const Bench bench;
  auto builder = aoti_program("CpuAotiBackend", "a_so_blob\nb_weights_blob", "forward");
  builder.named_data("a_so_blob", builder.segment(tenon::test::bytes_of("library")));
  const std::string model = bench.write(builder);
  CHECK(bench.delegate(model, 1)["missing_data"] == json{"b_weights_blob"});
  DataFileBuilder data;
  data.data("b_weights_blob", "weights");
  const Words with_data{"--data", bench.write(data.build(), "weights.ptd")};
  CHECK(bench.delegate(model, 1, with_data)["missing_data"].empty());
  // Programs that ExecuTorch's exporters wrote.
  for (const char* whole : {"cpu_addmul", "cuda_addmul", "metal_addmul"}) {
    CHECK(bench.delegate(fixtures + "/" + whole + "/model.pte", 1)["missing_data"].empty());
  }
}

TEST_CASE("an empty AOTInductor payload is looked for by the compile spec with the method's name",
          "[doctor]") {
  const Bench bench;
  const auto missing_of = [&](std::string_view method) {
    const auto builder = aoti_program("MetalBackend", "", method);
    return bench.delegate(bench.write(builder), 1)["missing_data"];
  };
  CHECK(missing_of("encode") == json{"encode_so_blob"});
  CHECK(missing_of("") == json{"so_blob"});
}

TEST_CASE("operators without a kernel are named with their instructions", "[doctor]") {
  const Bench bench;
  const std::string model = fixtures + "/mlp_portable/model.pte";
  const Outcome outcome = bench.run({model});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.out, ContainsSubstring("  no delegates\n"));
  CHECK_THAT(outcome.out, ContainsSubstring("\n  no: no kernel for operator aten::addmm.out "
                                            "(instruction 0:1, 0:4)\n"));
  const json method = bench.report(model, 1)["methods"].at(0);
  CHECK(method["can_run"] == false);
  REQUIRE(method["missing_operators"].size() == 4);
  CHECK(method["missing_operators"][1] ==
        json{{"name", "aten::addmm.out"}, {"instructions", "0:1, 0:4"}});
  CHECK_THAT(outcome.out, ContainsSubstring("\n    no plugin that is known offers kernels\n"));
}

TEST_CASE("operators are served by the first plugin that lists them", "[doctor]") {
  const Bench bench({TENON_ARITHMETIC_PLUGIN});
  const std::string served = fixtures + "/add_dynamic_portable/model.pte";
  const Outcome outcome = bench.run({served});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("\n  operator aten::add.out (instruction 0:0): kernel "
                                            "of ArithmeticKernels\n"));
  const json method = bench.report(served, 0)["methods"].at(0);
  CHECK(method["operators"] == json::parse(R"([{"name": "aten::add.out", "instructions": "0:0",
                                                "served_by": "ArithmeticKernels"}])"));
  CHECK(method["missing_operators"].empty());

  const Outcome missing = bench.run({fixtures + "/mlp_portable/model.pte"});
  CHECK(missing.exit_code == 1);
  CHECK_THAT(missing.out, ContainsSubstring("\n  no: no kernel for operator aten::addmm.out "
                                            "(instruction 0:1, 0:4)\n    ArithmeticKernels: "
                                            "it is not among its 2 operators\n"));
}

TEST_CASE("an external tensor that no data file has is named", "[doctor]") {
  const Bench bench;
  ProgramBuilder builder = external_program();
  // Named data of the program is no external data.
  builder.named_data("linear.weight", builder.segment(tenon::test::bytes_of("12345678")));
  const std::string model = bench.write(builder);
  const json method = bench.report(model, 1)["methods"].at(0);
  CHECK(method["missing_tensors"] == json{"linear.weight"});
  const Outcome outcome = bench.run({model});
  CHECK_THAT(outcome.out,
             ContainsSubstring("\n  no: external tensor 'linear.weight' is in no --data file\n"));
  CHECK_THAT(outcome.out, ContainsSubstring("0 of 1 method and 0 of 0 delegates"));
}

TEST_CASE("an external tensor that a data file has is not missing", "[doctor]") {
  const Bench bench;
  ProgramBuilder builder = external_program();
  DataFileBuilder data;
  data.tensor("linear.weight", ScalarType::Float, {2}, std::string(8, 'w'));
  const std::string file = bench.write(data.build(), "weights.ptd");
  const json report = bench.report(bench.write(builder), 0, {"--data", file});
  CHECK(report["methods"].at(0)["missing_tensors"].empty());
}

TEST_CASE("memory that is planned on a device is named", "[doctor]") {
  const Bench bench;
  const std::string model = fixtures + "/cuda_mlp/model.pte";
  const json method = bench.report(model, 1)["methods"].at(0);
  REQUIRE(method["device_buffers"].size() == 1);
  const json& buffer = method["device_buffers"].at(0);
  CHECK(buffer["buffer"] == 2);
  CHECK(buffer["size"] == 384);
  CHECK(buffer["device"] == "CUDA device 0");
  CHECK(buffer["served_by"].is_null());
  const std::string problem =
      "planned buffer 2 of 384 bytes on CUDA device 0: no backend serves CUDA device 0: "
      "CudaBackend: backend 'CudaBackend' is not registered (InvalidBackend)";
  CHECK(buffer["problem"] == problem);
  CHECK_THAT(bench.run({model}).out, ContainsSubstring("\n  no: " + problem + "\n"));
  // The copies around the delegate are no missing operators.
  CHECK(method["missing_operators"].empty());
}

TEST_CASE("the backend that serves memory on a device is named", "[doctor]") {
  const Bench bench({TENON_FAR_CUDA_PLUGIN});
  const std::string model = fixtures + "/cuda_addmul/model.pte";
  const json method = bench.report(model, 0)["methods"].at(0);
  CHECK(method["device_buffers"].at(0)["served_by"] == "CudaBackend");
  CHECK(method["device_buffers"].at(0)["problem"].is_null());
  CHECK_THAT(bench.run({model}).out,
             ContainsSubstring("\n  planned buffer 2 of 96 bytes on CUDA device 0: served by "
                               "CudaBackend\n"));
}

TEST_CASE("a backend without memory on the device says what it has", "[doctor]") {
  const Bench bench({TENON_FAR_CUDA_PLUGIN, TENON_JUDGE_PLUGIN});
  ProgramBuilder builder = delegate_program("JudgeBackend", "optimal");
  tenon::test::PlanBuilder plan(*builder.program.execution_plan[0]);
  plan.delegate("CudaBackend", tenon::schema::DataLocation::INLINE, builder.inline_blob("add"));
  auto& entry = *plan.table().non_const_buffer_device.emplace_back(
      std::make_unique<tenon::schema::objects::NonConstBufferDeviceT>());
  entry.buffer_idx = 1;
  entry.device_type = tenon::schema::DeviceType::CUDA;
  entry.device_index = 5;
  const json method = bench.report(bench.write(builder), 1)["methods"].at(0);
  CHECK(method["device_buffers"].at(0)["problem"] ==
        "planned buffer 1 of 32 bytes on CUDA device 5: no backend serves CUDA device 5: "
        "JudgeBackend: backend JudgeBackend has no memory on devices (extension "
        "tenon.device_memory/1); CudaBackend: backend CudaBackend finds CUDA device 0, CUDA device "
        "1");
}

TEST_CASE("a problem that many buffers have is written out once", "[doctor]") {
  const Bench bench({TENON_JUDGE_PLUGIN});
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  constexpr std::size_t num_delegates = 200, num_buffers = 500;
  for (std::size_t i = 0; i < num_delegates; ++i) {
    plan.delegate("Missing" + std::to_string(i), tenon::schema::DataLocation::INLINE,
                  builder.inline_blob("x"));
  }
  for (std::size_t i = 0; i < num_buffers; ++i) {
    auto& entry = *plan.table().non_const_buffer_device.emplace_back(
        std::make_unique<tenon::schema::objects::NonConstBufferDeviceT>());
    entry.buffer_idx = static_cast<std::int32_t>(plan.buffer(32));
    entry.device_type = tenon::schema::DeviceType::CUDA;
  }
  const json method = bench.report(bench.write(builder), 1)["methods"].at(0);
  const json& buffers = method["device_buffers"];
  REQUIRE(buffers.size() == num_buffers);
  CHECK_THAT(
      buffers.at(0)["problem"].get<std::string>(),
      ContainsSubstring("Missing7: ") && ContainsSubstring("; and 192 more backends do not"));
  CHECK_FALSE(buffers.at(0)["problem"].get<std::string>().find("Missing8") != std::string::npos);
  const std::string last = buffers.at(num_buffers - 1)["problem"];
  CHECK_THAT(last, ContainsSubstring("no backend serves CUDA device 0, as for planned buffer "));
  CHECK(last.size() < 200);
}

TEST_CASE("the memory of a program is shown with what is free", "[doctor]") {
  const Bench bench;
  ProgramBuilder builder;
  builder.plan("forward").buffer(4096);
  const std::string model = bench.write(builder);
  const json method = bench.report(model, 0)["methods"][0];
  REQUIRE(method["memory"].size() == 1);
  const json& cpu = method["memory"][0];
  CHECK(cpu["device"] == "CPU");
  CHECK(cpu["planned"] == 4096);
  CHECK(cpu["bytes"] == 4096 + cpu["tables"].get<int>());
#if defined(__linux__)
  CHECK(cpu["free"] > 4096);
  CHECK(cpu["fits"] == true);
#endif
  const std::string text = bench.run({model}).out;
  CHECK_THAT(text, ContainsSubstring("  memory on CPU: "));
  CHECK_THAT(text, ContainsSubstring("    4096  planned\n"));
}

TEST_CASE("a backend that states nothing is marked", "[doctor]") {
  const Bench bench({TENON_DEMO_PLUGIN});
  const std::string model = bench.write(delegate_program("BackendWithCompilerDemo", "1:1"));
  CHECK_THAT(bench.run({model}).out,
             ContainsSubstring("?  delegate 0 not stated by its backend\n"));
  const json report = json::parse(bench.run({model, "--json"}).out);
  CHECK(report["methods"][0]["delegates"][0]["estimate"].is_null());
}
