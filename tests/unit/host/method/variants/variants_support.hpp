// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../method_support.hpp"
#include "judging_backends.hpp"
#include "support/variants_program.hpp"
#include "tenon/host/impl/registry/cpu_features.hpp"

namespace tenon::test {

/// Knows the backends of judging_backends.cpp and test_backend.cpp, for a CPU with `features`.
class JudgingRegistry {
 public:
  explicit JudgingRegistry(std::vector<std::string> features = {"avx2"})
      : cpu_(std::move(features)), registry_({}, &cpu_) {
    REQUIRE(registry_.register_backend(tenon_static_plugin_FirstBackend).ok());
    REQUIRE(registry_.register_backend(tenon_static_plugin_TestBackend).ok());
    calls().clear();
  }
  [[nodiscard]] host::MethodOptions options() const {
    host::MethodOptions out;
    out.registry = &registry_;
    return out;
  }
  [[nodiscard]] host::BackendRegistry& registry() { return registry_; }

 private:
  host::CpuFeatures cpu_;
  host::BackendRegistry registry_;
};

}  // namespace tenon::test
