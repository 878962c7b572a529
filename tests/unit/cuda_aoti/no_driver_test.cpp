// SPDX-License-Identifier: MIT
//
// CudaBackend on a machine without a CUDA driver, and with a driver that finds no device.
#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "support/aligned_bytes.hpp"
#include "support/catch.hpp"
#include "tenon/host.hpp"
#include "tenon/host/inspect.hpp"
#include "tenon/host/schema/program_generated.h"

using namespace tenon;

namespace {

const bool has_driver = [] {
  void* library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library) ::dlclose(library);
  return library != nullptr;
}();

/// The backend's verdict on a program, after `edit` of the file's bytes.
template <class Edit>
host::BlobCheck check_blob(Edit edit, const std::string& name = "cuda_addmul") {
  auto bytes = std::make_shared<test::AlignedBytes>(
      test::read_file(TENON_TEST_FIXTURES "/" + name + "/model.pte"));
  edit(bytes->bytes());
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(std::filesystem::path(TENON_TEST_CUDA_AOTI)).ok());
  const auto backend = registry.lookup_backend("CudaBackend");
  REQUIRE(backend.ok());
  const auto program = host::Program::from_bytes(bytes->bytes(), bytes, "edited");
  REQUIRE(program.ok());
  const auto data = host::MergedDataMap::create(*program, {});
  REQUIRE(data.ok());
  const auto plan = (*program)->plan("forward");
  REQUIRE(plan.ok());
  const auto check = host::check_blob(**backend, **program, "forward",
                                      *(*plan)->delegates()->Get(0), (*data)->abi());
  INFO(check.text());
  REQUIRE((check.ok() && check->has_value()));
  return **check;
}

/// Replaces each `from` by `to`, which is as long.
void replace(std::span<std::byte> bytes, std::string_view from, std::string_view to) {
  const auto* const begin = reinterpret_cast<const char*>(bytes.data());
  const std::string_view text(begin, bytes.size());
  long count = 0;
  for (std::size_t at = text.find(from); at != std::string_view::npos;
       at = text.find(from, at + 1)) {
    std::memcpy(bytes.data() + at, to.data(), to.size());
    ++count;
  }
  REQUIRE(count > 0);
}

Result<std::unique_ptr<host::Method>> load(host::BackendRegistry& registry) {
  const std::string directory = TENON_TEST_FIXTURES "/cuda_addmul";
  TENON_RETURN_IF_ERROR(registry.register_backend(std::filesystem::path(TENON_TEST_CUDA_AOTI)));
  TENON_TRY(auto program, host::Program::open(directory + "/model.pte"));
  TENON_TRY(auto data, host::DataFile::open(directory + "/aoti_cuda_blob.ptd"));
  host::MethodOptions options;
  options.registry = &registry;
  options.layers.add(host::DataFiles({std::move(data)}));
  return host::Method::load(std::move(program), "forward", std::move(options));
}

}  // namespace

TEST_CASE("without a driver the backend is listed with the reason why it cannot run",
          "[cuda][D6]") {
  if (has_driver) {
    WARN("this machine has a CUDA driver, so that nothing is tested here");
    return;
  }
  host::BackendRegistry registry;
  const auto method = load(registry);
  CHECK_FALSE(method.ok());
  CHECK_THAT(std::string(method.text()),
             ContainsSubstring("CudaBackend") && ContainsSubstring("no CUDA driver: libcuda.so.1"));
  const auto backend = registry.lookup_backend("CudaBackend");
  REQUIRE(backend.ok());
  const auto devices = host::list_devices(**backend);
  CHECK_FALSE(devices.ok());
  CHECK_THAT(std::string(devices.text()), ContainsSubstring("no CUDA driver"));
}

TEST_CASE("without a driver a blob is checked by reading it", "[cuda][TN-BLB-1]") {
  if (has_driver) {
    WARN("this machine has a CUDA driver, so that nothing is tested here");
    return;
  }
  const auto good = check_blob([](std::span<std::byte>) {});
  CHECK(good.verdict == TENON_BLOB_USABLE);
  CHECK_THAT(good.reason, ContainsSubstring("the device was not looked at (no CUDA driver: ") &&
                              ContainsSubstring("its kernels are for sm_90, compute_90 (PTX)"));

  const auto unknown_payload =
      check_blob([](std::span<std::byte> bytes) { replace(bytes, "ETCUDAFQN3", "ETCUDAFQN9"); });
  CHECK(unknown_payload.verdict == TENON_BLOB_INCOMPATIBLE);
  CHECK_THAT(unknown_payload.reason, ContainsSubstring("ETCUDAFQN9"));

  const auto missing_function = check_blob([](std::span<std::byte> bytes) {
    replace(bytes, "aoti_torch_get_numel", "aoti_torch_get_lemun");
  });
  CHECK(missing_function.verdict == TENON_BLOB_INCOMPATIBLE);
  CHECK_THAT(missing_function.reason, ContainsSubstring("aoti_torch_get_lemun"));

  const auto other_machine = check_blob([](std::span<std::byte> bytes) {
    // ELF, 64 bit, little-endian, version 1, ABI, shared: then comes the machine.
    using namespace std::string_view_literals;
    replace(bytes, "\x03\x00\x3e\x00\x01\x00\x00\x00"sv, "\x03\x00\xb7\x00\x01\x00\x00\x00"sv);
  });
  CHECK(other_machine.verdict == TENON_BLOB_INCOMPATIBLE);

  const auto other_device =
      check_blob([](std::span<std::byte> bytes) { replace(bytes, "cuda:0", "cuda_0"); });
  CHECK(other_device.verdict == TENON_BLOB_INCOMPATIBLE);
  CHECK_THAT(other_device.reason, ContainsSubstring("expected 'cuda' or 'cuda:N'"));
}

TEST_CASE("without a driver a program for several devices is usable if one of its libraries is",
          "[cuda][TN-BLB-1]") {
  if (has_driver) {
    WARN("this machine has a CUDA driver, so that nothing is tested here");
    return;
  }
  const auto good = check_blob([](std::span<std::byte>) {}, "cuda_variants");
  CHECK(good.verdict == TENON_BLOB_USABLE);
  CHECK_THAT(good.reason,
             ContainsSubstring("its kernels are for sm_80, sm_90, compute_75 (PTX, fallback)"));
  const auto missing = check_blob(
      [](std::span<std::byte> bytes) {
        replace(bytes, "aoti_torch_get_numel", "aoti_torch_get_lemun");
      },
      "cuda_variants");
  CHECK(missing.verdict == TENON_BLOB_INCOMPATIBLE);
  CHECK_THAT(missing.reason, ContainsSubstring("aoti_torch_get_lemun"));
}
