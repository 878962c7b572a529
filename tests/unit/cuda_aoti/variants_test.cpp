// SPDX-License-Identifier: MIT
//
// Programs with libraries for several devices: which of them is loaded, and what is refused.
#include <memory>
#include <string>
#include <vector>

#include "cuda_host.hpp"
#include "tenon/host/layers/inspect/check_blob.hpp"

using namespace tenon;
using namespace tenon::test;

namespace variants_test {
namespace {

/// The backend's verdict on the program's delegate.
host::BlobCheck check_blob(CudaHost& host,
                           const Result<std::shared_ptr<const host::Program>>& program) {
  REQUIRE(program.ok());
  const auto data = host::MergedDataMap::create(*program, {});
  REQUIRE(data.ok());
  const auto check =
      host::check_blob(*host.backend(), **program, "forward",
                       *(*(*program)->plan("forward"))->delegates()->Get(0), (*data)->abi());
  INFO(check.text());
  REQUIRE((check.ok() && check->has_value()));
  return **check;
}

host::BlobCheck check_blob(CudaHost& host, const CudaParts& parts) {
  auto bytes = std::make_shared<const AlignedBytes>(build_program(parts));
  return check_blob(host, host::Program::from_bytes(bytes->bytes(), bytes, "copies"));
}

}  // namespace

TEST_CASE("of a program's libraries that for the device is loaded, and no other", "[cuda]") {
  struct Choice {
    int capability;
    std::vector<PayloadVariant> variants;  // All but the right one are broken.
  };
  const std::vector<Choice> choices = {
      {80, {{80, 0, 0, "sm_80"}, {90, 0, 0, "broken 90"}, {75, 75, 1, "missing"}}},
      {90, {{80, 0, 0, "broken 80"}, {90, 0, 0, "sm_90"}, {75, 75, 1, "broken"}}},
      {86, {{80, 0, 0, "broken 80"}, {90, 0, 0, "missing"}, {75, 75, 1, "compute_75"}}},
      {100, {{80, 80, 0, "broken 80"}, {90, 90, 0, "compute_90"}, {100, 100, 1, "broken"}}},
      {120, {{0, 0, 0, "alone"}}},
  };
  for (const Choice& choice : choices) {
    INFO("sm_" << choice.capability);
    CudaHost host({.num_devices = 1, .capability = choice.capability});
    const CudaParts parts = {.variants = choice.variants};
    CHECK(check_blob(host, parts).verdict != TENON_BLOB_INCOMPATIBLE);
    const auto method = host.load_ok(parts);
    const auto out = run(*method, 1);
    INFO(out.text());
    REQUIRE(out.ok());
    CHECK(out->weight == 3.0f);
  }
}

TEST_CASE("the device that a program names decides which library is loaded", "[cuda][D9]") {
  CudaHost host({.num_devices = 2, .capability = 80, .other_capability = 90});
  const std::vector<PayloadVariant> first = {{80, 0, 0, "sm_80"}, {90, 0, 0, "broken"}};
  const std::vector<PayloadVariant> second = {{80, 0, 0, "broken"}, {90, 0, 0, "sm_90"}};
  CHECK(host.load({.target_device = "cuda:0", .variants = first}).ok());
  CHECK(host.load({.target_device = "cuda:1", .variants = second}).ok());
  CHECK_FALSE(host.load({.target_device = "cuda:1", .variants = first}).ok());
}

TEST_CASE(
    "a program of ExecuTorch's exporter with three libraries runs on every device from sm_75 on",
    "[cuda][TN-BLB-1]") {
  const std::string file = TENON_TEST_FIXTURES "/cuda_variants/model.pte";
  // Its kernels are binaries of sm_80 and sm_90, and PTX of compute_75; the stand-in refuses to
  // load another device's.
  for (const int capability : {75, 80, 86, 90, 100, 120}) {
    INFO("sm_" << capability);
    CudaHost host({.num_devices = 1, .capability = capability});
    const auto check = check_blob(host, host::Program::open(file));
    const bool is_compiled = capability <= 80 || capability == 90;
    CHECK(check.verdict == (is_compiled ? TENON_BLOB_OPTIMAL : TENON_BLOB_USABLE));
    const auto method = host.load_fixture_ok("cuda_variants");
    const ZeroInputs inputs(*method);
    REQUIRE(inputs.status.ok());
    const Status status = method->execute();
    INFO(status.text() << misuses());
    REQUIRE(status.ok());
    CHECK(count_calls("cuModuleLoadData") == 1);
    CHECK(count_calls("cuLaunchKernel") + count_calls("cuLaunchKernelEx") == 1);
  }
  CudaHost host({.num_devices = 1, .capability = 70});
  const auto check = check_blob(host, host::Program::open(file));
  CHECK(check.verdict == TENON_BLOB_INCOMPATIBLE);
  CHECK_THAT(check.reason,
             ContainsSubstring("which is sm_70; its 3 libraries are for sm_80, sm_90, "
                               "compute_75 (PTX, fallback)"));
  CHECK_FALSE(host.load_fixture("cuda_variants").ok());
}

TEST_CASE("a program without a library for the device is refused before anything is made on it",
          "[cuda][TN-BLB-2]") {
  CudaHost host({.num_devices = 1, .capability = 75});
  const CudaParts parts = {.variants = {{80, 80, 0, "a"}, {90, 0, 0, "b"}}};
  const auto check = check_blob(host, parts);
  CHECK(check.verdict == TENON_BLOB_INCOMPATIBLE);
  const auto method = host.load(parts);
  CHECK(method.error() == Error::DelegateInvalidCompatibility);
  for (const std::string& text : {std::string(method.text()), check.reason}) {
    CHECK_THAT(text, ContainsSubstring("no library for this device, which is sm_75; its 2 "
                                       "libraries are for sm_80 with compute_80 (PTX), sm_90"));
  }
  CHECK(count_calls("cuDevicePrimaryCtxRetain") == 0);
}

TEST_CASE("a library that is named and not there is reported with its key", "[cuda][D3]") {
  CudaHost host;
  const auto method = host.load({.variants = {{80, 0, 0, "a"}, {90, 0, 0, "missing sm_90"}}});
  CHECK_FALSE(method.ok());
  CHECK_THAT(std::string(method.text()), ContainsSubstring("missing sm_90"));
}

TEST_CASE("a program whose KV cache is outside of the graph is refused by name", "[cuda]") {
  CudaHost host;
  for (const std::string key : {"offgraph_kv_step_width", "offgraph_kv_manifest"}) {
    const CudaParts parts = {.compile_spec = key};
    const auto method = host.load(parts);
    CHECK(method.error() == Error::NotSupported);
    const auto check = check_blob(host, parts);
    CHECK(check.verdict == TENON_BLOB_INCOMPATIBLE);
    for (const std::string& text : {std::string(method.text()), check.reason}) {
      CHECK_THAT(text, ContainsSubstring("KV cache is outside of its graph (compile spec '" + key));
    }
  }
}

}  // namespace variants_test
