// SPDX-License-Identifier: MIT
//
// Weights on their way to the device: through pinned memory, without a wait for each, and compared
// with others only where they may be shared.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuda_fixture.hpp"
#include "exported.hpp"
#include "tenon/aoti/weights/device_weights.hpp"

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
  const auto method = host.load_ok({.generation = generation});
  CHECK(count_calls("cuStreamSynchronize") == 1);
  CHECK(count_calls("cuMemcpyDtoHAsync") == 0);
  CHECK(count_calls("cuMemcpyHtoDAsync") == 2);
  CHECK(cuda().live().host_blocks == 0);
  check_that_copies_are_pinned();
  CHECK(run(*method, 1)->weight == 3.0f);
}

TEST_CASE("the constants of a model are one block", "[cuda]") {
  CudaHost host;
  const auto method = host.load_fixture_ok("cuda_mlp");
  const ExportedProgram exported(TENON_TEST_FIXTURES "/cuda_mlp");
  const auto num_weights = static_cast<long>(exported.weights("forward").size());
  CHECK(num_weights > 2);
  const long num_planned = exported.planned_on_device(0) != 0 ? 1 : 0;
  CHECK(count_calls("cuMemAlloc") <= 1 + num_planned);
  CHECK(count_calls("cuMemcpyHtoDAsync") == num_weights + num_planned);
  const auto session = method->create_session();
  REQUIRE(session.ok());
  CHECK(count_calls("cuMemcpyHtoDAsync") == num_weights + num_planned);
}

TEST_CASE("weights of a program that is loaded again are found and not read back", "[cuda][D8]") {
  CudaHost host;
  const Options options = {option("weight_sharing_across_methods", true)};
  auto bytes = std::make_shared<const AlignedBytes>(build_program({}));
  const auto program = host::Program::from_bytes(bytes->bytes(), bytes, "copies");
  REQUIRE(program.ok());
  auto first = host.load(*program, "forward", {}, options);
  REQUIRE(first.ok());
  const long blocks = cuda().live().blocks;
  const long before = cuda().num_calls();
  auto second = host.load(*program, "forward", {}, options);
  REQUIRE(second.ok());
  long read_back = 0, uploaded = 0;
  for (long i = before; i < cuda().num_calls(); ++i) {
    const std::string_view name = cuda().call(i).name;
    read_back += name == "cuMemcpyDtoHAsync" ? static_cast<long>(cuda().call(i).nbytes) : 0;
    uploaded += name == "cuMemcpyHtoDAsync" ? static_cast<long>(cuda().call(i).nbytes) : 0;
  }
  CHECK(read_back == 0);
  CHECK(uploaded == 64);  // The state.
  CHECK(cuda().live().blocks == blocks + 1);
  // Also once the first one is gone.
  first->reset();
  const auto third = host.load(*program, "forward", {}, options);
  REQUIRE(third.ok());
  CHECK(count_calls("cuMemcpyDtoHAsync") == 0);
  CHECK(run(**second, 1)->weight == 3.0f);
  CHECK(run(**third, 1)->weight == 3.0f);
}

TEST_CASE("a large weight is compared while it is read back, without a wait of the stream",
          "[cuda][D8]") {
  CudaFixture fixture;
  const auto& memory = fixture.pool->memory();
  constexpr std::size_t nbytes = std::size_t{21} << 20;
  const auto alive = std::make_shared<const char>();
  aoti::DeviceWeightStore store;
  const auto content = numbered(nbytes, 1);
  const auto first = store.upload(memory, content, alive);
  REQUIRE(first.ok());
  REQUIRE(fixture.pool->synchronize().ok());
  const auto read_by = [&](std::span<const std::byte> bytes, bool is_same) {
    const long before = cuda().num_calls();
    const auto found = store.upload(memory, bytes, alive);
    INFO(found.text());
    REQUIRE(found.ok());
    CHECK((*found == *first) == is_same);
    std::uint64_t read_back = 0;
    for (long i = before; i < cuda().num_calls(); ++i) {
      const stand_in_cuda::Call call = cuda().call(i);
      if (std::string_view(call.name) == "cuMemcpyDtoHAsync") read_back += call.nbytes;
    }
    return read_back;
  };
  CHECK(read_by(content, true) == 0);
  const auto same = numbered(nbytes, 1);
  const long waits = count_calls("cuStreamSynchronize");
  CHECK(read_by(same, true) == nbytes);
  // One, once, for the upload of the first.
  CHECK(count_calls("cuStreamSynchronize") <= waits + 1);
  CHECK(count_calls("cuEventSynchronize") >= 6);
  CHECK(read_by(same, true) == 0);
  // Other bytes have another hash.
  auto other = same;
  other[nbytes - 5000] ^= std::byte{1};
  CHECK(read_by(other, false) == 0);
  other = same;
  CHECK(read_by(other, true) == nbytes);
  other[6000] ^= std::byte{1};  // While they are in use.
  CHECK(read_by(other, false) == 0);
  REQUIRE(fixture.pool->synchronize().ok());
  REQUIRE(memory.end_uploads(memory.context.get()).ok());
}

TEST_CASE("a failure while a weight is read back is the error", "[cuda][D8]") {
  CudaFixture fixture;
  const auto& memory = fixture.pool->memory();
  const auto alive = std::make_shared<const char>();
  const auto content = numbered(std::size_t{9} << 20, 1);
  const auto same = content;
  aoti::DeviceWeightStore store;
  const auto first = store.upload(memory, content, alive);
  REQUIRE(first.ok());
  REQUIRE(fixture.pool->synchronize().ok());
  long num_failed = 0;
  for (long n = 0;; ++n) {
    cuda().fail_at(n, 999);
    const auto found = store.upload(memory, same, alive);
    const char* const failed = cuda().failed_call();
    cuda().fail_at(-1, 0);
    if (!failed) {
      CHECK((found.ok() && *found == *first));
      break;
    }
    INFO(failed);
    if (found.ok()) {
      // The calls that change nothing, after which it is found without being read.
      CHECK_THAT(std::string(failed), ContainsSubstring("cuCtxPopCurrent") ||
                                          ContainsSubstring("cuThreadExchangeStreamCaptureMode"));
      break;
    }
    CHECK_THAT(std::string(found.text()), ContainsSubstring(failed));
    ++num_failed;
  }
  CHECK(num_failed > 0);
  REQUIRE(fixture.pool->synchronize().ok());
  REQUIRE(memory.end_uploads(memory.context.get()).ok());
}

TEST_CASE("weights that are shared use the same pinned memory, and are read back to be compared",
          "[cuda][D8]") {
  CudaHost host;
  const Options options = {option("weight_sharing_across_methods", true)};
  const auto first = host.load_ok({}, options);
  CHECK(count_calls("cuMemHostAlloc") == 2);
  CHECK(count_calls("cuMemcpyDtoHAsync") == 0);
  const auto second = host.load_ok({}, options);
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
