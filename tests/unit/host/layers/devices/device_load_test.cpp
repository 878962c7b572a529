// SPDX-License-Identifier: MIT
//
// Failures while a method with memory on a device is loaded. Nothing must be left of it.
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "device_support.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// The text of a load that fails with `code`.
std::string refusal(const Result<std::unique_ptr<host::Method>>& method, Error code) {
  INFO(method.text());
  CHECK(method.error() == code);
  return std::string(method.text());
}

bool is_mapped(std::string_view name) {
  std::ifstream maps("/proc/self/maps");
  const std::string all{std::istreambuf_iterator<char>(maps), {}};
  return all.find(name) != std::string::npos;
}

/// A plan with a buffer on each of the two devices of the stand-in, and one with a state.
ProgramBuilder program_of_two_devices() {
  ProgramBuilder builder = device_program();
  PlanBuilder plan(*builder.program.execution_plan[0]);
  put_on_device(plan.table(), plan.buffer(128), 1);
  builder.mutable_data({std::string(24, 's')});
  plan.table().values[values::device_out]->val.AsTensor()->data_buffer_idx = 1;
  return builder;
}

}  // namespace

TEST_CASE(
    "memory that a device does not have fails the load with its buffer's name, and nothing is "
    "left",
    "[device][TN-DEV-6]") {
  const FarRegistry far;
  const auto program = open_program(program_of_two_devices());
  for (int nth = 1; nth <= 2; ++nth) {
    far_memory().fail_allocation = nth;
    const auto text = refusal(host::Method::load(program, "forward", far.options()),
                              Error::MemoryAllocationFailed);
    CHECK_THAT(text, ContainsSubstring(nth == 1 ? "planned buffer 2 of 96 bytes on CUDA device 0: "
                                                  "backend FarBackend: allocate: told to"
                                                : "planned buffer 3 of 128 bytes on CUDA device 1: "
                                                  "backend FarBackend: allocate: told to"));
    CHECK(far_memory().live == 0);
  }
  CHECK(far_memory().fail_allocation == 0);
  check_adds(*load_ok(program_of_two_devices(), far.options()));
}

TEST_CASE("each copy that fails while loading fails the load, and nothing is left", "[device]") {
  const FarRegistry far;
  const auto program = open_program(program_of_two_devices());
  REQUIRE(host::Method::load(program, "forward", far.options()).ok());
  const int copies = far_memory().copies;
  CHECK(copies == 3);  // Zeroes for two buffers, and a state.
  for (int nth = 1; nth <= copies; ++nth) {
    far_memory().fail_copy = nth;
    const auto text =
        refusal(host::Method::load(program, "forward", far.options()), Error::AccessFailed);
    CHECK_THAT(text, ContainsSubstring("backend FarBackend: copy_to_device: set to fail"));
    CHECK_THAT(text, ContainsSubstring(nth == 1   ? "planned buffer 2"
                                       : nth == 2 ? "planned buffer 3"
                                                  : "value 4"));
    CHECK(far_memory().live == 0);
    CHECK(far_memory().fail_copy == 0);
  }
}

TEST_CASE("an address that breaks the rules is given back and fails the load",
          "[device][TN-DEV-5]") {
  const FarRegistry far;
  far_memory().misaligned = true;
  CHECK_THAT(refusal(load(device_program(), far.options()), Error::Internal),
             ContainsSubstring("succeeded with an address that is not aligned (TN-DEV-5)"));
  CHECK(far_memory().allocations == 1);
  CHECK(far_memory().live == 0);
}

TEST_CASE("a failed init frees the memory on the device once", "[device]") {
  const FarRegistry far;
  CHECK_THAT(refusal(load(device_program("fail-init"), far.options()),
                     Error::DelegateInvalidCompatibility),
             ContainsSubstring("delegate 0 (FarBackend): init"));
  CHECK(far_memory().allocations == 1);
  CHECK(far_memory().live == 0);
}

TEST_CASE("a device without a backend is refused with the answer of each backend", "[device]") {
  const FarRegistry far;
  CHECK(
      refusal(load(device_program("add", 5), far.options()), Error::NotFound) ==
      "test.pte: method forward: planned buffer 2 of 96 bytes on CUDA device 5: no backend serves "
      "CUDA device 5: FarBackend: backend FarBackend finds CUDA device 0, CUDA device 1");
  CHECK(far_memory().allocations == 0);
}

TEST_CASE("every reason why a backend does not serve a device is in the message", "[device]") {
  const FarRegistry far;
  ProgramBuilder builder = device_program("add", 0, "Test");
  PlanBuilder plan(*builder.program.execution_plan[0]);
  for (const char* id : {"Unavailable", "Missing", "Test"}) {
    plan.delegate(id, schema::DataLocation::INLINE, 0);
  }
  const auto text = refusal(load(builder, far.options()), Error::NotFound);
  CHECK_THAT(text, ContainsSubstring(
                       "no backend serves CUDA device 0: Test: backend Test has no memory on "
                       "devices (extension tenon.device_memory/1); Unavailable: backend "
                       "Unavailable is not available: no driver: libacme.so.1 not found; "
                       "Missing: backend 'Missing' is not registered (InvalidBackend)"));
  CHECK(text.find("FarBackend") == std::string::npos);
}

TEST_CASE("a method without delegates has no backend for memory on a device", "[device]") {
  const FarRegistry far;
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  put_on_device(plan.table(), plan.buffer(8), 0);
  CHECK_THAT(refusal(load(builder, far.options()), Error::NotFound),
             ContainsSubstring("no backend serves CUDA device 0: the method uses no backend"));
}

TEST_CASE("a backend that the application names serves devices after the delegates' backends",
          "[device]") {
  const FarRegistry far;
  ProgramBuilder builder = device_program("add", 0, "Test");
  builder.program.execution_plan[0]->chains[0]->instructions.clear();
  auto options = far.options();
  options.backends.push_back(*far.registry.lookup_backend("FarBackend"));
  {
    const auto method = load_ok(builder, options);
    CHECK(far_memory().live == 1);
  }
  CHECK(far_memory().live == 0);
}

TEST_CASE("a method that needs a device is loaded without a registry when it lists the layer",
          "[device]") {
  const FarRegistry far;
  host::MethodOptions options;
  options.backends = {*far.registry.lookup_backend("FarBackend")};
  CHECK(refusal(load(device_program(), options), Error::NotSupported) ==
        "test.pte: method forward: planned buffer 2 of 96 bytes on CUDA device 0 needs the layer "
        "devices: list host::Devices() of <tenon/host/layers/devices/devices.hpp> in "
        "MethodOptions::layers, or load the method with a registry");
  ProgramBuilder given = resident_program(false);
  auto& plan = *given.program.execution_plan[0];
  plan.non_const_buffer_device.clear();
  CHECK_THAT(refusal(load(given, options), Error::NotSupported),
             ContainsSubstring("method forward: an input or output on CUDA device 0 needs the "
                               "layer devices"));
  CHECK(far_memory().allocations == 0);
  options.layers = {host::Devices()};
  CHECK(load(given, options).ok());
  check_adds(*load_ok(device_program(), options));
}

TEST_CASE("a layer that is listed twice counts once", "[device]") {
  const FarRegistry far;
  auto options = far.options();
  options.layers = {host::Devices()};
  check_adds(*load_ok(device_program(), options));
  CHECK(far_memory().allocations == 1);
}

TEST_CASE("a tensor in a buffer of another device than its own is refused", "[device]") {
  const FarRegistry far;
  ProgramBuilder builder = device_program();
  auto& value = *builder.program.execution_plan[0]->values[values::device_y]->val.AsTensor();
  value.extra_tensor_info = nullptr;
  CHECK_THAT(refusal(load(builder, far.options()), Error::InvalidProgram),
             ContainsSubstring("value 3: the tensor is on CPU, but its planned buffer on CUDA "
                               "device 0"));
  value = tagged(std::move(value), 1);
  CHECK_THAT(refusal(load(builder, far.options()), Error::InvalidProgram),
             ContainsSubstring("value 3: the tensor is on CUDA device 1, but its planned buffer on "
                               "CUDA device 0"));
  CHECK(far_memory().live == 0);
}

TEST_CASE("a program of ExecuTorch's CUDA exporter loads up to init with a backend of that name",
          "[device]") {
  const FarRegistry far("CudaBackend");
  const std::string directory = std::string(TENON_TEST_FIXTURES) + "/cuda_addmul";
  const auto program = host::Program::open(directory + "/model.pte");
  REQUIRE(program.ok());
  auto options = far.options();
  options.layers.add(host::DataFiles({*host::DataFile::open(directory + "/aoti_cuda_blob.ptd")}));
  const host::LoadProgress progress;
  options.layers.add(progress);
  CHECK_THAT(refusal(host::Method::load(*program, "forward", options),
                     Error::DelegateInvalidCompatibility),
             ContainsSubstring("delegate 0 (CudaBackend): init: the stand-in runs no such blob"));
  CHECK(progress.failed_delegate() == 0u);
  CHECK(far_memory().allocations == 1);
  CHECK(far_memory().copies == 1);
}

TEST_CASE("a plugin that gave memory on a device is unloaded with its last method", "[device]") {
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(std::filesystem::path(TENON_FAR_CUDA_PLUGIN)).ok());
  host::MethodOptions options;
  options.registry = &registry;
  {
    const auto method = load_ok(device_program("add", 0, "CudaBackend"), options);
    CHECK(is_mapped("far_cuda.so"));
    CHECK(is_mapped("tenon-far-memory"));
    check_adds(*method);
  }
  CHECK_FALSE(is_mapped("far_cuda.so"));
  CHECK_FALSE(is_mapped("tenon-far-memory"));
  CHECK(load(device_program("fail-init", 0, "CudaBackend"), options).error() ==
        Error::DelegateInvalidCompatibility);
  CHECK(load(device_program("add", 5, "CudaBackend"), options).error() == Error::NotFound);
  CHECK_FALSE(is_mapped("far_cuda.so"));
  CHECK_FALSE(is_mapped("tenon-far-memory"));
}
