// SPDX-License-Identifier: MIT
//
// The parts of the bridge that need no ONNX Runtime: attributes, paths, tensors, options, names.
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/onnxruntime/context_file.hpp"
#include "tenon/onnxruntime/context_node.hpp"
#include "tenon/onnxruntime/factory.hpp"
#include "tenon/onnxruntime/library.hpp"
#include "tenon/onnxruntime/node_tensor.hpp"
#include "tenon/onnxruntime/options.hpp"
#include "tenon/onnxruntime/protobuf_message.hpp"
#include "tenon/onnxruntime/runtime.hpp"

namespace onnxruntime_facts_test {

using namespace tenon;
using test::TemporaryDirectory;
using Texts = std::vector<std::string>;

TEST_CASE("versions of ONNX Runtime are read", "[onnxruntime]") {
  const std::vector<std::pair<std::string_view, std::optional<std::uint32_t>>> cases{
      {"1.32.0", 32}, {"1.23.2", 23}, {"1.24.0-rc1", 24}, {"1.25", 25}, {"2.0.0", {}},
      {"", {}},       {"1.", {}},     {"1.x", {}},        {"1.3x", {}}, {"1.99999999999", {}}};
  for (const auto& [text, expected] : cases) {
    INFO(text);
    CHECK(ort::minor_version(text) == expected);
  }
}

/// A blob for "Add", with attributes changed.
ort::Attributes attributes(std::vector<std::pair<std::string, ort::Attribute>> changes) {
  ort::Attributes out{{"source", std::string("Add")},
                      {"ep_cache_context", std::string("\2\0\0\0", 4)}};
  for (auto& [name, value] : changes) out[name] = std::move(value);
  return out;
}

TEST_CASE("a message of protobuf is written", "[onnxruntime]") {
  ort::Message inner;
  inner.add_number(1, 150);
  ort::Message message;
  message.add_number(20, 0);
  message.add_message(3, std::move(inner));
  message.add_bytes(4, aot::SharedBytes::copy_of("ab"));
  message.add_bytes(5, {});
  message.add_text(2, "testing");
  const auto image = std::move(message).image();
  const auto found = image.bytes();
  const std::string_view expected(
      "\xa0\x01\x00\x1a\x03\x08\x96\x01\x22\x02"
      "ab\x2a\x00\x12\x07"
      "testing",
      23);
  CHECK(std::string_view(reinterpret_cast<const char*>(found.data()), found.size()) == expected);
}

TEST_CASE("a context node is read", "[onnxruntime]") {
  const auto node = ort::read_context_node(attributes({{"main_context", std::int64_t{1}},
                                                       {"embed_mode", std::int64_t{0}},
                                                       {"partition_name", std::string("p")},
                                                       {"max_size", std::monostate()},
                                                       {"tenon_payload_version", std::int64_t{7}},
                                                       {"tenon_inputs", Texts{"Float:2,3:dynamic"}},
                                                       {"tenon_outputs", Texts{"Half:4"}},
                                                       {"tenon_spec_keys", Texts{"a", "b"}},
                                                       {"tenon_spec_0", std::string("x")},
                                                       {"tenon_spec_1", std::string("\0y", 2)},
                                                       {"tenon_data_keys", Texts{"w"}},
                                                       {"tenon_data_0", std::string("bytes")}}));
  INFO(node.text());
  REQUIRE(node.ok());
  CHECK(node->backend == "Add");
  CHECK(node->context == std::string("\2\0\0\0", 4));
  CHECK_FALSE(node->is_embedded);
  CHECK(node->payload_version == 7);
  REQUIRE(node->inputs);
  CHECK(tensor_text(node->inputs->front()) == "Float:2,3:dynamic");
  REQUIRE(node->outputs);
  CHECK(tensor_text(node->outputs->front()) == "Half:4");
  const std::vector<std::pair<std::string, std::string>> specs{{"a", "x"},
                                                               {"b", std::string("\0y", 2)}};
  CHECK(node->specs == specs);
  CHECK(node->data == std::vector<std::pair<std::string, std::string>>{{"w", "bytes"}});
  CHECK(node->method.empty());

  const auto usual = ort::read_context_node(attributes({{"tenon_method", std::string("forward")}}));
  REQUIRE(usual.ok());
  CHECK(usual->is_embedded);
  CHECK(usual->method == "forward");
  CHECK_FALSE(usual->inputs);
}

TEST_CASE("a wrong attribute is named", "[onnxruntime]") {
  struct Case {
    std::vector<std::pair<std::string, ort::Attribute>> changes;
    Error error;
    std::string_view text;
  };
  const std::int64_t too_large = std::int64_t{1} << 32;
  const std::vector<Case> cases{
      {{{"source", std::int64_t{1}}}, Error::InvalidType, "source: expected a string"},
      {{{"source", std::monostate()}}, Error::InvalidType, "source: expected a string"},
      {{{"ep_cache_context", Texts{"a"}}},
       Error::InvalidType,
       "ep_cache_context: expected a string"},
      {{{"ep_cache_context", std::string()}},
       Error::InvalidArgument,
       "ep_cache_context is empty, expected the context"},
      {{{"ep_cache_context", std::string()}, {"embed_mode", std::int64_t{0}}},
       Error::InvalidArgument,
       "expected the path of a file"},
      {{{"main_context", std::int64_t{0}}},
       Error::NotSupported,
       "main_context: expected 1, found 0"},
      {{{"main_context", std::string("1")}},
       Error::InvalidType,
       "main_context: expected an integer"},
      {{{"embed_mode", std::int64_t{2}}},
       Error::InvalidArgument,
       "embed_mode: expected 0 or 1, found 2"},
      {{{"tenon_method", std::string()}}, Error::InvalidArgument, "tenon_method is empty"},
      {{{"tenon_payload_version", std::int64_t{-1}}},
       Error::InvalidArgument,
       "tenon_payload_version: expected 0 to 4294967295, found -1"},
      {{{"tenon_payload_version", too_large}}, Error::InvalidArgument, "found 4294967296"},
      {{{"tenon_inputs", std::string("Float:2")}},
       Error::InvalidType,
       "tenon_inputs: expected a list of strings"},
      {{{"tenon_inputs", Texts{"Float:2", "float32:2"}}},
       Error::InvalidArgument,
       "tenon_inputs: float32:2: unknown dtype"},
      {{{"tenon_outputs", Texts{"Float:2,x"}}}, Error::InvalidArgument, "tenon_outputs: Float:2,x"},
      {{{"tenon_spec_keys", Texts{"a", "b"}}, {"tenon_spec_0", std::string()}},
       Error::InvalidArgument,
       "attribute tenon_spec_1 is missing"},
      {{{"tenon_data_keys", Texts{"a"}}, {"tenon_data_0", std::int64_t{1}}},
       Error::InvalidType,
       "tenon_data_0: expected a string"},
      {{{"tenon_method", std::string("forward")}, {"tenon_inputs", Texts{}}},
       Error::InvalidArgument,
       "the context is a program"}};
  for (const Case& each : cases) {
    const auto node = ort::read_context_node(attributes(each.changes));
    INFO(each.text << " / " << node.text());
    REQUIRE_FALSE(node.ok());
    CHECK(node.error() == each.error);
    CHECK(node.text().find(each.text) != std::string_view::npos);
  }
  const auto none = ort::read_context_node({});
  CHECK(none.text() == "attribute source is missing");
}

TEST_CASE("a context's file is in the model's folder", "[onnxruntime]") {
  namespace fs = std::filesystem;
  const TemporaryDirectory directory;
  const fs::path folder = directory / "models";
  fs::create_directories(folder / "blobs");
  directory.write("models/model.onnx", "m");
  directory.write("models/blobs/a.bin", "a");
  directory.write("secret.bin", "s");
  fs::create_symlink("blobs/a.bin", folder / "inside.bin");
  fs::create_symlink("../secret.bin", folder / "outside.bin");
  fs::create_directory_symlink("..", folder / "up");
  const fs::path model = folder / "model.onnx";

  for (const char* const inside : {"blobs/a.bin", "./blobs/a.bin", "inside.bin"}) {
    const auto file = ort::context_file(model, inside);
    INFO(inside << " / " << file.text());
    REQUIRE(file.ok());
    CHECK(*file == fs::canonical(folder / "blobs/a.bin"));
  }
  const std::vector<std::pair<std::string, Error>> refused{
      {directory.file("secret.bin"), Error::InvalidArgument},
      {"../secret.bin", Error::InvalidArgument},
      {"blobs/../../secret.bin", Error::InvalidArgument},
      {"outside.bin", Error::InvalidArgument},
      {"up/secret.bin", Error::InvalidArgument},
      {std::string("a\0b", 3), Error::InvalidArgument},
      {"absent.bin", Error::AccessFailed},
      {"model.onnx/x", Error::AccessFailed}};
  for (const auto& [path, error] : refused) {
    const auto file = ort::context_file(model, path);
    INFO(path << " / " << file.text());
    REQUIRE_FALSE(file.ok());
    CHECK(file.error() == error);
    CHECK(file.text().find("ep_cache_context") != std::string_view::npos);
  }
  CHECK(ort::context_file({}, "a.bin").error() == Error::InvalidState);
}

TEST_CASE("every dtype of ONNX Runtime has the size of its dtype in programs", "[onnxruntime]") {
  const std::vector<std::pair<ort::ElementType, std::optional<ScalarType>>> cases{
      {ort::ElementType::Float, ScalarType::Float},
      {ort::ElementType::UInt8, ScalarType::Byte},
      {ort::ElementType::Int8, ScalarType::Char},
      {ort::ElementType::UInt16, ScalarType::UInt16},
      {ort::ElementType::Int16, ScalarType::Short},
      {ort::ElementType::Int32, ScalarType::Int},
      {ort::ElementType::Int64, ScalarType::Long},
      {ort::ElementType::Bool, ScalarType::Bool},
      {ort::ElementType::Float16, ScalarType::Half},
      {ort::ElementType::Double, ScalarType::Double},
      {ort::ElementType::UInt32, ScalarType::UInt32},
      {ort::ElementType::UInt64, ScalarType::UInt64},
      {ort::ElementType::BFloat16, ScalarType::BFloat16},
      {ort::ElementType::String, {}},
      {ort::ElementType::Complex64, {}},
      {ort::ElementType::Undefined, {}},
      {static_cast<ort::ElementType>(99), {}}};
  for (const auto& [element, type] : cases) CHECK(ort::scalar_type(element) == type);
}

TEST_CASE("a node's tensors agree with the context's", "[onnxruntime]") {
  const std::vector<std::int64_t> bounds{2, 8};
  struct Case {
    ort::NodeTensor tensor;
    bool is_dynamic;
    std::string_view text;
  };
  const std::vector<Case> cases{
      {{"x", ScalarType::Float, {2, 8}}, false, ""},
      {{"x", ScalarType::Float, {2, -1}}, true, ""},
      {{"x", ScalarType::Float, {-1, 5}}, true, ""},
      {{"x", ScalarType::Float, {-1, 8}}, false, ""},
      {{"x", ScalarType::Float, {2, 5}},
       false,
       "'x': the context has sizes [2, 8], the model [2, 5]"},
      {{"x", ScalarType::Float, {2, 9}}, true, "sizes up to [2, 8], the model [2, 9]"},
      {{"x", ScalarType::Float, {2}}, true, "the model [2]"},
      {{"x", ScalarType::Half, {2, 8}}, false, "'x': the context has Float, the model Half"},
      {{"x", {}, {2, 8}}, false, "the model another type"}};
  for (const Case& each : cases) {
    const Status status =
        ort::check_agrees(each.tensor, ScalarType::Float, bounds, each.is_dynamic);
    INFO(each.text << " / " << status.text());
    CHECK(status.ok() == each.text.empty());
    CHECK(status.text().find(each.text) != std::string_view::npos);
  }
  CHECK(ort::program_tensor({"x", ScalarType::Long, {}}, "tenon_inputs").ok());
  CHECK(ort::program_tensor({"x", ScalarType::Long, {3, -1}}, "tenon_inputs")
            .text()
            .starts_with("'x': size 1 is not known; attribute tenon_inputs"));
  CHECK(ort::program_tensor({"x", ScalarType::Long, {std::int64_t{1} << 31}}, "a").error() ==
        Error::InvalidArgument);
  CHECK(ort::program_tensor({"x", {}, {3}}, "a").error() == Error::InvalidType);
}

TEST_CASE("options of a session become options of a load", "[onnxruntime]") {
  const std::vector<std::pair<std::string, std::string>> entries{
      {"ep.mybackend.threads", "2"},
      {"ep.other.threads", "3"},
      {"session.intra_op.allow_spinning", "0"},
      {"ep.mybackend.tenon.limit.planned_bytes", "1K"},
      {"ep.mybackend.tenon.embedded_code", "deny"}};
  const auto options = ort::read_load_options(ort::provider_options("MyBackend", entries));
  INFO(options.text());
  REQUIRE(options.ok());
  CHECK(options->backend == ort::ProviderOptions{{"threads", "2"}});
  CHECK(options->limits.planned_bytes == 1024);
  REQUIRE(options->embedded_code);
  CHECK(options->embedded_code->denies_all());

  const std::vector<std::pair<ort::ProviderOptions, std::string_view>> refused{
      {{{"tenon.limit.planned", "1"}}, "option tenon.limit.planned: "},
      {{{"tenon.limit.values", "x"}}, "option tenon.limit.values: "},
      {{{"tenon.embedded_code", "perhaps"}}, "option tenon.embedded_code: "},
      {{{"tenon.threads", "1"}}, "option tenon.threads: is unknown"}};
  for (const auto& [given, text] : refused) {
    const auto found = ort::read_load_options(given);
    INFO(found.text());
    CHECK(found.error() == Error::InvalidArgument);
    CHECK(found.text().starts_with(text));
  }
}

TEST_CASE("a registration is for all backends, or for those that its name lists", "[onnxruntime]") {
  const Texts listed{"A", "B", "C"};
  const Texts known{"A", "B", "C", "Experimental"};
  CHECK(*ort::chosen_backends("tenon", listed, known, 4) == listed);
  CHECK(*ort::chosen_backends("", listed, known, 4) == listed);
  CHECK(*ort::chosen_backends("B", listed, known, 4) == Texts{"B"});
  CHECK(*ort::chosen_backends("Experimental,A", listed, known, 4) == Texts{"Experimental", "A"});
  CHECK(*ort::chosen_backends("C,A", listed, known, 2) == Texts{"C", "A"});
  CHECK(ort::chosen_backends("A,D", listed, known, 4).error() == Error::NotFound);
  CHECK(ort::chosen_backends("A,D", listed, known, 4)
            .text()
            .find("no backend 'D'; there are: A, B, C, Experimental") != std::string_view::npos);
  CHECK(ort::chosen_backends("A,A", listed, known, 4).error() == Error::InvalidArgument);
  const auto many = ort::chosen_backends("tenon", listed, known, 2);
  CHECK(many.error() == Error::OutOfResources);
  CHECK(many.text().starts_with("3 backends, and ONNX Runtime takes 2 from a library"));
  CHECK(ort::chosen_backends("tenon", {}, {}, 4)->empty());
}

TEST_CASE("a model's metadata is compared with a plugin's payload versions", "[onnxruntime]") {
  CHECK(ort::compatibility("tenon_payload_version=3", 2, 3) == ort::Compatibility::Optimal);
  CHECK(ort::compatibility("tenon_payload_version=4", 2, 3) == ort::Compatibility::Unsupported);
  CHECK(ort::compatibility("tenon_payload_version=1", 2, 3) == ort::Compatibility::Unsupported);
  CHECK(ort::compatibility("tenon_payload_version=9", 0, 0) == ort::Compatibility::Optimal);
  for (const char* const other : {"", "3", "tenon_payload_version=", "tenon_payload_version=3x"}) {
    CHECK(ort::compatibility(other, 2, 3) == ort::Compatibility::NotApplicable);
  }
}

TEST_CASE("errors and log levels have numbers of ONNX Runtime", "[onnxruntime]") {
  CHECK(ort::error_code(Error::Ok) == ort::ErrorCode::Ok);
  CHECK(ort::error_code(Error::InvalidType) == ort::ErrorCode::InvalidArgument);
  CHECK(ort::error_code(Error::AccessFailed) == ort::ErrorCode::NoSuchFile);
  CHECK(ort::error_code(Error::OperatorMissing) == ort::ErrorCode::NotImplemented);
  CHECK(ort::error_code(Error::InvalidProgram) == ort::ErrorCode::InvalidGraph);
  CHECK(ort::error_code(Error::DeviceLost) == ort::ErrorCode::EngineError);
  CHECK(ort::error_code(Error::Cancelled) == ort::ErrorCode::Fail);
  CHECK(ort::logging_level(TENON_LOG_DEBUG) == ort::LoggingLevel::Verbose);
  CHECK(ort::logging_level(TENON_LOG_INFO) == ort::LoggingLevel::Info);
  CHECK(ort::logging_level(TENON_LOG_ERROR) == ort::LoggingLevel::Error);
  CHECK(ort::logging_level(TENON_LOG_FATAL) == ort::LoggingLevel::Fatal);
}

}  // namespace onnxruntime_facts_test
