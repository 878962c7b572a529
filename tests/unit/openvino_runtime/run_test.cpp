// SPDX-License-Identifier: MIT
//
// Needs OpenVINO: all tests here have the tag [openvino], which is left out without it.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <tenon/host.hpp>
#include <tenon/host/layers/inspect/check_blob.hpp>
#include <tenon/host/prepared.hpp>
#include <thread>
#include <vector>

#include "linear_program.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace {

namespace host = tenon::host;
using openvino_backend::test::expected;
using openvino_backend::test::LinearProgram;
using tenon::Error;

/// The plugin, and what a test loads with it.
struct Fixture {
  host::BackendRegistry registry;
  tenon::test::AlignedBytes file;
  host::MethodOptions options;

  explicit Fixture(const LinearProgram& program = {}) : file(program.build()) {
    const auto added = registry.register_backend(std::filesystem::path(TENON_OPENVINO_PLUGIN));
    INFO(added.text());
    REQUIRE(added.ok());
    options.registry = &registry;
  }

  void set(const std::string& key, tenon::OptionValue value) {
    options.backend_options.push_back({"TenonOpenvino", key, std::move(value)});
  }

  [[nodiscard]] tenon::Result<std::unique_ptr<host::Method>> load() const {
    TENON_TRY(auto program, host::Program::from_bytes(file.bytes(), nullptr, "linear"));
    host::MethodOptions copy = options;
    return host::Method::load(std::move(program), "forward", std::move(copy));
  }

  [[nodiscard]] host::BlobCheck check_blob() const {
    const auto program = host::Program::from_bytes(file.bytes(), nullptr, "linear");
    REQUIRE(program.ok());
    const auto backend = registry.lookup_backend("TenonOpenvino");
    REQUIRE(backend.ok());
    const auto check =
        host::check_blob(**backend, **program, "forward",
                         *(*(*program)->plan("forward"))->delegates()->Get(0), nullptr);
    INFO(check.text());
    REQUIRE((check.ok() && check->has_value()));
    return **check;
  }
};

std::vector<float> input(std::size_t rows, float first = -2) {
  std::vector<float> out;
  for (std::size_t i = 0; i < rows * openvino_backend::test::columns; ++i) {
    out.push_back(first + 0.5F * static_cast<float>(i));
  }
  return out;
}

/// Runs `method`, and gives its output.
tenon::Result<std::vector<float>> run(host::Method& method, const std::vector<float>& x) {
  const std::int64_t sizes[] = {
      static_cast<std::int64_t>(x.size()) / openvino_backend::test::columns,
      openvino_backend::test::columns};
  TENON_RETURN_IF_ERROR(
      method.set_input(0, {tenon::ScalarType::Float, sizes, std::as_bytes(std::span(x))}));
  TENON_RETURN_IF_ERROR(method.execute());
  const tenon::Tensor<const float> out(*method.output(0).as.tensor);
  return std::vector<float>(out.begin(), out.end());
}

void check_run(host::Method& method, const std::vector<float>& x) {
  const auto found = run(method, x);
  INFO(found.text());
  REQUIRE(found.ok());
  CHECK(*found == expected(x));
}

std::size_t count_files(const std::filesystem::path& directory) {
  std::size_t out = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(directory)) ++out;
  return out;
}

}  // namespace

TEST_CASE("IR with its weights as named data runs", "[openvino]") {
  const Fixture fixture;
  const auto method = fixture.load();
  INFO(method.text());
  REQUIRE(method.ok());
  // Other addresses each time: the tensors are bound anew.
  const auto one = input(2);
  const auto other = input(2, 3);
  check_run(**method, one);
  check_run(**method, other);
  check_run(**method, one);
}

TEST_CASE("outputs of dynamic shape get the sizes of each run", "[openvino]") {
  LinearProgram program;
  program.rows = 8;
  program.is_dynamic = true;
  const Fixture fixture(program);
  const auto method = fixture.load();
  INFO(method.text());
  REQUIRE(method.ok());
  for (const std::size_t rows : std::vector<std::size_t>{8, 1, 3, 0, 8, 2}) {
    CAPTURE(rows);
    check_run(**method, input(rows));
    CHECK((*method)->output(0).as.tensor->dl.shape[0] == static_cast<std::int64_t>(rows));
  }
}

TEST_CASE("delegates run in threads, and have sessions", "[openvino][threads]") {
  const Fixture fixture;
  std::vector<std::unique_ptr<host::Method>> methods;
  for (int i = 0; i < 3; ++i) {
    auto method = fixture.load();
    REQUIRE(method.ok());
    methods.push_back(*std::move(method));
  }
  std::vector<std::vector<float>> found(methods.size());
  std::vector<std::thread> threads;
  const auto x = input(2);
  for (std::size_t i = 0; i < methods.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        auto out = run(*methods[i], x);
        if (!out.ok() || *out != expected(x)) return;
        found[i] = *std::move(out);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : found) CHECK(each == expected(x));
  const auto session = methods.front()->create_session();
  INFO(session.text());
  CHECK(session.ok());
}

TEST_CASE("what a program lacks or has wrong is refused by its name", "[openvino]") {
  LinearProgram program;
  const auto refusal = [](const LinearProgram& of) {
    const Fixture fixture(of);
    auto method = fixture.load();
    REQUIRE_FALSE(method.ok());
    return std::move(method).status();
  };
  program.key = "openvino/others";
  CHECK_THAT(std::string(refusal(program).text()), ContainsSubstring("'openvino/others'"));
  program = {};
  program.weights = std::string(44, 'w');
  CHECK_THAT(std::string(refusal(program).text()),
             ContainsSubstring("expected 48 bytes of weights, found 44"));
  program = {};
  program.blob = openvino_backend::test::payload("<net version=\"11\"><layers>", "", 0);
  CHECK_THAT(std::string(refusal(program).text()), ContainsSubstring("OpenVINO cannot "));
  program = {};
  program.specs = {{"device", "NOSUCH"}};
  CHECK_THAT(std::string(refusal(program).text()), ContainsSubstring("NOSUCH"));
}

TEST_CASE("an exported model of another machine has another status than a damaged one",
          "[openvino][TN-BLB-2][TN-BLB-3]") {
  struct Row {
    std::string blob;
    Error error;
    std::uint32_t verdict;
    std::string said;  // By both.
  };
  const std::string whole = openvino_backend::test::exported_blob("meta=1.0");
  const auto row = GENERATE_COPY(
      Row{"RR_", Error::DelegateInvalidCompatibility, TENON_BLOB_INCOMPATIBLE, "magic of neither"},
      Row{std::string(5000, 'x'), Error::DelegateInvalidCompatibility, TENON_BLOB_INCOMPATIBLE,
          "magic of neither"},
      Row{openvino_backend::test::exported_blob("ov=2023.0.0"), Error::DelegateInvalidCompatibility,
          TENON_BLOB_INCOMPATIBLE, "found 2023.0.0"},
      Row{openvino_backend::test::exported_blob("isa=none"), Error::DelegateInvalidCompatibility,
          TENON_BLOB_INCOMPATIBLE, "found 'none'"},
      Row{whole.substr(0, whole.size() - 1), Error::InvalidProgram, TENON_BLOB_INCOMPATIBLE,
          "ends outside"},
      // OpenVINO alone finds this damage.
      Row{whole, Error::InvalidProgram, TENON_BLOB_OPTIMAL, ""});
  LinearProgram program;
  program.blob = row.blob;
  const Fixture fixture(program);
  const auto method = fixture.load();
  CAPTURE(row.blob.substr(0, 100), method.text());
  CHECK(method.error() == row.error);
  CHECK_THAT(std::string(method.text()), ContainsSubstring(row.said));
  const auto check = fixture.check_blob();
  CHECK(check.verdict == row.verdict);
  CHECK_THAT(check.reason, ContainsSubstring(row.said));
}

TEST_CASE("a program that disagrees with its model is refused when it runs", "[openvino]") {
  LinearProgram program;
  program.rows = 2;
  program.blob =
      openvino_backend::test::payload(openvino_backend::test::ir_of("3"), program.key, 48);
  const Fixture fixture(program);
  const auto method = fixture.load();
  REQUIRE(method.ok());
  const auto found = run(**method, input(2));
  CHECK(found.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(found.text()),
             ContainsSubstring("argument 0: expected sizes [3, 4], found [2, 4]"));
}

TEST_CASE("a compiled model is kept and loaded from what is kept", "[openvino]") {
  const tenon::test::TemporaryDirectory directory;
  const auto cache = host::PreparedCache::open(directory / "new");
  REQUIRE(cache.ok());
  Fixture fixture;
  fixture.options.layers.add(*cache);
  const auto load_and_run = [&] {
    const auto method = fixture.load();
    INFO(method.text());
    REQUIRE(method.ok());
    check_run(**method, input(2));
  };
  load_and_run();
  REQUIRE(count_files(directory / "new") == 1);
  const auto path = std::filesystem::directory_iterator(directory / "new")->path();
  const auto size = std::filesystem::file_size(path);
  load_and_run();

  SECTION("other properties have a file of their own") {
    fixture.set("num_streams", std::int64_t{1});
    load_and_run();
    CHECK(count_files(directory / "new") == 2);
  }
  SECTION("a damaged file is replaced") {
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(5000)
        .write("damage", 6);
    load_and_run();
    std::filesystem::resize_file(path, size / 2);
    load_and_run();
    // Not the same size: OpenVINO counts the nodes of a process in their names.
    CHECK(std::filesystem::file_size(path) > size / 2);
    CHECK(count_files(directory / "new") == 1);
  }
}

TEST_CASE("layers are events of the tracer", "[openvino]") {
  Fixture fixture;
  host::Trace trace;
  fixture.options.layers.add(trace);
  const auto method = fixture.load();
  INFO(method.text());
  REQUIRE(method.ok());
  check_run(**method, input(2));
  CHECK_THAT(trace.json(), ContainsSubstring("MatMul"));
}
