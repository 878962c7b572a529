// SPDX-License-Identifier: MIT
#include "runtime/settings.hpp"

#include <array>
#include <cstdlib>
#include <string>

#include "runtime/library.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace {

using openvino_backend::apply_specs;
using openvino_backend::check_option;
using openvino_backend::Library;
using openvino_backend::Settings;
using tenon::Error;

tenon_compile_spec spec(const char* key, std::string_view value) {
  return {sizeof(tenon_compile_spec), 0, key, value.data(), value.size()};
}

tenon::Status apply(const char* key, std::string_view value, Settings& settings) {
  const tenon_compile_spec one = spec(key, value);
  return apply_specs(tenon::CompileSpecs(&one, 1), settings);
}

/// While it lives, OPENVINO_LIB has this value.
class LibraryAt {
 public:
  explicit LibraryAt(const std::string& path) {
    if (const char* value = std::getenv(name)) before_ = value;
    ::setenv(name, path.c_str(), 1);
  }
  LibraryAt(const LibraryAt&) = delete;
  LibraryAt& operator=(const LibraryAt&) = delete;
  ~LibraryAt() {
    if (before_.empty()) {
      ::unsetenv(name);
    } else {
      ::setenv(name, before_.c_str(), 1);
    }
  }

 private:
  static constexpr const char* name = "OPENVINO_LIB";
  std::string before_;
};

}  // namespace

TEST_CASE("compile specs fill what options leave open") {
  using std::string_view_literals::operator""sv;
  const std::array specs{spec("device", "GPU\0"sv), spec("num_streams", "2"),
                         spec("inference_precision", "bf16"), spec("of_the_compiler", "x")};
  Settings settings;
  settings.num_streams = 4;
  REQUIRE(apply_specs(tenon::CompileSpecs(specs.data(), specs.size()), settings).ok());
  CHECK(settings.device == "GPU");
  CHECK(settings.num_streams == 4);
  CHECK(settings.inference_precision == "bf16");
}

TEST_CASE("a compile spec with a bad value is refused by its name") {
  Settings settings;
  const auto failed = apply("num_streams", "two", settings);
  CHECK(failed.error() == Error::InvalidArgument);
  CHECK(std::string(failed.text()) == "compile spec num_streams: expected a number, found 'two'");
  CHECK(apply("inference_num_threads", "-1", settings).error() == Error::InvalidArgument);
  CHECK(apply("performance_hint", "FAST", settings).error() == Error::InvalidArgument);
}

TEST_CASE("options have the values that OpenVINO knows") {
  CHECK(check_option("performance_hint", "LATENCY").ok());
  CHECK(check_option("performance_hint", "").ok());
  const auto failed = check_option("inference_precision", "f8");
  CHECK(failed.error() == Error::InvalidArgument);
  CHECK(std::string(failed.text()) ==
        "inference_precision: expected nothing, f32, bf16, f16, dynamic; found 'f8'");
  CHECK_FALSE(check_option("num_streams", -1).ok());
  CHECK_FALSE(check_option("device", std::string_view("C\0U", 3)).ok());
}

TEST_CASE("results are in float32 unless less is asked for") {
  Settings settings;
  CHECK(settings.properties().front() ==
        std::pair<std::string, std::string>("INFERENCE_PRECISION_HINT", "f32"));
}

TEST_CASE("a missing OpenVINO is reported with what was tried and how to install it") {
  const LibraryAt library_at("/nonexistent/libopenvino_c.so");
  const auto library = Library::load();
  CHECK(library.error() == Error::NotFound);
  const std::string text(library.text());
  CHECK(text.find("/nonexistent/libopenvino_c.so") != std::string::npos);
  CHECK(text.find("pip install openvino") != std::string::npos);
}

TEST_CASE("a directory without OpenVINO is reported by its name") {
  const tenon::test::TemporaryDirectory directory;
  const LibraryAt library_at(directory.path().string());
  const auto library = Library::load();
  CHECK(library.error() == Error::NotFound);
  CHECK(std::string(library.text()).find(directory.path().string()) != std::string::npos);
}

TEST_CASE("a library that is not OpenVINO is refused by the first function that it lacks") {
  const LibraryAt library_at("libm.so.6");
  const auto library = Library::load();
  CHECK(library.error() == Error::NotSupported);
  CHECK(std::string(library.text()).find("has no function ov_get_last_err_msg") !=
        std::string::npos);
}
