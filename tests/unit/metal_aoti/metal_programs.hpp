// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "half.hpp"
#include "support/catch.hpp"
#include "tenon/abi/static_plugin.h"
#include "tenon/host.hpp"
#include "tenon/host/layers/arrays/npy.hpp"

TENON_DECLARE_STATIC_PLUGIN(MetalBackend);

/// Real programs for Metal and the backend, linked with the stand-in for a device.
namespace metal_test {

using namespace tenon;

/// A program of tests/fixtures and its arrays. Inputs and outputs are inK.npy and outK.npy, or
/// inR_K.npy and outR_K.npy for run R.
class Fixture {
 public:
  explicit Fixture(const std::string& name) : directory_(TENON_TEST_FIXTURES "/metal_" + name) {}

  [[nodiscard]] std::filesystem::path program() const { return directory_ / "model.pte"; }
  [[nodiscard]] std::vector<host::NpyArray> inputs(int run = 0) const { return arrays("in", run); }
  [[nodiscard]] std::vector<host::NpyArray> outputs(int run = 0) const {
    return arrays("out", run);
  }

 private:
  std::vector<host::NpyArray> arrays(const std::string& prefix, int run) const {
    std::vector<host::NpyArray> out;
    for (int number = 0;; ++number) {
      std::filesystem::path path =
          directory_ / (prefix + std::to_string(run) + "_" + std::to_string(number) + ".npy");
      if (!std::filesystem::exists(path) && run == 0) {
        path = directory_ / (prefix + std::to_string(number) + ".npy");
      }
      if (!std::filesystem::exists(path)) return out;
      auto read = host::read_npy(path.string());
      REQUIRE(read.ok());
      out.push_back(*std::move(read));
    }
  }

  std::filesystem::path directory_;
};

/// Loads and runs programs with the backend that is linked in.
class Host {
 public:
  Host() {
    const Status status = registry_.register_backend(tenon_static_plugin_MetalBackend);
    INFO(status.text());
    REQUIRE(status.ok());
  }

  [[nodiscard]] Result<std::unique_ptr<host::Method>> load(const Fixture& fixture,
                                                           host::MethodOptions options = {}) {
    options.registry = &registry_;
    TENON_TRY(auto program, host::Program::open(fixture.program()));
    return host::Method::load(std::move(program), "forward", std::move(options));
  }
  [[nodiscard]] host::BackendRegistry& registry() noexcept { return registry_; }

 private:
  host::BackendRegistry registry_;
};

inline host::MethodOptions with_option(std::string key, OptionValue value) {
  host::MethodOptions options;
  options.backend_options.push_back({"MetalBackend", std::move(key), std::move(value)});
  return options;
}

/// Runs the method once on the inputs of `fixture`.
inline Status execute(host::Method& method, const std::vector<host::NpyArray>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ScalarType type = inputs[i].kind == 'f' && inputs[i].item_size == 2 ? ScalarType::Half
                            : inputs[i].kind == 'f'                           ? ScalarType::Float
                                                                              : ScalarType::Long;
    TENON_RETURN_IF_ERROR(method.set_input(i, {type, inputs[i].shape, inputs[i].data.span()}));
  }
  return method.execute();
}

/// The largest difference between output 0 and eager PyTorch's.
inline double difference(const host::Method& method, const host::NpyArray& expected) {
  const tenon_tensor& found = *method.output(0).as.tensor;
  REQUIRE(static_cast<std::size_t>(found.nbytes) == expected.data.size());
  const std::size_t count = expected.data.size() / expected.item_size;
  double most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double a = 0;
    double b = 0;
    const auto* const left = static_cast<const std::byte*>(found.dl.data) + i * expected.item_size;
    const auto* const right = expected.data.data() + i * expected.item_size;
    if (expected.item_size == 2) {
      std::uint16_t x = 0, y = 0;
      std::memcpy(&x, left, 2);
      std::memcpy(&y, right, 2);
      a = half_value(x);
      b = half_value(y);
    } else {
      float x = 0, y = 0;
      std::memcpy(&x, left, 4);
      std::memcpy(&y, right, 4);
      a = double{x};
      b = double{y};
    }
    if (std::isnan(a) != std::isnan(b)) return INFINITY;
    most = std::max(most, std::abs(a - b));
  }
  return most;
}

}  // namespace metal_test
