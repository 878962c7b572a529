// SPDX-License-Identifier: MIT
//
// Device memory of tensors: how much is held when sizes change, and what happens when it runs out.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "cuda_fixture.hpp"
#include "tenon/host/layers/external_memory/external_memory.hpp"

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

/// What another interface of the GPU exported: for the stand-in, a file in memory.
class Exported {
 public:
  Exported() : descriptor(::memfd_create("exported", MFD_CLOEXEC)) {
    REQUIRE(::ftruncate(descriptor, nbytes) == 0);
    void* const mapped = ::mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    REQUIRE(mapped != MAP_FAILED);
    bytes = static_cast<std::byte*>(mapped);
  }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
  ~Exported() {
    ::munmap(bytes, nbytes);
    CHECK(::close(descriptor) == 0);
  }

  [[nodiscard]] ExternalMemory range(std::uint64_t offset) const {
    ExternalMemory out;
    out.kind = MemoryKind::OpaqueFd;
    out.descriptor = descriptor;
    out.object_size = nbytes;
    out.offset = offset;
    out.nbytes = 64;
    out.is_written = true;
    out.device = AppBlock::device;
    return out;
  }

  static constexpr std::size_t nbytes = 8192;
  int descriptor;
  std::byte* bytes;
};

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
  const auto method = host.load_ok({.model = "scratch", .is_dynamic = true});
  REQUIRE(run(*method, 1, 16).ok());
  CHECK(cuda().live().reserved >= 16 * mib);
  REQUIRE(run(*method, 1, 2).ok());
  REQUIRE(run(*method, 1, 2).ok());  // What was freed in the run's order is free after it.
  CHECK(cuda().live().reserved < 4 * mib);
}

TEST_CASE("free memory is kept up to the release threshold", "[cuda]") {
  CudaHost host;
  const Options options = {option("memory_pool_release_threshold", std::int64_t{64 * mib})};
  const auto method = host.load_ok({.model = "scratch", .is_dynamic = true}, options);
  REQUIRE(run(*method, 1, 16).ok());
  REQUIRE(run(*method, 1, 2).ok());
  CHECK(cuda().live().reserved >= 16 * mib);
  CHECK(count_calls("cuMemPoolSetAttribute") == 1);
  const auto negative = host.load({}, {option("memory_pool_release_threshold", std::int64_t{-1})});
  CHECK(negative.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(negative.text()), ContainsSubstring("expected 0 or more, found -1"));
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
  const auto method = host.load_ok({.model = "scratch", .is_dynamic = true});
  const auto out = run(*method, 1, 16);
  CHECK(out.error() == Error::MemoryAllocationFailed);
  CHECK_THAT(std::string(out.text()),
             ContainsSubstring("CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"));
  CHECK(run(*method, 1, 2).ok());  // The delegate is usable.
}

TEST_CASE("memory that another interface exported is an input and an output of a method",
          "[cuda][TN-EXM-3][TN-EXM-4]") {
  CudaHost host;
  const Exported exported;
  const std::int64_t size = 16;
  const auto in = host::ImportedMemory::import(host.backend(), exported.range(256));
  const auto out = host::ImportedMemory::import(host.backend(), exported.range(4096));
  INFO(in.text() << out.text() << misuses());
  REQUIRE((in.ok() && out.ok()));
  const AppBlock weight(host.backend(), 0);
  const auto method = host.load_ok({.input_on_device = true, .outputs_on_device = true});
  REQUIRE(method->set_input(0, {ScalarType::Float, {&size, 1}, in->bytes(), in->device()}).ok());
  REQUIRE(method->set_output(0, weight.bytes(), AppBlock::device).ok());
  REQUIRE(method->set_output(1, out->bytes(), out->device()).ok());
  const auto state = [&] {
    REQUIRE(method->execute().ok());
    static_cast<void>(weight.first());  // Waits for the device.
    return read_le<float>(std::span(exported.bytes, Exported::nbytes).subspan(4096, 4));
  };
  const auto write = [&](float value) {
    std::memcpy(exported.bytes + 256, filled(value, 64).data(), 64);
  };
  write(7);
  CHECK(state() == 10.0f);  // Of before the first run.
  write(8);
  CHECK(state() == 7.0f);
  CHECK(state() == 8.0f);
}

TEST_CASE("memory that cannot be imported into a device is refused, and nothing is left",
          "[cuda][TN-EXM-1][TN-EXM-2][TN-EXM-3]") {
  CudaHost host;
  const Exported exported;
  const auto refusal = [&](ExternalMemory memory, Error code) {
    const auto imported = host::ImportedMemory::import(host.backend(), memory);
    INFO(imported.text());
    CHECK(imported.error() == code);
    return std::string(imported.text());
  };
  ExternalMemory memory = exported.range(0);
  memory.object_size = 0;
  CHECK_THAT(refusal(memory, Error::InvalidArgument),
             ContainsSubstring("expected the size of the object, found 0"));
  memory.object_size = 2 * Exported::nbytes;
  CHECK_THAT(refusal(memory, Error::InvalidArgument),
             ContainsSubstring("cuImportExternalMemory: CUDA_ERROR_INVALID_VALUE"));
  memory = exported.range(Exported::nbytes - 63);
  CHECK_THAT(refusal(memory, Error::InvalidArgument),
             ContainsSubstring("64 bytes from 8129 of 8192"));
  memory = exported.range(0);
  memory.is_written = false;
  CHECK_THAT(refusal(memory, Error::NotSupported),
             ContainsSubstring("no mapping that can only be read"));
  memory = exported.range(0);
  memory.descriptor = 1'000'000;
  CHECK_THAT(refusal(memory, Error::InvalidArgument), ContainsSubstring("Bad file descriptor"));
  memory = exported.range(0);
  memory.device = {TENON_DL_CPU, 0};
  CHECK_THAT(refusal(memory, Error::InvalidArgument),
             ContainsSubstring("expected memory for a device of CUDA"));
  memory.kind = MemoryKind::DmaBuf;
  CHECK_THAT(refusal(memory, Error::NotSupported), ContainsSubstring("'dma_buf'"));

  for (const char* const name : {"cuImportExternalMemory", "cuExternalMemoryGetMappedBuffer"}) {
    cuda().reset();
    REQUIRE(host::ImportedMemory::import(host.backend(), exported.range(0)).ok());
    long index = 0;
    while (std::string_view(cuda().call(index).name) != name) ++index;
    cuda().reset();
    cuda().fail_at(index, 2);
    CHECK_THAT(refusal(exported.range(0), Error::MemoryAllocationFailed), ContainsSubstring(name));
  }
}
