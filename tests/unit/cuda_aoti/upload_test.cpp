// SPDX-License-Identifier: MIT
//
// Weights on their way to the device: through pinned memory, without a wait for each, and compared
// with others only where they may be shared.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "cuda_fixture.hpp"
#include "exported.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// Bytes that are not the same in any two places that a piece could begin at.
std::vector<std::byte> numbered(std::size_t nbytes, std::uint32_t first) {
  std::vector<std::byte> out(nbytes);
  for (std::size_t i = 0; i + sizeof first <= nbytes; i += sizeof first) {
    const auto number = static_cast<std::uint32_t>(i) + first;
    std::memcpy(out.data() + i, &number, sizeof number);
  }
  return out;
}

bool holds(const aoti::DeviceBlock& block, std::span<const std::byte> expected) {
  std::vector<std::byte> found(expected.size());
  REQUIRE(cuda().peek(reinterpret_cast<std::uintptr_t>(block.data()), found.data(), found.size()));
  return std::memcmp(found.data(), expected.data(), found.size()) == 0;
}

void check_that_copies_are_pinned() {
  for (long i = 0; i < cuda().num_calls(); ++i) {
    const stand_in_cuda::Call call = cuda().call(i);
    if (std::string_view(call.name) == "cuMemcpyHtoDAsync") CHECK(call.is_pinned);
  }
}

}  // namespace

TEST_CASE("weights go to the device through pinned memory with one wait at the end", "[cuda]") {
  CudaFixture fixture;
  const auto& memory = fixture.pool->memory();
  std::vector<std::vector<std::byte>> contents;
  std::vector<aoti::DeviceBlock> blocks;
  // Larger than both blocks of pinned memory, then small ones that share one.
  for (const std::size_t nbytes : {std::size_t{21} << 20, std::size_t{64}, std::size_t{1000},
                                   std::size_t{5} << 20, std::size_t{16}}) {
    contents.push_back(numbered(nbytes, static_cast<std::uint32_t>(nbytes)));
    auto block = aoti::DeviceBlock::enqueue_upload(memory, contents.back());
    REQUIRE(block.ok());
    blocks.push_back(*std::move(block));
    // What was given has been read.
    std::ranges::fill(contents.back(), std::byte{0xee});
  }
  CHECK(count_calls("cuStreamSynchronize") == 0);
  CHECK(cuda().live().host_blocks == 2);
  REQUIRE(fixture.pool->synchronize().ok());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::size_t nbytes = contents[i].size();
    CHECK(holds(blocks[i], numbered(nbytes, static_cast<std::uint32_t>(nbytes))));
  }
  CHECK(count_calls("cuStreamSynchronize") == 1);
  REQUIRE(memory.end_uploads(memory.context.get()).ok());
  CHECK(cuda().live().host_blocks == 0);
  CHECK(cuda().live().events == 0);
  check_that_copies_are_pinned();
}

TEST_CASE("a model's weights are uploaded with one wait, and not read back", "[cuda]") {
  const int generation = GENERATE(1, 2, 3);
  CudaHost host;
  const auto method = host.load({.generation = generation});
  REQUIRE(method.ok());
  CHECK(count_calls("cuStreamSynchronize") == 1);
  CHECK(count_calls("cuMemcpyDtoHAsync") == 0);
  CHECK(count_calls("cuMemcpyHtoDAsync") == 2);
  CHECK(cuda().live().host_blocks == 0);
  check_that_copies_are_pinned();
  CHECK(run(**method, 1)->weight == 3.0f);
}

TEST_CASE("weights that are shared use the same pinned memory, and are read back to be compared",
          "[cuda][D8]") {
  CudaHost host;
  const Options options = {option("weight_sharing_across_methods", true)};
  const auto first = host.load({}, options);
  REQUIRE(first.ok());
  CHECK(count_calls("cuMemHostAlloc") == 2);
  CHECK(count_calls("cuMemcpyDtoHAsync") == 0);
  const auto second = host.load({}, options);
  REQUIRE(second.ok());
  CHECK(count_calls("cuMemcpyDtoHAsync") == 1);
  CHECK(cuda().live().host_blocks == 0);
  check_that_copies_are_pinned();
}

TEST_CASE("a context is kept for the life of the backend", "[cuda]") {
  CudaHost host;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(host.load({}).ok());
    CHECK(cuda().live().contexts == 1);
  }
  CHECK(count_calls("cuDevicePrimaryCtxRetain") == 1);
  CHECK(count_calls("cuDevicePrimaryCtxRelease") == 0);
}
