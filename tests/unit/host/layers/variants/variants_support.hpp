// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/variants_program.hpp"
#include "tenon/abi/static_plugin.h"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/impl/registry/cpu_features.hpp"
#include "unit/host/loader/method/method_support.hpp"

/// Backends that judge blobs by their text: "optimal NAME", "usable NAME", "incompatible NAME",
/// "asks KEY" (wants named data); "fails" cannot be judged. Their calls are in `test::calls`:
/// "check TEXT", "init TEXT METHOD".
///
/// "First" and "Second" judge. "Versioned" does as well and reads payload versions 2 and 3.
/// "Mute" has no check_blob. "Code" runs code of the program.
TENON_DECLARE_STATIC_PLUGIN(FirstBackend);

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
