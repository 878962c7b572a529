// SPDX-License-Identifier: MIT
//
// CudaBackend on a machine without a CUDA driver, and with one that finds no device.
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/catch.hpp"
#include "tenon/host.hpp"

using namespace tenon;

namespace {

const bool has_driver = [] {
  void* library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library) ::dlclose(library);
  return library != nullptr;
}();

Result<std::unique_ptr<host::Method>> load(host::BackendRegistry& registry) {
  const std::string folder = TENON_TEST_FIXTURES "/cuda_addmul";
  TENON_CHECK(registry.register_backend(std::filesystem::path(TENON_TEST_CUDA_AOTI)));
  TENON_TRY(auto program, host::Program::open(folder + "/model.pte"));
  TENON_TRY(auto data, host::DataFile::open(folder + "/aoti_cuda_blob.ptd"));
  host::MethodOptions options;
  options.registry = &registry;
  options.data_files = {std::move(data)};
  return host::Method::load(std::move(program), "forward", std::move(options));
}

}  // namespace

TEST_CASE("without a driver the backend is listed and says why it cannot run", "[cuda][D6]") {
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
