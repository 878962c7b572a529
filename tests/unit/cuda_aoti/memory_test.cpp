// SPDX-License-Identifier: MIT
//
// Device memory of tensors: how much is held when sizes change, and what happens when it runs out.
#include <cstdint>
#include <string>
#include <string_view>

#include "cuda_fixture.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

stand_in_cuda::Machine machine_with(std::size_t memory, bool has_pools = true) {
  return {.num_devices = 2, .memory_limit = memory, .has_memory_pools = has_pools};
}

/// A tensor of so many MiB. Null when there is no memory.
aoti::ModelTensor* try_tensor(CudaFixture& fixture, std::int64_t size) {
  const std::int64_t sizes[] = {size << 20};
  return fixture.pool->empty_strided(sizes, nullptr, ScalarType::Byte, aoti::TorchDeviceType::cuda,
                                     0);
}

/// A run of a model that works with one tensor of so many MiB.
void run_with(CudaFixture& fixture, std::int64_t size) {
  aoti::ModelTensor* const tensor = try_tensor(fixture, size);
  REQUIRE(tensor != nullptr);
  fixture.pool->release(tensor);
  fixture.pool->end_run();
  REQUIRE(fixture.pool->synchronize().ok());
}

}  // namespace

TEST_CASE("tensors of changing sizes hold no more memory than the last run used", "[cuda]") {
  CudaFixture fixture;
  for (std::int64_t size = 40; size > 0; size -= 3) {
    run_with(fixture, size);
    const auto expected = static_cast<std::uint64_t>(size) * mib;
    CHECK(cuda().live().reserved >= expected);
    CHECK(cuda().live().reserved <= expected + expected / 8);
  }
}

TEST_CASE("runs of one size allocate once", "[cuda]") {
  CudaFixture fixture;
  for (int i = 0; i < 5; ++i) run_with(fixture, 8);
  CHECK(count_calls("cuMemAllocFromPoolAsync") == 1);
  CHECK(count_calls("cuMemFreeAsync") == 0);
}

TEST_CASE("a model whose working memory grows with its input gives it back", "[cuda]") {
  CudaHost host;
  const auto method = host.load({.model = "scratch", .is_dynamic = true});
  INFO(method.text());
  REQUIRE(method.ok());
  REQUIRE(run(**method, 1, 16).ok());
  CHECK(cuda().live().reserved >= 16 * mib);
  REQUIRE(run(**method, 1, 2).ok());
  REQUIRE(run(**method, 1, 2).ok());  // What was freed in the run's order is free after it.
  CHECK(cuda().live().reserved < 4 * mib);
}

TEST_CASE("free memory is kept up to the release threshold", "[cuda]") {
  CudaHost host;
  const Options options = {option("memory_pool_release_threshold", std::int64_t{64 * mib})};
  const auto method = host.load({.model = "scratch", .is_dynamic = true}, options);
  REQUIRE(method.ok());
  REQUIRE(run(**method, 1, 16).ok());
  REQUIRE(run(**method, 1, 2).ok());
  CHECK(cuda().live().reserved >= 16 * mib);
  CHECK(count_calls("cuMemPoolSetAttribute") == 1);
  const auto negative = host.load({}, {option("memory_pool_release_threshold", std::int64_t{-1})});
  CHECK(negative.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(negative.text()), ContainsSubstring("expected bytes, found -1"));
}

TEST_CASE("an allocation that fails is repeated after free blocks were given back", "[cuda]") {
  const bool has_pools = GENERATE(true, false);
  CudaFixture fixture(machine_with(20 * mib, has_pools));
  aoti::ModelTensor* const first = try_tensor(fixture, 10);
  REQUIRE(first != nullptr);
  fixture.pool->release(first);
  aoti::ModelTensor* const second = try_tensor(fixture, 15);
  INFO(fixture.pool->failure());
  REQUIRE(second != nullptr);
  CHECK(try_tensor(fixture, 10) == nullptr);
  CHECK_THAT(fixture.pool->take_failure(),
             ContainsSubstring(has_pools ? "cuMemAllocFromPoolAsync: CUDA_ERROR_OUT_OF_MEMORY (2)"
                                         : "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)"));
  fixture.pool->release(second);
}

TEST_CASE("blocks that a recorded run uses are not given back", "[cuda]") {
  const bool has_pools = GENERATE(true, false);
  CudaFixture fixture(machine_with(20 * mib, has_pools));
  run_with(fixture, 10);
  fixture.pool->hold_blocks(true);
  CHECK(try_tensor(fixture, 15) == nullptr);
  static_cast<void>(fixture.pool->take_failure());
  run_with(fixture, 4);
  CHECK(cuda().live().blocks == 2);
  fixture.pool->hold_blocks(false);
}

TEST_CASE("memory that the driver's pool keeps is given back for weights", "[cuda]") {
  CudaFixture fixture(machine_with(20 * mib));
  const auto& memory = fixture.pool->memory();
  auto& device = *cuda_aoti::model_context(memory).device;
  REQUIRE(device.raise_release_threshold(20 * mib).ok());
  run_with(fixture, 15);
  fixture.pool->trim();
  REQUIRE(fixture.pool->synchronize().ok());
  CHECK(cuda().live().blocks == 0);
  CHECK(cuda().live().reserved >= 15 * mib);
  const auto block = aoti::DeviceBlock::allocate(memory, 10 * mib);
  INFO(block.text());
  CHECK(block.ok());
}

TEST_CASE("a block belongs to the stream that it was freed on", "[cuda]") {
  CudaFixture fixture;
  auto other = cuda_aoti::Stream::create(cuda_aoti::model_context(fixture.pool->memory()).device,
                                         cuda_aoti::Stream::Kind::for_graphs);
  REQUIRE(other.ok());
  aoti::ModelTensor* const tensor = fixture.tensor({1000});
  REQUIRE(fixture.pool->synchronize().ok());
  void* const own = fixture.pool->stream();
  fixture.pool->set_stream((*other)->get());
  // Work of that stream that uses the block, and must come before its end.
  fixture.write(*tensor, std::vector<float>(1000, 1));
  fixture.pool->release(tensor);
  fixture.pool->trim();
  for (long i = 0; i < cuda().num_calls(); ++i) {
    const stand_in_cuda::Call call = cuda().call(i);
    if (std::string_view(call.name) == "cuMemAllocFromPoolAsync") CHECK(call.stream == own);
    if (std::string_view(call.name) == "cuMemFreeAsync") CHECK(call.stream == (*other)->get());
  }
  CHECK(count_calls("cuMemFreeAsync") == 1);
  REQUIRE(fixture.pool->synchronize().ok());
  CHECK(cuda().live().blocks == 0);
  fixture.pool->set_stream(own);
}

TEST_CASE("running out of device memory is reported as such", "[cuda]") {
  const bool has_pools = GENERATE(true, false);
  CudaHost host(machine_with(4 * mib, has_pools));
  const auto method = host.load({.model = "scratch", .is_dynamic = true});
  REQUIRE(method.ok());
  const auto out = run(**method, 1, 16);
  CHECK(out.error() == Error::MemoryAllocationFailed);
  CHECK_THAT(std::string(out.text()),
             ContainsSubstring("CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"));
  CHECK(run(**method, 1, 2).ok());  // The delegate is usable.
}
