// SPDX-License-Identifier: MIT
//
// The functions of the CUDA runtime that models call, as they find them: by name.
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "cuda_fixture.hpp"
#include "shims/shim_list.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

// A model has other types for CUDA's handles than the plugin.
#if defined(__clang__)
#define TENON_AS_A_MODEL __attribute__((no_sanitize("function")))
#else
#define TENON_AS_A_MODEL
#endif

template <class... Arguments>
TENON_AS_A_MODEL int call(const char* name, Arguments... arguments) {
  const void* const found = cuda_aoti::shim_table().find(name);
  INFO(name);
  REQUIRE(found != nullptr);
  return reinterpret_cast<int (*)(Arguments...)>(const_cast<void*>(found))(arguments...);
}

}  // namespace

TEST_CASE("the attributes of an address fill no more than the struct of CUDA 12 has", "[cuda]") {
  CudaFixture fixture;
  const bool on_device = GENERATE(true, false);
  aoti::ModelTensor* const tensor = fixture.tensor({4});
  const void* const address = on_device ? static_cast<const void*>(tensor->data) : &fixture;
  constexpr std::size_t of_cuda_12 = 24;
  std::array<unsigned char, 64> out;
  out.fill(0x5a);
  CHECK(call("cudaPointerGetAttributes", static_cast<void*>(out.data()), address) == 0);
  int type = -1;
  std::memcpy(&type, out.data(), sizeof type);
  CHECK(type == (on_device ? 2 : 0));
  for (std::size_t i = of_cuda_12; i < out.size(); ++i) CHECK(out[i] == 0x5a);
  fixture.pool->release(tensor);
}

TEST_CASE("a model's own streams wait for its events and are destroyed", "[cuda]") {
  CudaFixture fixture;
  aoti::ModelTensor* const from = fixture.tensor({16});
  aoti::ModelTensor* const to = fixture.tensor({16});
  fixture.write(*from, std::vector<float>(16, 1));
  void* const own = fixture.pool->stream();
  void* other = nullptr;
  void* event = nullptr;
  int status = -1;
  constexpr unsigned non_blocking = 1;
  constexpr int within_device = 3;
  REQUIRE(call("cudaStreamCreateWithFlags", &other, non_blocking) == 0);
  REQUIRE(call("cudaEventCreateWithFlags", &event, 2u) == 0);
  CHECK(call("cudaStreamIsCapturing", own, &status) == 0);
  CHECK(status == 0);
  // `other` copies what the own stream has written.
  CHECK(call("cudaMemsetAsync", static_cast<void*>(from->data), 0, std::size_t{64}, own) == 0);
  CHECK(call("cudaEventRecord", event, own) == 0);
  CHECK(call("cudaStreamWaitEvent", other, event, 0u) == 0);
  CHECK(call("cudaMemcpyAsync", static_cast<void*>(to->data), static_cast<const void*>(from->data),
             std::size_t{64}, within_device, other) == 0);
  CHECK(call("cudaStreamSynchronize", other) == 0);
  CHECK(fixture.read(*to, 16) == std::vector<float>(16, 0));
  CHECK(call("cudaEventDestroy", event) == 0);
  CHECK(call("cudaStreamDestroy", other) == 0);
  CHECK(cuda().live().streams == 1);
  fixture.pool->release(from);
  fixture.pool->release(to);
}

TEST_CASE("memory of the host is allocated, filled and freed for a model", "[cuda]") {
  CudaFixture fixture;
  aoti::ModelTensor* const tensor = fixture.tensor({16});
  void* block = &fixture;
  CHECK(call("cudaHostAlloc", &block, std::size_t{0}, 0u) == 0);
  CHECK(block == nullptr);
  CHECK(call("cudaFreeHost", block) == 0);
  CHECK(call("cudaHostAlloc", &block, std::size_t{64}, 0u) == 0);
  REQUIRE(block != nullptr);
  CHECK(cuda().live().host_blocks == 1);
  // On the default stream, which the plugin's own waits for.
  CHECK(call("cudaMemset", static_cast<void*>(tensor->data), 0, std::size_t{64}) == 0);
  CHECK(call("cudaDeviceSynchronize") == 0);
  CHECK(fixture.read(*tensor, 16) == std::vector<float>(16, 0));
  CHECK(call("cudaFreeHost", block) == 0);
  CHECK(cuda().live().host_blocks == 0);
  fixture.pool->release(tensor);
}

TEST_CASE("the last error is there until it is taken", "[cuda]") {
  CudaFixture fixture;
  cuda().fail_at(0, 1);
  CHECK(call("cudaDeviceSynchronize") == 1);
  CHECK(call("cudaPeekAtLastError") == 1);
  CHECK(call("cudaGetLastError") == 1);
  CHECK(call("cudaPeekAtLastError") == 0);
  CHECK_THAT(
      fixture.pool->take_failure(),
      ContainsSubstring("cudaDeviceSynchronize: cuCtxSynchronize: CUDA_ERROR_INVALID_VALUE"));
}
