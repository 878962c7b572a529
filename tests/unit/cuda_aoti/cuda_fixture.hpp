// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cuda_host.hpp"
#include "driver/device.hpp"
#include "products.hpp"
#include "tenon/aoti/shims/call.hpp"

namespace tenon::test {

/// A pool of device 0 that is the running model's.
struct CudaFixture {
  using DeviceTensor = aoti::ModelTensor;

  explicit CudaFixture(const stand_in_cuda::Machine& machine = {.num_devices = 2},
                       bool has_cublaslt = false) {
    cuda().set_machine(machine);
    cuda().reset();
    auto device = cuda_aoti::CudaDevice::open(0);
    REQUIRE(device.ok());
    auto stream = cuda_aoti::Stream::create(*device, cuda_aoti::Stream::Kind::ordinary);
    REQUIRE(stream.ok());
    std::shared_ptr<const cuda_aoti::kernels::CublasLtHandle> cublaslt;
    if (has_cublaslt) {
      auto opened = cuda_aoti::open_cublaslt(*device, "");
      INFO(opened.text());
      REQUIRE(opened.ok());
      cublaslt = *std::move(opened);
    }
    pool.emplace(cuda_aoti::device_memory(*device, *stream, std::move(cublaslt)));
    scope.emplace(pool->memory());
    REQUIRE(scope->ok());
    current.emplace(*pool);
  }
  CudaFixture(const CudaFixture&) = delete;
  CudaFixture& operator=(const CudaFixture&) = delete;
  ~CudaFixture() {
    CHECK(pool->num_live() == 0);
    current.reset();
    scope.reset();
    pool.reset();
    CHECK(CudaHost::is_clean());
    CHECK(misuses().empty());
  }

  DeviceTensor* tensor(const std::vector<std::int64_t>& sizes, ScalarType type = ScalarType::Float,
                       const std::int64_t* strides = nullptr) {
    DeviceTensor* out = pool->empty_strided(sizes, strides, type, aoti::TorchDeviceType::cuda, 0);
    REQUIRE(out != nullptr);
    return out;
  }
  std::vector<float> read(const DeviceTensor& tensor, std::size_t count) const {
    std::vector<float> out(count);
    REQUIRE(pool->synchronize().ok());
    REQUIRE(cuda().peek(reinterpret_cast<std::uintptr_t>(tensor.data), out.data(),
                        count * sizeof(float)));
    return out;
  }
  void write(const DeviceTensor& tensor, const std::vector<float>& numbers) const {
    REQUIRE(pool->copy(aoti::CopyKind::to_device, tensor.data,
                       reinterpret_cast<const std::byte*>(numbers.data()),
                       numbers.size() * sizeof(float))
                .ok());
    REQUIRE(pool->synchronize().ok());
  }

  std::optional<aoti::TensorPool> pool;
  std::optional<aoti::DeviceScope> scope;
  std::optional<aoti::CurrentPool> current;
};

}  // namespace tenon::test
