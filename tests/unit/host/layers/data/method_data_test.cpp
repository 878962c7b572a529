// SPDX-License-Identifier: MIT
//
// Methods whose tensors or blobs come from `.ptd` files.

#include <array>

#include "unit/host/layers/data/data_file_builder.hpp"
#include "unit/host/loader/method/method_support.hpp"

using namespace tenon;
using namespace tenon::test;
using host::DataFile;

namespace {

const std::array<float, 4> weights{1, 2, 3, 4};

std::string weight_bytes() {
  return {reinterpret_cast<const char*>(weights.data()), sizeof weights};
}

std::shared_ptr<const DataFile> open_data(const DataFileBuilder& builder, std::string name) {
  auto bytes = std::make_shared<AlignedBytes>(builder.build());
  auto file = DataFile::from_bytes(std::as_const(*bytes).bytes(), bytes, std::move(name));
  INFO(file.text());
  REQUIRE(file.ok());
  return *std::move(file);
}

schema::objects::TensorT external(schema::objects::TensorT tensor, std::string name) {
  tensor.extra_tensor_info = std::make_unique<schema::objects::ExtraTensorInfoT>();
  tensor.extra_tensor_info->fully_qualified_name = std::move(name);
  tensor.extra_tensor_info->location = schema::TensorDataLocation::EXTERNAL;
  return tensor;
}

/// A program that returns external tensor "layer.weight", a constant or a planned variable.
ProgramBuilder program_of(bool planned) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(16);
  plan.output(external(
      planned ? planned_tensor(ScalarType::Float, {4}, memory, 0) : tensor(ScalarType::Float, {4}),
      "layer.weight"));
  return builder;
}

host::MethodOptions with_data(std::vector<std::shared_ptr<const DataFile>> files) {
  auto options = with_registry();
  options.layers.add(host::DataFiles(std::move(files)));
  return options;
}

}  // namespace

TEST_CASE("an external constant is used in place in the data file", "[method]") {
  DataFileBuilder data;
  data.tensor("layer.weight", ScalarType::Float, {4}, weight_bytes());
  const auto file = open_data(data, "weights.ptd");
  const auto method = load_ok(program_of(false), with_data({file}));
  CHECK(floats(method->output(0)) == std::vector<float>(weights.begin(), weights.end()));
  const tenon_tensor& tensor = *method->output(0).as.tensor;
  CHECK(tensor.dl.data == file->key_data(0).data());
  CHECK((tensor.flags & TENON_TENSOR_CONSTANT) != 0);
}

TEST_CASE("an external variable starts with a copy of the data file's bytes", "[method]") {
  DataFileBuilder data;
  data.tensor("layer.weight", ScalarType::Float, {4}, weight_bytes());
  const auto file = open_data(data, "weights.ptd");
  const auto method = load_ok(program_of(true), with_data({file}));
  CHECK(floats(method->output(0)) == std::vector<float>(weights.begin(), weights.end()));
  CHECK(method->output(0).as.tensor->dl.data != file->key_data(0).data());
}

TEST_CASE("an external tensor that no file has is NotFound", "[method]") {
  DataFileBuilder data;
  data.tensor("layer.bias", ScalarType::Float, {4}, weight_bytes());
  const auto method = load(program_of(false), with_data({open_data(data, "weights.ptd")}));
  CHECK(method.error() == Error::NotFound);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("layer.weight"));
}

TEST_CASE("an external tensor of another dtype, shape or without a layout is refused", "[method]") {
  for (const int fault : {0, 1, 2}) {
    DataFileBuilder data;
    if (fault == 0) data.tensor("layer.weight", ScalarType::Int, {4}, weight_bytes());
    if (fault == 1) data.tensor("layer.weight", ScalarType::Float, {2, 2}, weight_bytes());
    if (fault == 2) data.data("layer.weight", weight_bytes());
    const auto method = load(program_of(false), with_data({open_data(data, "weights.ptd")}));
    CHECK(method.error() == Error::InvalidExternalData);
    CHECK_THAT(std::string(method.text()), ContainsSubstring("layer.weight"));
  }
}

TEST_CASE("a backend finds named data of the program and of data files", "[method]") {
  DataFileBuilder data;
  data.data("outside", "from the file");
  ProgramBuilder builder = chain_of({"named inside", "named outside"});
  builder.named_data("inside", builder.segment(bytes_of("from the program")));
  calls().clear();
  const auto method = load_ok(builder, with_data({open_data(data, "more.ptd")}));
  CHECK(calls() == std::vector<std::string>{"init named inside", "data from the program",
                                            "init named outside", "data from the file"});
}

TEST_CASE("a key that the program and a data file both have is an error naming both", "[method]") {
  DataFileBuilder data;
  data.data("key", "x");
  ProgramBuilder builder = chain_of({"a"});
  builder.named_data("key", builder.segment(bytes_of("y")));
  const auto method = load(builder, with_data({open_data(data, "more.ptd")}));
  CHECK(method.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("'key'") &&
                                             ContainsSubstring("more.ptd") &&
                                             ContainsSubstring("test.pte"));
}

TEST_CASE("a method with several layers of data files has the files of all", "[method]") {
  DataFileBuilder weight, more;
  weight.tensor("layer.weight", ScalarType::Float, {4}, weight_bytes());
  more.data("key", "x");
  auto options = with_data({open_data(more, "more.ptd")});
  options.layers.add(host::DataFiles({open_data(weight, "weights.ptd")}));
  const auto method = load_ok(program_of(false), options);
  CHECK(floats(method->output(0)) == std::vector<float>(weights.begin(), weights.end()));
  options.layers.add(host::DataFiles({open_data(more, "again.ptd")}));
  CHECK_THAT(std::string(load(program_of(false), options).text()),
             ContainsSubstring("more.ptd") && ContainsSubstring("again.ptd"));
}
