// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include "support/temporary_directory.hpp"
#include "tenon/executorch/layout_probe.hpp"
#include "unit/executorch/adapter/stock.hpp"

using namespace tenon;
using namespace tenon::test;

namespace version_test {

bridge::LoadedRuntime runtime_of(std::string_view version) {
  return {"/opt/lib/libexecutorch.so", bridge::parse_version(version)};
}

}  // namespace version_test

TEST_CASE("a version is read from its first two numbers", "[executorch]") {
  const auto version = bridge::parse_version("1.5.1+cpu");
  REQUIRE(version.has_value());
  CHECK(version->major == 1);
  CHECK(version->minor == 5);
  CHECK(version->text == "1.5.1+cpu");
  CHECK(bridge::parse_version("2.11a0")->minor == 11);
  for (const char* wrong : {"", "1", "1.", "v1.5", ".5", "-1.5", "1.-5", "1 5"}) {
    INFO(wrong);
    CHECK_FALSE(bridge::parse_version(wrong).has_value());
  }
}

TEST_CASE("the loaded ExecuTorch is found with its version", "[executorch]") {
  const bridge::LoadedRuntime found = bridge::loaded_runtime();
  CHECK_THAT(found.path, ContainsSubstring("libexecutorch.so"));
  REQUIRE(found.version.has_value());
  CHECK(found.version->text == TENON_TEST_EXECUTORCH_VERSION);
  CHECK(bridge::check_runtime().ok());
}

TEST_CASE("the version is read from the wheel's version.py when CMake's file is not there",
          "[executorch]") {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "lib");
  const std::string beside = directory.file("lib/");
  CHECK_FALSE(bridge::detail::version_beside(beside).has_value());
  directory.write("version.py", "x = 1\n__version__ = \"1.6.0+cpu\"\n");
  REQUIRE(bridge::detail::version_beside(beside).has_value());
  CHECK(bridge::detail::version_beside(beside)->minor == 6);
  directory.write("version.py", "__version__ = \"unterminated");
  CHECK_FALSE(bridge::detail::version_beside(beside).has_value());
}

TEST_CASE("another minor or major version is refused with both and the file", "[executorch]") {
  const auto mine = bridge::compiled_version();
  CHECK(bridge::check_version(version_test::runtime_of(mine.text + ".9")).ok());
  for (const std::string& other : {concat(mine.major, ".", mine.minor + 1, ".0"),
                                   concat(mine.major + 1, ".", mine.minor, ".0")}) {
    const Status refused = bridge::check_version(version_test::runtime_of(other));
    REQUIRE(refused.error() == Error::NotSupported);
    CHECK_THAT(std::string(refused.text()),
               ContainsSubstring("compiled for ExecuTorch " + mine.text) &&
                   ContainsSubstring("/opt/lib/libexecutorch.so is ExecuTorch " + other));
  }
}

TEST_CASE("an ExecuTorch that says no version is judged by its layouts alone", "[executorch]") {
  CHECK(bridge::check_version({"/usr/bin/application", std::nullopt}).ok());
}

TEST_CASE("the probe compares every virtual function that a backend calls", "[executorch]") {
  const bridge::LoadedRuntime found = bridge::loaded_runtime();
  CHECK(bridge::check_layouts(found).ok());
  const auto compared = bridge::detail::check_virtual_functions(found.path);
  REQUIRE(compared.ok());
  CHECK(*compared == 6);
  CHECK(*bridge::detail::check_virtual_functions("/nonexistent/libexecutorch.so") == 0);
}

TEST_CASE("a bridge that was compiled for another minor version refuses to work", "[executorch]") {
  // As another build would be: a library of its own, whose macros say another version.
  void* const library = ::dlopen(TENON_TEST_OTHER_MINOR, RTLD_NOW | RTLD_LOCAL);
  INFO(TENON_TEST_OTHER_MINOR);
  REQUIRE(library != nullptr);
  const auto register_plugin =
      reinterpret_cast<std::uint32_t (*)(const char*, const char* const*, std::size_t)>(
          ::dlsym(library, "tenon_executorch_register"));
  const auto last_error = reinterpret_cast<std::uint32_t (*)(const char**, const char**)>(
      ::dlsym(library, "tenon_executorch_last_error"));
  REQUIRE((register_plugin != nullptr && last_error != nullptr));
  const std::size_t before = et::get_num_registered_backends();
  CHECK(register_plugin("/nonexistent/plugin.so", nullptr, 0) == TENON_STATUS_NOT_SUPPORTED);
  CHECK(register_plugin(nullptr, nullptr, 0) == TENON_STATUS_NOT_SUPPORTED);
  CHECK(et::get_num_registered_backends() == before);
  const char *name = nullptr, *text = nullptr;
  CHECK(last_error(&name, &text) == TENON_STATUS_NOT_SUPPORTED);
  CHECK(std::string(name) == "NotSupported");
  const std::string refusal = text;
  const auto mine = bridge::compiled_version();
  CHECK_THAT(refusal, ContainsSubstring(concat("this bridge was compiled for ExecuTorch ",
                                               mine.major, ".", mine.minor + 1, ", but ")) &&
                          ContainsSubstring("libexecutorch.so is ExecuTorch " +
                                            std::string(TENON_TEST_EXECUTORCH_VERSION)) &&
                          ContainsSubstring("there is one for each minor version"));
  ::dlclose(library);
}

TEST_CASE("the capacity of a tensor is known although ExecuTorch does not report it",
          "[executorch]") {
  auto tensor = floats({2, 3}, std::vector<float>(6), et::TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(bridge::numel_bound(*tensor.impl) == 6);
  const std::array<std::int32_t, 2> smaller{1, 2};
  REQUIRE(et::internal::resize_tensor_impl(&*tensor.impl, {smaller.data(), 2}) == et::Error::Ok);
  CHECK(tensor.impl->numel() == 2);
  CHECK(bridge::numel_bound(*tensor.impl) == 6);
}
