// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugins/far/far_memory.hpp"
#include "support/device_program.hpp"
#include "tenon/abi/static_plugin.h"
#include "unit/host/loader/method/method_support.hpp"

TENON_DECLARE_STATIC_PLUGIN(Far);

namespace tenon::test {

constexpr tenon_dl_device cpu{TENON_DL_CPU, 0};
constexpr tenon_dl_device cuda(std::int32_t index = 0) { return {TENON_DL_CUDA, index}; }

/// Watches the stand-in of a device (tests/plugins/far/far_memory.cpp), which is registered in
/// `registry` in addition to the backends of test_backend.cpp: at the end nothing may be left of
/// it.
class FarRegistry {
 public:
  explicit FarRegistry(std::string name = "") {
    auto& record = far_memory();
    record.allocations = record.copies = 0;
    record.to_device = record.to_host = record.between = 0;
    record.fail_allocation = record.fail_copy = 0;
    record.misaligned = false;
    record.identity.clear();
    REQUIRE(registry.register_backend(tenon_static_plugin_Far, {std::move(name), {}}).ok());
    REQUIRE(registry.register_backend(tenon_static_plugin_TestBackend).ok());
  }
  FarRegistry(const FarRegistry&) = delete;
  FarRegistry& operator=(const FarRegistry&) = delete;
  ~FarRegistry() {
    CHECK(far_memory().live == 0);
    CHECK(far_memory().bytes == 0);
    CHECK(far_memory().wrong_frees == 0);
    CHECK(far_memory().left_at_close == 0);
  }

  [[nodiscard]] host::MethodOptions options() const {
    host::MethodOptions out;
    out.registry = &registry;
    return out;
  }

  host::BackendRegistry registry;
};

inline const std::vector<std::int64_t> two_by_three{2, 3};
inline constexpr std::array<float, 6> ones{1, 1, 1, 1, 1, 1};
inline constexpr std::array<float, 6> counted{1, 2, 3, 4, 5, 6};
inline const std::vector<float> one_more{2, 3, 4, 5, 6, 7};

/// Sets both inputs of `device_program`.
inline void set_inputs(host::Method& method) {
  REQUIRE(set_floats(method, 0, ones, two_by_three).ok());
  REQUIRE(set_floats(method, 1, counted, two_by_three).ok());
}

/// The six numbers of output 0, wherever it is.
inline std::vector<float> read_output(const host::Method& method) {
  std::vector<float> out(6);
  REQUIRE(method.read_output(0, std::as_writable_bytes(std::span(out))).ok());
  return out;
}

/// Runs a method of `device_program` and checks its numbers.
inline void check_adds(host::Method& method) {
  set_inputs(method);
  const Status executed = method.execute();
  INFO(executed.text());
  REQUIRE(executed.ok());
  CHECK(floats(method.output(0)) == one_more);
}

}  // namespace tenon::test
