// SPDX-License-Identifier: MIT
//
// What is refused before the first run, and how failures of code and of the device are reported.
#include <memory>
#include <string>
#include <string_view>

#include "cuda_host.hpp"
#include "driver/kernel_images.hpp"
#include "kernels/kernels.hpp"
#include "tenon/host/layers/inspect/check_blob.hpp"

using namespace tenon;
using namespace tenon::test;
using tenon::cuda_aoti::KernelImages;

namespace {

/// The backend's verdict on the first delegate of a program.
host::BlobCheck check_blob(CudaHost& host, const std::shared_ptr<const host::Program>& program) {
  const auto data = host::MergedDataMap::create(program, {});
  REQUIRE(data.ok());
  const auto check =
      host::check_blob(*host.backend(), *program, "forward",
                       *(*program->plan("forward"))->delegates()->Get(0), (*data)->abi());
  INFO(check.text());
  REQUIRE((check.ok() && check->has_value()));
  return **check;
}

std::shared_ptr<const host::Program> program_of(const CudaParts& parts) {
  auto bytes = std::make_shared<const AlignedBytes>(build_program(parts));
  auto program = host::Program::from_bytes(bytes->bytes(), bytes, "copies");
  REQUIRE(program.ok());
  return *program;
}

std::shared_ptr<const host::Program> addmul() {
  auto program = host::Program::open(TENON_TEST_FIXTURES "/cuda_addmul/model.pte");
  REQUIRE(program.ok());
  return *program;
}

}  // namespace

TEST_CASE("a program whose kernels need a newer driver is refused with the driver it needs",
          "[cuda][TN-BLB-2]") {
  CudaHost host({.num_devices = 2, .driver_version = 12080});
  const auto program = addmul();
  const auto check = check_blob(host, program);
  CHECK(check.verdict == TENON_BLOB_INCOMPATIBLE);
  CHECK(count_calls("cuDevicePrimaryCtxRetain") == 0);
  const auto loaded = host.load(program, "forward", {}, {});
  CHECK(loaded.error() == Error::DelegateInvalidCompatibility);
  for (const std::string& text : {std::string(loaded.text()), check.reason}) {
    CHECK_THAT(text, ContainsSubstring("the model's kernels need a driver for CUDA 13.0 or later; "
                                       "this one is for CUDA 12.8"));
  }
}

TEST_CASE("a blob is checked without a context", "[cuda][TN-BLB-1]") {
  CudaHost host;
  CHECK(check_blob(host, addmul()).verdict == TENON_BLOB_OPTIMAL);
  CHECK(count_calls("cuDevicePrimaryCtxRetain") == 0);
}

TEST_CASE("a model that needs a kernel of the plugin is refused where it cannot run", "[cuda]") {
  if (cuda_aoti::kernels::fatbin().empty()) {
    WARN("built without nvcc, so there are no kernels");
    return;
  }
  CudaHost host({.num_devices = 1, .capability = 75});
  const auto program = program_of({.model = "sorts"});
  const auto loaded = host.load(program, "forward", {}, {});
  CHECK(loaded.error() == Error::DelegateInvalidCompatibility);
  // Kernels for sm_100 and sm_120 are there as far as nvcc knows them.
  CHECK_THAT(std::string(loaded.text()),
             ContainsSubstring(
                 "the plugin's kernels for aoti_torch_cuda_sort_stable are for sm_80, sm_90, ") &&
                 ContainsSubstring("compute_80 (PTX); CUDA device 0 has compute capability 7.5"));
  CHECK(check_blob(host, program).verdict == TENON_BLOB_INCOMPATIBLE);
  // A library that needs no kernel loads.
  CHECK(host.load({}).ok());
}

TEST_CASE("the plugin's kernels run on drivers for CUDA 11.8 and later", "[cuda]") {
  if (cuda_aoti::kernels::fatbin().empty()) {
    WARN("built without nvcc, so there are no kernels");
    return;
  }
  const auto own = KernelImages::of(cuda_aoti::kernels::fatbin(), cuda_aoti::kernels::ptx());
  constexpr int with_binaries = 13000;
  for (const unsigned capability : {80u, 86u, 90u, 100u, 120u}) {
    INFO(capability);
    CHECK(own.driver_for(capability) <= 11080);
    CHECK(own.fit(capability, 11080) != KernelImages::Fit::none);
    CHECK(own.fit(capability, 11080) != KernelImages::Fit::old_driver);
    const bool has_binary =
        capability < 100 || own.text().find(concat("sm_", capability)) != std::string::npos;
    CHECK(own.fit(capability, with_binaries) ==
          (has_binary ? KernelImages::Fit::binary : KernelImages::Fit::ptx));
  }
  CHECK(own.driver_for(75) == 0);
  // The stand-in refuses code that a driver or a device does not accept, as they do.
  for (const stand_in_cuda::Machine& machine :
       {stand_in_cuda::Machine{.driver_version = 11080, .capability = 80},
        stand_in_cuda::Machine{.driver_version = 12080, .capability = 90},
        stand_in_cuda::Machine{.driver_version = 13000, .capability = 90},
        stand_in_cuda::Machine{.driver_version = 13000, .capability = 120}}) {
    CudaHost host(machine);
    const auto method = host.load({.model = "sorts"});
    INFO(machine.driver_version << " " << machine.capability << method.text());
    REQUIRE(method.ok());
    const auto out = run(**method, 1);
    INFO(out.text());
    CHECK(out.ok());
  }
}

TEST_CASE("code that the driver or the device refuses is an incompatible program", "[cuda]") {
  const int code = GENERATE(209, 218, 222);
  CudaHost host;
  Error found = Error::Ok;
  std::string text;
  for (long n = 0; n < 200 && text.empty(); ++n) {
    cuda().fail_at(n, code);
    const auto method = host.load_fixture("cuda_addmul");
    Status status = ok();
    if (method.ok()) {
      const ZeroInputs inputs(**method);
      status = (*method)->execute();
    }
    const char* const failed = cuda().failed_call();
    cuda().fail_at(-1, 0);
    if (!failed || std::string_view(failed) != "cuModuleLoadData") continue;
    found = method.ok() ? status.error() : method.error();
    text = method.ok() ? status.text() : method.text();
  }
  INFO(text);
  CHECK(found == Error::DelegateInvalidCompatibility);
  CHECK_THAT(text, ContainsSubstring(concat("(", code, ")")));
}

TEST_CASE("a failure that ends CUDA for the process says so", "[cuda]") {
  const int code = GENERATE(214, 700, 716, 719);
  CudaHost host;
  const auto method = host.load_ok({});
  cuda().fail_at(2, code);  // The allocation of its first tensor.
  const auto out = run(*method, 1);
  cuda().fail_at(-1, 0);
  CHECK_FALSE(out.ok());
  CHECK_THAT(std::string(out.text()),
             ContainsSubstring("CUDA cannot be used in this process any more: restart it"));
  // Others do not.
  cuda().fail_at(2, 1);
  CHECK_THAT(std::string(run(*method, 1).text()), !ContainsSubstring("restart"));
  cuda().fail_at(-1, 0);
}
