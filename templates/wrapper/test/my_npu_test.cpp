// SPDX-License-Identifier: MIT
//
// Tests of the plugin in a host. MY_NPU_LIB names the runtime's library.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tenon/conformance/catch.hpp>
#include <tenon/host.hpp>
#include <tenon/host/arrays/npy.hpp>
#include <vector>

#include "test/programs.hpp"

namespace my_npu::test {
namespace {

using tenon::ScalarType;
using tenon::host::Method;

/// A registry with the plugin under test.
struct Host {
  Host() { REQUIRE(registry.register_backend(MY_NPU_PLUGIN).ok()); }

  tenon::Result<std::unique_ptr<Method>> load(const std::vector<std::byte>& file,
                                              std::optional<std::int64_t> threads = {}) const {
    auto copy = std::make_shared<tenon::host::ArrayBytes>(file.size());
    std::memcpy(copy->data(), file.data(), file.size());
    const auto bytes = copy->span();
    TENON_TRY(auto program, tenon::host::Program::from_bytes(bytes, std::move(copy), "program"));
    tenon::host::MethodOptions options{.registry = &registry};
    if (threads) options.backend_options = {{std::string(backend_id), "num_threads", *threads}};
    return Method::load(std::move(program), "forward", options);
  }

  tenon::host::BackendRegistry registry;
};

template <class T>
tenon::Result<std::vector<T>> run(Method& method, const std::vector<T>& a,
                                  const std::vector<T>& b) {
  const auto set = [&](std::size_t index, const std::vector<T>& values) {
    const std::vector<std::int64_t> sizes{static_cast<std::int64_t>(values.size())};
    return method.set_input(index,
                            {*tenon::scalar_type_of<T>, sizes, std::as_bytes(std::span(values))});
  };
  TENON_RETURN_IF_ERROR(set(0, a));
  TENON_RETURN_IF_ERROR(set(1, b));
  TENON_RETURN_IF_ERROR(method.execute());
  TENON_TRY(const auto out, method.output<T>(0));
  return std::vector<T>(out.begin(), out.end());
}

TEST_CASE("each type of the runtime computes the right numbers") {
  const Host host;
  const auto floats = host.load(program_file(model(NPU_FLOAT32, 2, {3}), ScalarType::Float, {3}));
  REQUIRE(floats.ok());
  CHECK(*run<float>(**floats, {1, -2, 0.5F}, {1, 1, 1}) == std::vector<float>{3, -3, 2});
  const auto ints = host.load(program_file(model(NPU_INT32, 2, {2}), ScalarType::Int, {2}));
  REQUIRE(ints.ok());
  CHECK(*run<std::int32_t>(**ints, {1, -2}, {1, 1}) == std::vector<std::int32_t>{3, -3});
  const auto longs = host.load(program_file(model(NPU_INT64, 2, {1}), ScalarType::Long, {1}));
  REQUIRE(longs.ok());
  CHECK(*run<std::int64_t>(**longs, {std::int64_t{1} << 40}, {1}) ==
        std::vector<std::int64_t>{(std::int64_t{1} << 41) + 1});
}

TEST_CASE("sizes may change from run to run within their bounds") {
  const Host host;
  const auto method =
      host.load(program_file(model(NPU_FLOAT32, 2, {-1}), ScalarType::Float, {4}, true));
  REQUIRE(method.ok());
  CHECK(*run<float>(**method, {1, 2, 3, 4}, {0, 0, 0, 0}) == std::vector<float>{2, 4, 6, 8});
  CHECK(*run<float>(**method, {1}, {5}) == std::vector<float>{7});
  CHECK(run<float>(**method, {}, {})->empty());
  CHECK(run<float>(**method, {1, 2}, {5}).text().find("two inputs of the same sizes") !=
        std::string_view::npos);
  CHECK(*run<float>(**method, {1}, {5}) == std::vector<float>{7});
}

TEST_CASE("a program whose tensors are not those of its model is refused when it runs") {
  const Host host;
  const auto blob = model(NPU_INT32, 2, {3});
  const auto dtype = host.load(program_file(blob, ScalarType::Float, {3}));
  REQUIRE(dtype.ok());
  const auto wrong_dtype = run<float>(**dtype, {1, 2, 3}, {1, 2, 3});
  CHECK(wrong_dtype.error() == tenon::Error::InvalidType);
  CHECK(wrong_dtype.text().find("argument 0: expected dtype Int, found Float") !=
        std::string_view::npos);
  const auto size = host.load(program_file(blob, ScalarType::Int, {2}));
  REQUIRE(size.ok());
  CHECK(run<std::int32_t>(**size, {1, 2}, {1, 2})
            .text()
            .find("argument 0: size 0: expected 3, found 2") != std::string_view::npos);
}

TEST_CASE("a session has its own request and may be destroyed before its delegate") {
  const Host host;
  const auto method = host.load(program_file(model(NPU_INT32, 2, {1}), ScalarType::Int, {1}));
  REQUIRE(method.ok());
  CHECK(*run<std::int32_t>(**method, {1}, {1}) == std::vector<std::int32_t>{3});
  {
    const auto session = (*method)->create_session();
    REQUIRE(session.ok());
    (*method)->use_session(session->get());
    CHECK(*run<std::int32_t>(**method, {5}, {1}) == std::vector<std::int32_t>{11});
    (*method)->use_session(nullptr);
  }
  CHECK(*run<std::int32_t>(**method, {2}, {1}) == std::vector<std::int32_t>{5});
}

TEST_CASE("damaged models are refused when the program is loaded") {
  const Host host;
  auto newer = model(NPU_FLOAT32, 2, {3});
  newer[4] = std::byte{2};
  const auto version = host.load(program_file(newer, ScalarType::Float, {3}));
  CHECK(version.error() == tenon::Error::DelegateInvalidCompatibility);
  CHECK(version.text().find("expected version 1 to 1, found 2") != std::string_view::npos);
  auto shorter = model(NPU_FLOAT32, 2, {3});
  shorter.pop_back();
  const auto size = host.load(program_file(shorter, ScalarType::Float, {3}));
  CHECK(size.error() == tenon::Error::InvalidProgram);
  CHECK(size.text().find("blob: 27 bytes are not those of rank 1") != std::string_view::npos);
}

TEST_CASE("a number of threads out of range is refused, and the error names the range") {
  const Host host;
  const auto file = program_file(model(NPU_FLOAT32, 2, {3}), ScalarType::Float, {3});
  CHECK(host.load(file, 4).ok());
  const auto refused = host.load(file, 65);
  CHECK(refused.error() == tenon::Error::InvalidArgument);
  CHECK(refused.text().find("option 'num_threads': expected 0 to 64, found 65") !=
        std::string_view::npos);
}

TEST_CASE("without the runtime the backend says what is missing, and looks again later") {
  const char* found = std::getenv("MY_NPU_LIB");
  REQUIRE(found);
  const std::string library = found;
  ::setenv("MY_NPU_LIB", "/nonexistent/libnpu.so", 1);
  const Host host;
  const auto backend = host.registry.lookup_backend(backend_id);
  REQUIRE(backend.ok());
  const auto missing = (*backend)->is_available();
  CHECK(missing.error() == tenon::Error::NotFound);
  CHECK(missing.text().find("/nonexistent/libnpu.so") != std::string_view::npos);
  CHECK(missing.text().find("or set MY_NPU_LIB to its file") != std::string_view::npos);
  // A library, but of something else.
  ::setenv("MY_NPU_LIB", MY_NPU_PLUGIN, 1);
  CHECK((*backend)->is_available().text().find("expected the function npu_version, found none") !=
        std::string_view::npos);
  ::setenv("MY_NPU_LIB", library.c_str(), 1);
  CHECK((*backend)->is_available().ok());
}

}  // namespace
}  // namespace my_npu::test
