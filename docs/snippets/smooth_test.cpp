// SPDX-License-Identifier: MIT
#include <tenon/abi/static_plugin.h>
#include <array>
#include <tenon/host.hpp>

#include "support/catch.hpp"

// Defined by smooth.cpp, compiled with -DTENON_STATIC_PLUGIN.
TENON_DECLARE_STATIC_PLUGIN(AcmeSmooth);

namespace smooth_test {

// [test]
TEST_CASE("a method keeps its state from run to run") {
  tenon::host::BackendRegistry registry;
  REQUIRE(registry.register_backend(tenon_static_plugin_AcmeSmooth).ok());
  const auto program = tenon::host::Program::open(SMOOTH_MODEL);
  REQUIRE(program.ok());
  auto method = tenon::host::Method::load(*program, "forward", {.registry = &registry});
  REQUIRE(method.ok());

  const std::array<float, 3> values{4, 8, -4};
  const std::array<std::int64_t, 1> sizes{3};
  REQUIRE((*method)
              ->set_input(0, {tenon::ScalarType::Float, sizes, std::as_bytes(std::span(values))})
              .ok());
  for (const float expected : {1.0F, 1.75F}) {
    REQUIRE((*method)->execute().ok());
    const auto out = (*method)->output<float>(0);
    REQUIRE(out.ok());
    CHECK((*out)[0] == expected);
  }
}
// [test]

}  // namespace smooth_test
