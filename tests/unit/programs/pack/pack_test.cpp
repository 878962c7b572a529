// SPDX-License-Identifier: MIT
//
// tenon-pack from a blob to a program that this host runs with the example hello.
#include "pack.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/file_content.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/aot/compiler/emit/tensor_text.hpp"
#include "tenon/host.hpp"
#include "tenon/host/layers/variants/variants.hpp"

namespace pack_test {

using namespace tenon;
using namespace tenon::pack;
using aot::parse_tensor;
using test::TemporaryDirectory;

constexpr std::string_view rank_2{"\2\0\0\0", 4};

/// A blob of hello in `directory` and what packs it: two inputs, one output.
Arguments arguments_for(const TemporaryDirectory& directory, std::string_view blob,
                        const char* tensor = "Float:4,3:dynamic") {
  std::ofstream(directory / "model.bin", std::ios::binary) << blob;
  Arguments out;
  out.blob = (directory / "model.bin").string();
  out.backend = "Add";
  for (int i = 0; i < 2; ++i) out.inputs.push_back(*parse_tensor(tensor));
  out.outputs.push_back(*parse_tensor(tensor));
  out.program = (directory / "model.pte").string();
  return out;
}

/// Refuses `arguments` with `error`, and writes nothing. The text.
std::string refused(const Arguments& arguments, Error error) {
  const Report report = pack::pack(arguments);
  CHECK(report.failure.error() == error);
  CHECK(report.code == ExitCode::wrong_usage);
  CHECK_FALSE(report.program);
  CHECK(to_text(report).empty());
  CHECK_FALSE(std::filesystem::exists(arguments.program));
  return std::string(report.failure.text());
}

TEST_CASE("a packed blob runs, also with sizes below the largest ones", "[pack]") {
  const TemporaryDirectory directory;
  const Arguments arguments = arguments_for(directory, rank_2);
  const Report report = pack::pack(arguments);
  INFO(report.failure.text());
  REQUIRE(report.failure.ok());
  CHECK(report.program->nbytes == std::filesystem::file_size(arguments.program));

  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(TENON_HELLO_PLUGIN).ok());
  const auto program = host::Program::open(arguments.program);
  REQUIRE(program.ok());
  auto method = host::Method::load(*program, "forward", {.registry = &registry});
  INFO(method.text());
  REQUIRE(method.ok());
  const std::array values{1.0F, 2.0F, 3.0F};
  const std::array<std::int64_t, 2> sizes{1, 3};
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE(
        (*method)->set_input(i, {ScalarType::Float, sizes, std::as_bytes(std::span(values))}).ok());
  }
  REQUIRE((*method)->execute().ok());
  const auto found = (*method)->output<float>(0);
  REQUIRE(found.ok());
  CHECK(std::vector<float>(found->begin(), found->end()) == std::vector<float>{2, 4, 6});
}

TEST_CASE("the blob, compile specs and named data are in the program as they were given",
          "[pack]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for(directory, "a model");
  std::ofstream(directory / "weights.bin", std::ios::binary) << "seven";
  arguments.method = "decode";
  arguments.specs = {{"mode", "fast"}, {"mode", ""}};
  arguments.data = {{"weights", (directory / "weights.bin").string()}};
  const Report report = pack::pack(arguments);
  INFO(report.failure.text());
  REQUIRE(report.failure.ok());

  const auto program = host::Program::open(arguments.program);
  REQUIRE(program.ok());
  CHECK((*program)->method_names() == std::vector<std::string_view>{"decode"});
  const std::string file = test::file_content(arguments.program);
  for (const char* bytes : {"a model", "seven", "weights", "fast", "Add"}) {
    INFO(bytes);
    CHECK(file.find(bytes) != std::string::npos);
  }
  const std::string text = to_text(report);
  CHECK_THAT(text, ContainsSubstring("method decode: Add, blob of 7 bytes\n"
                                     "  input 0: Float:4,3:dynamic\n"
                                     "  input 1: Float:4,3:dynamic\n"
                                     "  output 0: Float:4,3:dynamic\n"
                                     "  spec mode: 4 bytes\n"
                                     "  spec mode: 0 bytes\n"
                                     "  data weights: 5 bytes\n"));
}

TEST_CASE("a model for ONNX Runtime that no file of ONNX can hold is refused", "[pack]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for(directory, "a model", "Float8_e4m3fn:4");
  arguments.onnx = true;
  CHECK_THAT(refused(arguments, Error::InvalidType),
             ContainsSubstring("input_0: Float8_e4m3fn is no dtype of ONNX Runtime"));
  arguments = arguments_for(directory, "a model");
  arguments.onnx = true;
  std::filesystem::resize_file(arguments.blob, std::uintmax_t{1} << 31);
  CHECK_THAT(refused(arguments, Error::OutOfResources),
             ContainsSubstring("a file of ONNX at most"));
  std::filesystem::resize_file(arguments.blob, 7);
  CHECK(pack::pack(arguments).failure.ok());
}

TEST_CASE("equal calls give equal programs, and tensors share no memory", "[pack]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for(directory, rank_2, "Float:8");
  REQUIRE(pack::pack(arguments).failure.ok());
  const std::string first = test::file_content(arguments.program);
  REQUIRE(pack::pack(arguments).failure.ok());
  CHECK(test::file_content(arguments.program) == first);

  const auto program = host::Program::open(arguments.program);
  REQUIRE(program.ok());
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(TENON_HELLO_PLUGIN).ok());
  const auto method = host::Method::load(*program, "forward", {.registry = &registry});
  REQUIRE(method.ok());
  const auto* a = static_cast<const std::byte*>((*method)->input(0).as.tensor->dl.data);
  const auto* b = static_cast<const std::byte*>((*method)->input(1).as.tensor->dl.data);
  const auto* c = static_cast<const std::byte*>((*method)->output(0).as.tensor->dl.data);
  constexpr std::ptrdiff_t size = 32;
  CHECK((a + size <= b || b + size <= a));
  CHECK((b + size <= c || c + size <= b));
  CHECK((a + size <= c || c + size <= a));
}

TEST_CASE("a blob or data that cannot be read is named", "[pack]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for(directory, "");
  CHECK_THAT(refused(arguments, Error::AccessFailed),
             ContainsSubstring("model.bin: file is empty"));
  arguments.blob = (directory / "none").string();
  CHECK_THAT(refused(arguments, Error::AccessFailed), ContainsSubstring("none: No such file"));
  arguments.blob = directory.path().string();
  CHECK_THAT(refused(arguments, Error::AccessFailed), ContainsSubstring("is a directory"));
  arguments = arguments_for(directory, rank_2);
  arguments.data = {{"weights", (directory / "none").string()}};
  CHECK_THAT(refused(arguments, Error::AccessFailed), ContainsSubstring("none: No such file"));
}

TEST_CASE("a program that no host would open is not written", "[pack]") {
  const TemporaryDirectory directory;
  std::ofstream(directory / "table", std::ios::binary) << "no table";
  const std::string blob = (directory / "model.bin").string();
  const std::string table = (directory / "table").string();
  const std::string name_of_limit(5000, 'x');
  struct Case {
    const char* expected;
    Error error;
    std::function<void(Arguments&)> change;
  };
  using enum Error;
  const Case cases[] = {
      {"named data 'w': twice", InvalidArgument,
       [&](auto& to) { to.data = {{"w", blob}, {"v", blob}, {"w", blob}}; }},
      {"UTF-8", InvalidArgument, [](auto& to) { to.backend = "Acme\xff"; }},
      {"UTF-8", InvalidArgument, [](auto& to) { to.method = "\xc0\x80"; }},
      {"UTF-8", InvalidArgument, [](auto& to) { to.specs = {{"\xff", "1"}}; }},
      {"NUL", InvalidArgument, [](auto& to) { to.backend = std::string("A\0B", 3); }},
      {"bytes of name: found 5000, the limit name_bytes is 4096", OutOfResources,
       [&](auto& to) { to.method = name_of_limit; }},
      {"bytes of id: found 5000", OutOfResources, [&](auto& to) { to.backend = name_of_limit; }},
      {"bytes of key: found 5000", OutOfResources,
       [&](auto& to) { to.data = {{name_of_limit, blob}}; }},
      {"the table of variants: line 1: found 'no table'", InvalidProgram,
       [&](auto& to) { to.data = {{"tenon.variants/1", table}}; }},
      {"the memory of inputs, then outputs: request 1: 9223372028264841216 bytes are too many",
       InvalidArgument,
       [](auto& to) { to.inputs[1] = *parse_tensor("Double:1073741824,1073741823"); }},
  };
  for (const Case& one : cases) {
    INFO(one.expected);
    Arguments arguments = arguments_for(directory, rank_2);
    one.change(arguments);
    CHECK_THAT(refused(arguments, one.error), ContainsSubstring(one.expected));
  }
}

TEST_CASE("large bytes and many names are packed", "[pack]") {
  const TemporaryDirectory directory;
  const std::string large((std::size_t{1} << 20) + 1, 'w');
  Arguments arguments = arguments_for(directory, large);
  arguments.specs = {{"large", large}};
  const std::string table =
      "tenon.variants/1\nvariant\tforward\tforward\t0\tonly\nneeds\tAdd\t0\t\t\n";
  std::ofstream(directory / "table", std::ios::binary) << table << std::string(large.size(), '\n');
  arguments.data.emplace_back("tenon.variants/1", (directory / "table").string());
  for (int i = 0; i < 1000; ++i)
    arguments.data.emplace_back("key" + std::to_string(i), arguments.blob);
  const Report report = pack::pack(arguments);
  INFO(report.failure.text());
  REQUIRE(report.failure.ok());
  const auto program = host::Program::open(arguments.program);
  INFO(program.text());
  REQUIRE(program.ok());
  REQUIRE((*program)->num_keys() == 1001);
  CHECK((*program)->key_data(500).size() == large.size());
  const auto variants = host::Variants::of(**program);
  INFO(variants.text());
  REQUIRE(variants.ok());
  CHECK(variants->of_method("forward").size() == 1);
}

TEST_CASE("a file that is read is not written, and one in no directory is an error", "[pack]") {
  const TemporaryDirectory directory;
  Arguments arguments = arguments_for(directory, rank_2);
  arguments.program = arguments.blob;
  const Report report = pack::pack(arguments);
  CHECK_THAT(std::string(report.failure.text()), ContainsSubstring("is read, and cannot be"));
  CHECK(test::file_content(arguments.blob) == rank_2);
  arguments.program = (directory / "none" / "model.pte").string();
  CHECK_THAT(refused(arguments, Error::AccessFailed), ContainsSubstring("model.pte"));
}

TEST_CASE("a call without a blob or an output is no program", "[pack]") {
  Call call{.backend = "Add",
            .method = "f",
            .blob = {},
            .inputs = {},
            .outputs = {},
            .specs = {},
            .data = {}};
  CHECK(make_program(call).text().find("the blob has no bytes") != std::string_view::npos);
  call.blob = aot::SharedBytes::copy_of(rank_2);
  CHECK(make_program(call).text().find("expected an output or more") != std::string_view::npos);
}

}  // namespace pack_test
