// SPDX-License-Identifier: MIT
//
// The shims themselves, without a model, on the stand-in for the driver.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cuda_fixture.hpp"
#include "driver/device.hpp"
#include "kernels/kernels.hpp"
#include "shims/cuda_shims.hpp"
#include "shims/kernel_shims.hpp"
#include "shims/shim_list.hpp"
#include "tenon/aoti/shims/device_shims.hpp"
#include "tenon/host/loader/plugin/peek.hpp"

using namespace tenon;
using namespace tenon::test;
using tenon::aoti::CopyKind;
using tenon::aoti::shim_failed;
using tenon::aoti::shim_ok;
using DeviceTensor = tenon::aoti::ModelTensor;
using Fixture = CudaFixture;
namespace cuda_aoti = tenon::cuda_aoti;

namespace {

// Functions that ExecuTorch's CUDA backend exports, after "aoti_torch_".
constexpr std::string_view upstream[] = {
    "get_data_ptr", "get_sizes", "get_strides", "get_dtype", "get_dim", "get_numel",
    "layout_strided", "get_storage_offset", "get_storage_size", "get_device_type",
    "get_device_index", "dtype_float32", "dtype_bfloat16", "dtype_float16", "dtype_int64",
    "dtype_int32", "dtype_int16", "dtype_int8", "dtype_uint8", "dtype_bool", "device_type_cpu",
    "device_type_cuda", "grad_mode_is_enabled", "grad_mode_set_enabled", "check",
    "create_tensor_from_blob_v2", "create_tensor_from_blob", "empty_strided",
    "delete_tensor_object", "new_tensor_handle", "clone_preserve_strides", "clone",
    "_reinterpret_tensor", "copy_", "item_bool", "assign_tensors_out", "warn", "create_cuda_guard",
    "delete_cuda_guard", "cuda_guard_set_index", "create_cuda_stream_guard",
    "delete_cuda_stream_guard", "get_current_cuda_stream",
    // Also needed by artifacts of torch 2.15.
    "empty_strided_pinned", "is_defined"};

// Functions of CUDA itself that models call (docs/measurements/aoti-shims.md) and this plugin has.
constexpr std::string_view of_cuda[] = {"cuFuncSetAttribute",
                                        "cuLaunchKernel",
                                        "cuLaunchKernelEx",
                                        "cuModuleGetFunction",
                                        "cuModuleLoadData",
                                        "cuModuleUnload",
                                        "cudaEventCreate",
                                        "cudaEventCreateWithFlags",
                                        "cudaEventDestroy",
                                        "cudaEventQuery",
                                        "cudaEventRecord",
                                        "cudaEventSynchronize",
                                        "cudaDeviceSynchronize",
                                        "cudaFreeHost",
                                        "cudaHostAlloc",
                                        "cudaMemset",
                                        "cudaMemsetAsync",
                                        "cudaPeekAtLastError",
                                        "cudaStreamDestroy",
                                        "cudaStreamIsCapturing",
                                        "cudaStreamWaitEvent",
                                        "cudaFree",
                                        "cudaGetDevice",
                                        "cudaGetErrorString",
                                        "cudaGetLastError",
                                        "cudaMalloc",
                                        "cudaMemcpy",
                                        "cudaMemcpyAsync",
                                        "cudaPointerGetAttributes",
                                        "cudaSetDevice",
                                        "cudaStreamCreateWithFlags",
                                        "cudaStreamSynchronize"};

std::vector<float> counted(std::size_t count) {
  std::vector<float> out(count);
  std::iota(out.begin(), out.end(), 1.0f);
  return out;
}

}  // namespace

TEST_CASE("the plugin has every function that ExecuTorch's CUDA backend exports", "[cuda][S3.10]") {
  for (const std::string_view name : upstream) {
    INFO(name);
    CHECK(cuda_aoti::shim_table().find("aoti_torch_" + std::string(name)) != nullptr);
  }
  for (const std::string_view name : of_cuda) {
    INFO(name);
    CHECK(cuda_aoti::shim_table().find(name) != nullptr);
  }
#define NAME(name, parameters) #name,
  for (const std::string_view name : {TENON_CUDA_KERNEL_SHIMS(NAME)}) {
    INFO(name);
    // Without kernels, all of these functions are missing and refused by name.
    CHECK((cuda_aoti::shim_table().find(name) != nullptr) == !cuda_aoti::kernels::fatbin().empty());
  }
#undef NAME
  CHECK(std::size(upstream) - 2 + 8 == 51);
}

TEST_CASE("elements are copied between layouts on the device", "[cuda]") {
  // By the driver: the stand-in computes no kernels, and this device runs none of the plugin's.
  Fixture fixture({.capability = 75});
  namespace shims = tenon::aoti::shims::on_device;
  const auto layouts = std::vector<std::vector<std::int64_t>>{
      {12, 4, 1}, {1, 2, 6}, {20, 5, 1}, {4, 8, 1}, {24, 8, 2}};
  const std::vector<std::int64_t> sizes = {2, 3, 4};
  for (const auto& from_strides : layouts) {
    for (const auto& to_strides : layouts) {
      DeviceTensor* const from = fixture.tensor(sizes, ScalarType::Float, from_strides.data());
      DeviceTensor* const to = fixture.tensor(sizes, ScalarType::Float, to_strides.data());
      const auto numbers = counted(from->storage->nbytes / sizeof(float));
      fixture.write(*from, numbers);
      REQUIRE(shims::aoti_torch_copy_(to, from, 1) == shim_ok);
      const auto result = fixture.read(*to, to->storage->nbytes / sizeof(float));
      for (std::int64_t i = 0; i < 24; ++i) {
        const std::int64_t index[] = {i / 12, i / 4 % 3, i % 4};
        const auto at = [&](const std::vector<std::int64_t>& strides) {
          return static_cast<std::size_t>(index[0] * strides[0] + index[1] * strides[1] +
                                          index[2] * strides[2]);
        };
        CHECK(result[at(to_strides)] == numbers[at(from_strides)]);
      }
      fixture.pool->release(from);
      fixture.pool->release(to);
    }
  }
}

TEST_CASE("a copy between layouts is one launch", "[cuda]") {
  struct Layouts {
    std::vector<std::int64_t> sizes, from, to;
    long calls;  ///< Of cuMemcpy2D without kernels; 0 for a copy of adjacent bytes.
  };
  const auto each = GENERATE(
      // A matrix and its transpose.
      Layouts{{500, 3}, {1, 500}, {3, 1}, 3}, Layouts{{3, 500}, {1, 3}, {500, 1}, 3},
      Layouts{{500, 500}, {1, 500}, {500, 1}, 500},
      // Heads before positions, and after them.
      Layouts{{2, 300, 4, 8}, {9600, 8, 2400, 1}, {9600, 32, 8, 1}, 8},
      // Rows of a larger matrix.
      Layouts{{300, 8}, {16, 1}, {8, 1}, 1},
      // Adjacent bytes.
      Layouts{{300, 8}, {8, 1}, {8, 1}, 0});
  Fixture fixture;
  DeviceTensor* const from = fixture.tensor(each.sizes, ScalarType::Float, each.from.data());
  DeviceTensor* const to = fixture.tensor(each.sizes, ScalarType::Float, each.to.data());
  const auto numbers = counted(from->storage->nbytes / sizeof(float));
  fixture.write(*from, numbers);
  const bool is_launched = each.calls != 0 && !cuda_aoti::kernels::fatbin().empty();
  const auto copy = [&] {
    const long before = cuda().num_calls();
    REQUIRE(tenon::aoti::shims::on_device::aoti_torch_copy_(to, from, 1) == shim_ok);
    std::array<long, 2> out{};  // Copies by the driver, and launches.
    for (long i = before; i < cuda().num_calls(); ++i) {
      const std::string_view name = cuda().call(i).name;
      out[0] += name.starts_with("cuMemcpy");
      out[1] += name == "cuLaunchKernel";
    }
    return out;
  };
  CHECK(copy() == (is_launched ? std::array{0l, 1l} : std::array{std::max(each.calls, 1l), 0l}));
  const auto release = [&] {
    fixture.pool->release(from);
    fixture.pool->release(to);
  };
  // The stand-in computes no kernels.
  if (is_launched) return release();
  const auto result = fixture.read(*to, to->storage->nbytes / sizeof(float));
  std::vector<std::int64_t> index(each.sizes.size());
  for (bool is_left = true; is_left;) {
    std::int64_t at_from = 0, at_to = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      at_from += index[d] * each.from[d];
      at_to += index[d] * each.to[d];
    }
    if (result[static_cast<std::size_t>(at_to)] != numbers[static_cast<std::size_t>(at_from)]) {
      FAIL("element " << at_to);
    }
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == each.sizes[d - 1]) index[--d] = 0;
    is_left = d > 0;
  }
  release();
}

TEST_CASE("a copy between layouts on a device that does not run the kernels is the driver's",
          "[cuda]") {
  Fixture fixture({.capability = 75});
  const std::int64_t transposed[] = {1, 8}, rows[] = {8, 1};
  DeviceTensor* const from = fixture.tensor({8, 8}, ScalarType::Float, transposed);
  DeviceTensor* const to = fixture.tensor({8, 8}, ScalarType::Float, rows);
  fixture.write(*from, counted(64));
  REQUIRE(tenon::aoti::shims::on_device::aoti_torch_copy_(to, from, 1) == shim_ok);
  CHECK(count_calls("cuLaunchKernel") == 0);
  CHECK(count_calls("cuMemcpy2DAsync") == 8);
  const auto result = fixture.read(*to, 64);
  CHECK(result[1] == 9);
  CHECK(result[8] == 2);
  fixture.pool->release(from);
  fixture.pool->release(to);
}

TEST_CASE("a copy that would write elements more than once is refused", "[cuda]") {
  Fixture fixture;
  const std::vector<std::int64_t> sizes = {2, 8};
  const std::int64_t repeated[] = {0, 1};
  DeviceTensor* const row = fixture.tensor({8});
  DeviceTensor* const to = fixture.pool->view(*row, sizes, repeated, 0);
  REQUIRE(to != nullptr);
  DeviceTensor* const from = fixture.tensor(sizes);
  CHECK(tenon::aoti::shims::on_device::aoti_torch_copy_(to, from, 1) == shim_failed);
  CHECK_THAT(fixture.pool->take_failure(), ContainsSubstring("writes an element more than once"));
  for (DeviceTensor* const each : {from, to, row}) fixture.pool->release(each);
}

TEST_CASE("a copy broadcasts on the device", "[cuda]") {
  Fixture fixture({.capability = 75});  // By the driver, as above.
  DeviceTensor* const row = fixture.tensor({1, 3});
  DeviceTensor* const all = fixture.tensor({4, 3});
  fixture.write(*row, {1, 2, 3});
  REQUIRE(tenon::aoti::shims::on_device::aoti_torch_copy_(all, row, 1) == shim_ok);
  CHECK(fixture.read(*all, 12) == std::vector<float>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
  CHECK(tenon::aoti::shims::on_device::aoti_torch_copy_(row, all, 1) == shim_failed);
  CHECK_THAT(fixture.pool->take_failure(), ContainsSubstring("expected sizes that broadcast"));
  fixture.pool->release(row);
  fixture.pool->release(all);
}

TEST_CASE("copies to and from the host are complete when they return", "[cuda]") {
  Fixture fixture;
  namespace shims = tenon::aoti::shims::on_device;
  const std::int64_t sizes[] = {2, 3};
  const std::int64_t transposed[] = {1, 2};
  DeviceTensor* host = nullptr;
  REQUIRE(shims::aoti_torch_empty_strided_pinned(2, sizes, transposed, 6, 0, 0, &host) == shim_ok);
  CHECK(cuda().live().host_blocks == 1);
  DeviceTensor* const far = fixture.tensor({2, 3});
  for (int i = 0; i < 6; ++i) host->as<float>()[i] = static_cast<float>(i);
  REQUIRE(shims::aoti_torch_copy_(far, host, 1) == shim_ok);
  for (int i = 0; i < 6; ++i) host->as<float>()[i] = -1;
  CHECK(fixture.read(*far, 6) == std::vector<float>{0, 2, 4, 1, 3, 5});
  REQUIRE(shims::aoti_torch_copy_(host, far, 1) == shim_ok);
  for (int i = 0; i < 6; ++i) CHECK(host->as<float>()[i] == static_cast<float>(i));
  fixture.pool->release(host);
  fixture.pool->release(far);
}

TEST_CASE("zeroes reach the elements of a view and no others", "[cuda]") {
  Fixture fixture;
  namespace shims = tenon::aoti::shims::on_device;
  DeviceTensor* const whole = fixture.tensor({4, 4});
  fixture.write(*whole, counted(16));
  const std::int64_t sizes[] = {2, 2};
  const std::int64_t strides[] = {4, 1};
  DeviceTensor* const corner = fixture.pool->view(*whole, sizes, strides, 5);
  REQUIRE(corner);
  REQUIRE(shims::aoti_torch_zero_(corner) == shim_ok);
  CHECK(fixture.read(*whole, 16) ==
        std::vector<float>{1, 2, 3, 4, 5, 0, 0, 8, 9, 0, 0, 12, 13, 14, 15, 16});
  bool answer = true;
  CHECK(shims::aoti_torch_item_bool(whole, &answer) == shim_failed);
  static_cast<void>(fixture.pool->take_failure());
  fixture.pool->release(corner);
  fixture.pool->release(whole);
}

TEST_CASE("guards set the stream and give it back", "[cuda]") {
  Fixture fixture;
  void* const own = fixture.pool->stream();
  int other = 0;
  cuda_aoti::CudaGuard* outer = nullptr;
  cuda_aoti::CudaGuard* inner = nullptr;
  void* current = nullptr;
  REQUIRE(cuda_aoti::aoti_torch_create_cuda_guard(0, &outer) == shim_ok);
  REQUIRE(cuda_aoti::aoti_torch_create_cuda_stream_guard(&other, -1, &inner) == shim_ok);
  CHECK(cuda_aoti::aoti_torch_get_current_cuda_stream(0, &current) == shim_ok);
  CHECK(current == &other);
  CHECK(cuda_aoti::aoti_torch_delete_cuda_stream_guard(inner) == shim_ok);
  CHECK(cuda_aoti::aoti_torch_get_current_cuda_stream(0, &current) == shim_ok);
  CHECK(current == own);
  CHECK(cuda_aoti::aoti_torch_delete_cuda_guard(outer) == shim_ok);
  CHECK(cuda_aoti::aoti_torch_delete_cuda_guard(outer) == shim_failed);
  CHECK_THAT(fixture.pool->take_failure(), ContainsSubstring("a guard that was made"));
  CHECK(cuda_aoti::aoti_torch_create_cuda_stream_guard(nullptr, 0, &inner) == shim_failed);
  static_cast<void>(fixture.pool->take_failure());
  CHECK(cuda_aoti::aoti_torch_create_cuda_guard(1, &outer) == shim_failed);
  CHECK_THAT(fixture.pool->take_failure(),
             ContainsSubstring("the model works on CUDA device 0, found device 1"));
}

TEST_CASE("raw blocks are allocated and freed", "[cuda]") {
  Fixture fixture;
  void* block = nullptr;
  REQUIRE(cuda_aoti::aoti_torch_cuda_caching_allocator_raw_alloc(100, &block) == shim_ok);
  CHECK(cuda().live().nbytes == 100);
  CHECK(cuda_aoti::aoti_torch_cuda_caching_allocator_raw_delete(block) == shim_ok);
  CHECK(cuda().live().blocks == 0);
}

namespace {

/// The seed of the random numbers of a model that draws one, with the option as it is given.
std::uint64_t seed_with(std::optional<std::uint64_t> seed) {
  const auto device = cuda_aoti::CudaDevice::open(0);
  REQUIRE(device.ok());
  auto stream = cuda_aoti::Stream::create(*device, cuda_aoti::Stream::Kind::ordinary);
  REQUIRE(stream.ok());
  aoti::TensorPool pool(cuda_aoti::device_memory(*device, *stream, nullptr, nullptr, seed));
  const aoti::DeviceScope scope(pool.memory());
  const aoti::CurrentPool current(pool);
  const std::int64_t sizes[] = {8};
  DeviceTensor* random = nullptr;
  REQUIRE(cuda_aoti::aoti_torch_cuda_rand(sizes, 1, nullptr, nullptr, nullptr, 0, nullptr,
                                          &random) == shim_ok);
  pool.release(random);
  std::optional<std::uint64_t> out;
  for (long i = 0; i < cuda().live().blocks; ++i) {
    const stand_in_cuda::Block block = cuda().block(i);
    if (block.nbytes != sizeof(cuda_aoti::kernels::RandomState)) continue;
    CHECK(!out);
    REQUIRE(cuda().peek(block.address, &out.emplace(), sizeof *out));
  }
  REQUIRE(pool.synchronize().ok());
  REQUIRE(out.has_value());
  return *out;
}

}  // namespace

TEST_CASE("random numbers have the seed of the option, or another one each time", "[cuda]") {
  if (cuda_aoti::kernels::fatbin().empty()) {
    WARN("built without nvcc, so there are no kernels");
    return;
  }
  cuda().set_machine({.num_devices = 2});
  cuda().reset();
  CHECK(seed_with(0) == 0);
  CHECK(seed_with(7) == 7);
  CHECK(seed_with(7) == 7);
  CHECK(seed_with({}) != seed_with({}));
  CHECK(CudaHost::is_clean());
  CHECK(misuses().empty());
}

TEST_CASE("an option that is no seed is refused", "[cuda]") {
  CudaHost host;
  const auto refused = host.load({}, {option("seed", std::int64_t{-2})});
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(refused.text()),
             ContainsSubstring("option 'seed'") && ContainsSubstring("found -2"));
  CHECK(host.load({}, {option("seed", std::int64_t{5})}).ok());
}

TEST_CASE("functions with kernels check their tensors, load the kernels once and launch",
          "[cuda]") {
  if (cuda_aoti::kernels::fatbin().empty()) {
    WARN("built without nvcc, so there are no kernels to launch");
    return;
  }
  Fixture fixture;
  DeviceTensor* const self = fixture.tensor({4, 100});
  DeviceTensor* values = nullptr;
  DeviceTensor* indices = nullptr;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(cuda_aoti::aoti_torch_cuda_sort_stable(self, nullptr, -1, 0, &values, &indices) ==
            shim_ok);
    CHECK(values->scalar_type == ScalarType::Float);
    CHECK(indices->scalar_type == ScalarType::Long);
    CHECK(std::ranges::equal(indices->shape(), self->shape()));
    fixture.pool->release(values);
    fixture.pool->release(indices);
  }
  // The strides that PyTorch's compiler plans for a transposed tensor, and for one with gaps.
  for (const std::int64_t row : {4, 6}) {
    const std::int64_t strides[] = {1, row};
    DeviceTensor* const rows = fixture.tensor({4, 100}, ScalarType::Float, strides);
    REQUIRE(cuda_aoti::aoti_torch_cuda_sort_stable(rows, nullptr, 0, 0, &values, &indices) ==
            shim_ok);
    for (DeviceTensor* each : {values, indices}) {
      CHECK((each->strides[0] == 1 && each->strides[1] == 4));
    }
    for (DeviceTensor* each : {rows, values, indices}) fixture.pool->release(each);
  }
  CHECK(count_calls("cuModuleLoadData") == 1);
  CHECK(count_calls("cuLaunchKernel") >= 2);
  CHECK(cuda_aoti::aoti_torch_cuda_sort_stable(self, nullptr, 7, 0, &values, &indices) ==
        shim_failed);
  CHECK_THAT(fixture.pool->take_failure(), ContainsSubstring("aoti_torch_cuda_sort_stable"));
  const std::int64_t sizes[] = {8};
  DeviceTensor* random = nullptr;
  REQUIRE(cuda_aoti::aoti_torch_cuda_rand(sizes, 1, nullptr, nullptr, nullptr, 0, nullptr,
                                          &random) == shim_ok);
  CHECK(cuda_aoti::aoti_torch_cuda_randint_low_out(random, 0, 5, sizes, 1) == shim_failed);
  static_cast<void>(fixture.pool->take_failure());
  DeviceTensor* const whole = fixture.tensor({8}, ScalarType::Long);
  CHECK(cuda_aoti::aoti_torch_cuda_randint_low_out(whole, 0, 5, sizes, 1) == shim_ok);
  DeviceTensor* product = nullptr;
  CHECK(cuda_aoti::aoti_torch_cuda_int8_plain_mm(self, self, self, self, 32, &product) ==
        shim_failed);
  CHECK_THAT(fixture.pool->take_failure(), ContainsSubstring("int8_plain_mm"));
  for (DeviceTensor* tensor : {self, random, whole}) fixture.pool->release(tensor);
}

TEST_CASE("a model that only copies between layouts loads the small module", "[cuda]") {
  if (cuda_aoti::kernels::fatbin().empty()) {
    WARN("built without nvcc, so there are no kernels to launch");
    return;
  }
  Fixture fixture;
  const std::int64_t transposed[] = {1, 4};
  DeviceTensor* const from = fixture.tensor({4, 100});
  DeviceTensor* const to = fixture.tensor({4, 100}, ScalarType::Float, transposed);
  DeviceTensor* const same = fixture.tensor({4, 100});
  const auto copy = [&](const DeviceTensor& target) {
    return fixture.pool->copy_strided(
        {target.data, target.step(), from->data, from->step(), from->shape(), sizeof(float)});
  };
  REQUIRE(copy(*same).ok());
  CHECK(count_calls("cuMemcpyDtoDAsync") == 1);
  CHECK(count_calls("cuModuleLoadData") == 0);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(copy(*to).ok());
    CHECK(count_calls("cuLaunchKernel") == i + 1);
    CHECK(count_calls("cuModuleLoadData") == 1);
  }
  DeviceTensor* values = nullptr;
  DeviceTensor* indices = nullptr;
  REQUIRE(cuda_aoti::aoti_torch_cuda_sort_stable(from, nullptr, -1, 0, &values, &indices) ==
          shim_ok);
  CHECK(count_calls("cuModuleLoadData") == 2);
  for (DeviceTensor* tensor : {from, to, same, values, indices}) fixture.pool->release(tensor);
}
