// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/aoti/aoti_program.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tenon/aot/compiler/write/ptd_writer.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/aot/edge_program_builder.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::test::aoti_program {

using aot::AotiKeys;
using aot::AotiMethod;
using aot::AotiModel;
using aot::AotiOptions;
using aot::SharedBytes;
using aot::ValueId;

SharedBytes text(std::string_view value) { return SharedBytes::copy_of(value); }

AotiModel model_for(std::string device) {
  return {"forward", std::move(device), text("the library"), text("the weights")};
}

/// y = relu(x + b), x; where b is a parameter.
aot::OwnedEdgeProgram graph(std::string_view name = "forward") {
  aot::EdgeProgramBuilder builder(name);
  const aot::EdgeTensor shape{ScalarType::Float, {{1, 8, "s0"}, 3}};
  const ValueId x = builder.user_input("x", shape);
  const ValueId unused = builder.user_input("unused", {ScalarType::Long, {2}});
  static_cast<void>(unused);
  const ValueId y = builder.node("aten.relu.default", {{"self", aot::EdgeRef{x}}}, shape);
  builder.user_output(y);
  builder.user_output(x);
  builder.user_output(y);
  auto built = std::move(builder).build();
  INFO(built.text());
  REQUIRE(built.ok());
  return *std::move(built);
}

aot::ProgramData good(const std::vector<AotiMethod>& methods, const AotiOptions& options = {}) {
  auto program = aot::make_aoti_program(methods, options);
  INFO(program.text());
  REQUIRE(program.ok());
  return *std::move(program);
}

std::string wrong(const AotiMethod& method, Error code, const AotiOptions& options = {}) {
  const auto program = aot::make_aoti_program({&method, 1}, options);
  CHECK(program.error() == code);
  return std::string(program.text());
}

std::string content(const aot::NamedDataStoreOutput& data, const aot::NamedEntry& entry) {
  return std::string(as_text(data.buffers[entry.entry.buffer_index].bytes()));
}

/// Keeps the bytes of the file, and reads it.
std::shared_ptr<const host::Program> written(const aot::ProgramData& program) {
  const auto image = aot::make_pte(program);
  INFO(image.text());
  REQUIRE(image.ok());
  const auto owner = std::make_shared<std::vector<std::byte>>(image->bytes());
  auto opened = host::Program::from_bytes(*owner, owner, "packed");
  INFO(opened.text());
  REQUIRE(opened.ok());
  return *opened;
}

TEST_CASE("keys are made of the contents, or of the method's name", "[compile][aoti][S3.8]") {
  const auto owned = graph("decode");
  const AotiModel model = model_for("cpu");
  const std::vector<AotiMethod> methods{{owned.view(), &model}};
  const std::string library = sha256_hex(model.library.bytes()) + "_so_blob";
  const std::string weights = sha256_hex(model.weights->bytes()) + "_weights_blob";

  const aot::ProgramData by_content = good(methods);
  const aot::DelegateData& delegate = by_content.methods[0].delegates.at(0);
  CHECK(as_text(delegate.processed.bytes()) == library + "\n" + weights);
  CHECK(delegate.id == "CpuAotiBackend");
  REQUIRE(delegate.compile_specs.size() == 1);
  CHECK(delegate.compile_specs[0].key == "method_name");
  CHECK(as_text(delegate.compile_specs[0].value.bytes()) == "decode");

  const aot::ProgramData by_method = good(methods, {.keys = AotiKeys::Method});
  CHECK(by_method.methods[0].delegates.at(0).processed.empty());
  for (const auto& [program, library_key, weights_key] :
       {std::tuple{&by_content, library, weights},
        std::tuple{&by_method, std::string("decode_so_blob"),
                   std::string("decode_weights_blob")}}) {
    const auto& data = program->named_data;
    CHECK(data.external_data.empty());
    REQUIRE(data.pte_data.size() == 2);
    CHECK(data.pte_data[0].key == library_key);
    CHECK(data.pte_data[0].entry.alignment == 1);
    CHECK(content(data, data.pte_data[0]) == "the library");
    CHECK(data.pte_data[1].key == weights_key);
    CHECK(data.pte_data[1].entry.alignment == 64);
    CHECK(content(data, data.pte_data[1]) == "the weights");
  }
}

TEST_CASE("a description of operator calls is named data next to the library", "[compile][aoti]") {
  const auto owned = graph("decode");
  AotiModel model = model_for("cpu");
  model.operator_calls = text("the calls");
  const std::string content_key = sha256_hex(model.library.bytes()) + "_extern_kernel_nodes";
  for (const auto& [keys, key] :
       {std::pair{AotiKeys::Content, content_key},
        std::pair{AotiKeys::Method, std::string("decode_extern_kernel_nodes")}}) {
    const aot::ProgramData program = good({{owned.view(), &model}}, {.keys = keys});
    REQUIRE(program.named_data.pte_data.size() == 3);
    const auto& entry = program.named_data.pte_data[2];
    CHECK(entry.key == key);
    CHECK(content(program.named_data, entry) == "the calls");
  }
}

TEST_CASE("CPU features of the code are named data next to the library, when they are known",
          "[compile][aoti][processor]") {
  const auto owned = graph("decode");
  AotiModel model = model_for("cpu");
  const std::string content_key = sha256_hex(model.library.bytes()) + "_cpu_features";
  for (const auto& [keys, key] :
       {std::pair{AotiKeys::Content, content_key},
        std::pair{AotiKeys::Method, std::string("decode_cpu_features")}}) {
    model.cpu_features.reset();
    CHECK(good({{owned.view(), &model}}, {.keys = keys}).named_data.pte_data.size() == 2);
    // An empty list says that the code runs everywhere.
    for (const std::string features : {"avx2,fma", ""}) {
      INFO(features);
      model.cpu_features = features;
      const aot::ProgramData program = good({{owned.view(), &model}}, {.keys = keys});
      REQUIRE(program.named_data.pte_data.size() == 3);
      const auto& entry = program.named_data.pte_data[2];
      CHECK(entry.key == key);
      CHECK(content(program.named_data, entry) == features);
      const auto file = written(program);
      const auto found = file->find_key(key);
      REQUIRE(found.has_value());
      CHECK(as_text(file->key_data(*found)) == features);
    }
  }
}

TEST_CASE("methods with one library agree about its CPU features", "[compile][aoti][processor]") {
  const auto prefill = graph("prefill");
  const auto decode = graph("decode");
  AotiModel model = model_for("cpu");
  model.cpu_features = "avx2";
  AotiModel other = model;
  const std::vector<AotiMethod> methods{{prefill.view(), &model}, {decode.view(), &other}};
  CHECK(good(methods).named_data.pte_data.size() == 3);
  other.cpu_features = "fma";
  const auto differ = aot::make_aoti_program(methods);
  CHECK(differ.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(differ.text()), ContainsSubstring("_cpu_features"));
}

TEST_CASE("a method has the inputs and outputs of the exported one, each output its own",
          "[compile][aoti]") {
  const auto owned = graph();
  const AotiModel model = model_for("cpu");
  const auto program = written(good({{owned.view(), &model}}));
  const auto plan = program->plan("forward");
  REQUIRE(plan.ok());
  REQUIRE((*plan)->inputs()->size() == 2);
  REQUIRE((*plan)->outputs()->size() == 3);
  const auto* const values = (*plan)->values();
  const auto* const x =
      values->Get(static_cast<unsigned>((*plan)->inputs()->Get(0)))->val_as_Tensor();
  REQUIRE(x != nullptr);
  CHECK(x->sizes()->Get(0) == 8);
  CHECK(x->shape_dynamism() == schema::TensorShapeDynamism::DYNAMIC_BOUND);
  const auto* const chain = (*plan)->chains()->Get(0)->instructions();
  REQUIRE(chain->size() == 1);
  const auto* const args = chain->Get(0)->instr_args_as_DelegateCall()->args();
  CHECK(std::vector<int>(args->begin(), args->end()) == std::vector<int>{0, 1, 2, 3, 4});
  CHECK((*plan)->operators()->size() == 0);
}

TEST_CASE("tensors of a model for CUDA are on the device, and copied there and back",
          "[compile][aoti]") {
  const auto owned = graph();
  const AotiModel model = model_for("cuda");
  const std::vector<aot::CompileSpecData> specs{{"target_device", text("cuda:1")}};
  const aot::ProgramData data = good({{owned.view(), &model}}, {.compile_specs = specs});
  CHECK(data.methods[0].delegates.at(0).id == "CudaBackend");
  REQUIRE(data.named_data.external_data.size() == 1);
  CHECK(data.named_data.external_data[0].tag == "aoti_cuda_blob");
  CHECK(data.named_data.pte_data.size() == 1);

  const auto program = written(data);
  const auto plan = program->plan("forward");
  REQUIRE(plan.ok());
  std::vector<std::string> operators;
  for (const auto* op : *(*plan)->operators()) {
    operators.push_back(op->name()->str() + "." + op->overload()->str());
  }
  CHECK(operators == std::vector<std::string>{"et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out"});
  CHECK((*plan)->chains()->Get(0)->instructions()->size() == 2 + 1 + 3);
  const auto* const devices = (*plan)->non_const_buffer_device();
  REQUIRE(devices != nullptr);
  REQUIRE(devices->size() == 1);
  CHECK(devices->Get(0)->device_index() == 1);

  const std::vector<aot::CompileSpecData> bad{{"target_device", text("cuda:x")}};
  CHECK(wrong({owned.view(), &model}, Error::InvalidArgument, {.compile_specs = bad}) ==
        "method 'forward': compile spec target_device: expected 'cuda' or 'cuda:N', found "
        "'cuda:x'");
}

TEST_CASE("weights outside of the program are in the file of the device's public name",
          "[compile][aoti][S3.9]") {
  const auto owned = graph();
  for (const auto& [device, tag] :
       {std::pair{"cpu", "aoti_cpu_blob"}, std::pair{"mps", "aoti_metal_blob"}}) {
    const AotiModel model = model_for(device);
    const auto data = good({{owned.view(), &model}}, {.external_weights = true}).named_data;
    REQUIRE(data.external_data.size() == 1);
    CHECK(data.external_data[0].tag == tag);
    REQUIRE(data.external_data[0].entries.size() == 1);
    CHECK(content(data, data.external_data[0].entries[0]) == "the weights");
  }
  const AotiModel model = model_for("cuda");
  const auto inside = good({{owned.view(), &model}}, {.external_weights = false}).named_data;
  CHECK(inside.external_data.empty());
}

TEST_CASE("methods with equal models share their bytes", "[compile][aoti]") {
  const auto prefill = graph("prefill");
  const auto decode = graph("decode");
  const AotiModel model = model_for("cpu");
  const std::vector<AotiMethod> methods{{prefill.view(), &model}, {decode.view(), &model}};
  CHECK(good(methods).named_data.pte_data.size() == 2);
  const aot::ProgramData by_method = good(methods, {.keys = AotiKeys::Method});
  CHECK(by_method.named_data.pte_data.size() == 4);
  CHECK(by_method.named_data.buffers.size() == 2);
  REQUIRE(by_method.methods.size() == 2);
  CHECK(by_method.methods[0].name == "decode");
}

TEST_CASE("a model without weights has an empty blob of them", "[compile][aoti]") {
  const auto owned = graph();
  AotiModel model = model_for("cpu");
  model.weights.reset();
  const aot::ProgramData data = good({{owned.view(), &model}}, {.external_weights = true});
  CHECK(data.named_data.external_data.empty());
  REQUIRE(data.named_data.pte_data.size() == 2);
  CHECK(data.named_data.pte_data[1].key == sha256_hex({}) + "_weights_blob");
  CHECK(written(data)->plan("forward").ok());
}

TEST_CASE("a program that models of AOTInductor cannot be is refused by name", "[compile][aoti]") {
  const AotiModel model = model_for("cpu");
  const auto owned = graph();
  const AotiModel unknown = model_for("xpu");
  CHECK(wrong({owned.view(), &unknown}, Error::InvalidArgument) ==
        "method 'forward': no backend is known for device 'xpu'; name the backend");
  const AotiModel nameless = model_for("");
  CHECK(wrong({owned.view(), &nameless}, Error::InvalidArgument) ==
        "method 'forward': the device of the model is not known; name the backend");
  const auto named =
      good({{owned.view(), &unknown}}, {.backend_id = "XpuBackend", .external_weights = true});
  CHECK(named.methods[0].delegates.at(0).id == "XpuBackend");
  CHECK(named.named_data.external_data.at(0).tag == "aoti_xpu_blob");

  CHECK(aot::make_aoti_program({}).text() == "a program: expected at least one method, found none");
  const std::vector<AotiMethod> twice{{owned.view(), &model}, {owned.view(), &model}};
  CHECK(aot::make_aoti_program(twice).text() == "two methods have the name 'forward'");

  aot::EdgeProgramBuilder changing;
  const ValueId x = changing.user_input("x", {ScalarType::Float, {2}});
  const ValueId y =
      changing.node("aten.relu.default", {{"self", aot::EdgeRef{x}}}, {ScalarType::Float, {2}});
  changing.mutation(x, y);
  changing.user_output(y);
  const auto changes = std::move(changing).build();
  REQUIRE(changes.ok());
  CHECK(wrong({changes->view(), &model}, Error::NotSupported) ==
        "method 'forward': input 'x' is changed by the model; return the new content instead");

  aot::EdgeProgramBuilder endless;
  const ValueId n =
      endless.user_input("n", {ScalarType::Float, {{1, aot::EdgeSize::unbounded, "s0"}}});
  endless.user_output(n);
  const auto unbounded = std::move(endless).build();
  REQUIRE(unbounded.ok());
  CHECK(wrong({unbounded->view(), &model}, Error::NotSupported) ==
        "method 'forward': size 0 of 'n' (s0) has no bound; give its torch.export.Dim a max so "
        "that memory can be planned");
}

}  // namespace tenon::test::aoti_program
