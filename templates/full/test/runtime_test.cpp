// SPDX-License-Identifier: MIT
//
// Tests of the plugin in a host: loading it and running programs.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tenon/conformance/catch.hpp>
#include <tenon/host/layers/arrays/npy.hpp>

#include "aot/compile.hpp"
#include "test/golden.hpp"
#include "test/graphs.hpp"
#include "test/programs.hpp"

namespace my_npu::test { namespace {

using Floats = std::vector<float>;
using tenon::host::Method;

/// A registry with the plugin under test.
struct Host {
  Host() { REQUIRE(registry.register_backend(MY_NPU_PLUGIN).ok()); }

  tenon::Result<std::unique_ptr<Method>> load(const std::vector<std::byte>& file,
                                              std::optional<std::int64_t> block = {}) const {
    TENON_TRY(auto program, open_program(file));
    tenon::host::MethodOptions options{.registry = &registry};
    if (block) options.backend_options = {{std::string(backend_id), "block", *block}};
    return Method::load(std::move(program), "forward", options);
  }

  tenon::host::BackendRegistry registry;
};

const Floats a{1, -2, 3, -4, 5, 0.5F};
const Floats b{2, 2, -2, -2, 0, 4};
const Floats c{0, 1, 1, -1, -1, 0.25F};

TEST_CASE("a program computes the right numbers") {
  const Host host;
  auto method = host.load(program_file(golden_code(), {2, 3}));
  REQUIRE(method.ok());
  const auto outputs = run(**method, {a, b, c}, {2, 3});
  REQUIRE(outputs.ok());
  REQUIRE(outputs->size() == 2);
  CHECK((*outputs)[0] == Floats{2, 0, 0, 7, 0, 2.25F});
  CHECK((*outputs)[1] == Floats{2, -1, -1, 8, 1, 2});
}

TEST_CASE("sizes may change from run to run within their bounds") {
  const Host host;
  auto method = host.load(program_file(golden_code(), {4, 3}, true));
  REQUIRE(method.ok());
  CHECK(run(**method, {a, b, c}, {2, 3}).ok());
  const auto fewer = run(**method, {{1}, {2}, {3}}, {1, 1});
  REQUIRE(fewer.ok());
  CHECK(fewer->front() == Floats{5});
  const auto none = run(**method, {{}, {}, {}}, {0, 3});
  REQUIRE(none.ok());
  CHECK(none->front().empty());
}

TEST_CASE("the number of elements computed at a time does not affect results") {
  const Host host;
  Floats x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.5F - 200;
  std::vector<Floats> first;
  for (const std::int64_t block : {16, 100, 256, 65536}) {
    auto method = host.load(program_file(golden_code(), {1000}), block);
    REQUIRE(method.ok());
    auto outputs = run(**method, {x, x, x}, {1000});
    REQUIRE(outputs.ok());
    if (first.empty()) first = *outputs;
    CHECK(*outputs == first);
  }
  CHECK(first[0][999] == 299.5F * 299.5F + 299.5F);
}

TEST_CASE("relu treats NaN and infinities as PyTorch does") {
  const Host host;
  const Code relu{1, {{Op::relu, 0, 0}}, {1}};
  auto method = host.load(program_file(relu, {4}));
  REQUIRE(method.ok());
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto outputs = run(**method, {{std::nanf(""), infinity, -infinity, -0.0F}}, {4});
  REQUIRE(outputs.ok());
  CHECK(std::isnan(outputs->front()[0]));
  CHECK(outputs->front()[1] == infinity);
  CHECK(outputs->front()[2] == 0.0F);
  CHECK(outputs->front()[3] == 0.0F);
}

TEST_CASE("a block size out of range is refused, and the error names the range") {
  const Host host;
  const auto method = host.load(program_file(golden_code(), {2}), 8);
  REQUIRE_FALSE(method.ok());
  CHECK(method.error() == tenon::Error::InvalidArgument);
  const std::string text(method.text());
  CHECK(text.find("option 'block': expected 16 to 65536, found 8") != std::string::npos);
}

TEST_CASE("a blob of another version is refused when the program is loaded") {
  auto blob = write_blob(golden_code());
  blob[4] = std::byte{9};
  const Host host;
  const auto method = host.load(program_file(blob, 3, 2, {2}));
  REQUIRE_FALSE(method.ok());
  CHECK(method.error() == tenon::Error::DelegateInvalidCompatibility);
  const std::string text(method.text());
  CHECK(text.find("expected version 1, found 9") != std::string::npos);
}

TEST_CASE("a program whose arguments do not match its blob is refused when it runs") {
  const Host host;
  auto method = host.load(program_file(write_blob(golden_code()), 2, 2, {2}));
  REQUIRE(method.ok());
  const auto outputs = run(**method, {{1, 2}, {3, 4}}, {2});
  REQUIRE_FALSE(outputs.ok());
  const std::string text(outputs.text());
  CHECK(text.find("number of arguments: expected 5, found 4") != std::string::npos);
}

TEST_CASE("compiling the golden graph again gives the bytes of the golden program") {
  const OwnedEdgeProgram program = golden_graph();
  const auto result = preprocess(program.view(), no_specs);
  REQUIRE(result.ok());
  const auto file = read_file(golden_directory() / "relu_of_sums" / "model.pte");
  const auto golden = open_program(file);
  REQUIRE(golden.ok());
  REQUIRE((*golden)->view().num_segments() == 1);
  CHECK(std::ranges::equal((*golden)->view().segment(0), result->processed_bytes.bytes()));
}

TEST_CASE("the plugin offers its ahead-of-time half to tools") {
  const Host host;
  const auto backend = host.registry.lookup_backend(backend_id);
  REQUIRE(backend.ok());
  CHECK((*backend)->extension<tenon_preprocess_v1>(TENON_EXTENSION_PREPROCESS).has_value());
}

TEST_CASE("a compiled graph computes the numbers of the graph") {
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", matrix);
  const ValueId y = graph.user_input("y", matrix);
  graph.user_output(call(graph, "aten.sub.Tensor", relu(graph, x), y));
  const OwnedEdgeProgram program = built(graph);
  const auto code = compile(program.view());
  REQUIRE(code.ok());
  const Host host;
  auto method = host.load(program_file(*code, {4, 3}));
  REQUIRE(method.ok());
  Floats first(12), second(12), expected(12);
  for (std::size_t i = 0; i < first.size(); ++i) {
    first[i] = static_cast<float>(i) - 6;
    second[i] = 0.5F * static_cast<float>(i);
    expected[i] = (first[i] < 0 ? 0 : first[i]) - second[i];
  }
  const auto outputs = run(**method, {first, second}, {4, 3});
  REQUIRE(outputs.ok());
  CHECK(outputs->front() == expected);
}

// Hidden: rewrites the golden files, after an intended change of the blob's format.
TEST_CASE("golden files are written", "[.write-golden]") {
  const std::vector<std::vector<std::int64_t>> runs{{4, 3}, {1, 3}, {0, 3}};
  const auto directory = golden_directory() / "relu_of_sums";
  std::filesystem::create_directories(directory);
  const auto file = program_file(golden_code(), {4, 3}, true);
  std::ofstream(directory / "model.pte", std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<Floats> arrays(5, Floats(static_cast<std::size_t>(runs[i][0] * runs[i][1])));
    for (std::size_t k = 0; k < arrays[0].size(); ++k) {
      const float x = arrays[0][k] = static_cast<float>(k) - 4;
      const float y = arrays[1][k] = 0.5F * static_cast<float>(k % 5) - 1;
      const float z = arrays[2][k] = 1 - 0.25F * static_cast<float>(k);
      arrays[3][k] = x * y + z < 0 ? 0 : x * y + z;
      arrays[4][k] = arrays[3][k] - z;
    }
    const std::array names{"a", "b", "c", "relu", "difference"};
    for (std::size_t k = 0; k < names.size(); ++k) {
      const auto path = directory / tenon::concat(std::string_view(names[k]), i, ".npy");
      REQUIRE(tenon::host::write_npy(path.string(), tenon::ScalarType::Float, runs[i],
                                     std::as_bytes(std::span(arrays[k])))
                  .ok());
    }
  }
}

}}  // namespace my_npu::test
