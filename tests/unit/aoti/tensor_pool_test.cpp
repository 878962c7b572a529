// SPDX-License-Identifier: MIT
#include <array>
#include <limits>
#include <vector>

#include "models.hpp"
#include "support/catch.hpp"

using tenon::max_rank;
using tenon::ScalarType;
using tenon::Status;
using namespace tenon::aoti;
using namespace tenon::test;

namespace tensor_pool_test {
using tenon::aoti::ModelTensor;
namespace {

int num_allocated = 0;
int num_freed = 0;

DeviceMemoryApi counted_memory() {
  num_allocated = num_freed = 0;
  return {TorchDeviceType::cpu,
          [](void*, std::size_t nbytes) {
            ++num_allocated;
            return allocate_host(nbytes);
          },
          [](void*, std::byte* block) noexcept {
            ++num_freed;
            std::free(block);
          }};
}

ModelTensor* make(TensorPool& pool, std::vector<std::int64_t> sizes) {
  return pool.empty_strided(sizes, nullptr, ScalarType::Float, TorchDeviceType::cpu, 0);
}

}  // namespace

TEST_CASE("a second run of the same shapes asks the system for nothing", "[aoti]") {
  TensorPool pool(counted_memory());
  const auto run = [&] {
    ModelTensor* a = make(pool, {3, 100});
    ModelTensor* b = make(pool, {1000});
    pool.release(a);
    ModelTensor* c = make(pool, {7});
    pool.release(b);
    pool.release(c);
  };
  run();
  const int after_first = num_allocated;
  for (int i = 0; i < 100; ++i) run();
  CHECK(num_allocated == after_first);
  CHECK(pool.num_live() == 0);
}

TEST_CASE("a pool frees all memory on destruction", "[aoti]") {
  {
    TensorPool pool(counted_memory());
    for (const std::int64_t size : {0, 1, 15, 16, 17, 1000, 4097, 100'000}) {
      pool.release(make(pool, {size}));
    }
    CHECK(pool.nbytes() >= 100'000 * sizeof(float));
    pool.trim();
    CHECK(pool.nbytes() == 0);
    pool.release(make(pool, {8}));
  }
  CHECK(num_allocated == num_freed);
}

TEST_CASE("a block is at most an eighth larger than what was asked for", "[aoti]") {
  TensorPool pool(counted_memory());
  for (std::int64_t size = 16; size < 100'000; size += 37) {
    const auto wanted = static_cast<std::size_t>(size) * sizeof(float);
    ModelTensor* tensor = make(pool, {size});
    REQUIRE(pool.nbytes() >= wanted);
    REQUIRE(pool.nbytes() <= wanted + wanted / 8 + 8);
    pool.release(tensor);
    pool.trim();
  }
}

TEST_CASE("a storage lives as long as a tensor looks into it", "[aoti]") {
  TensorPool pool(counted_memory());
  ModelTensor* whole = make(pool, {4, 4});
  const std::int64_t sizes[] = {2};
  const std::int64_t strides[] = {4};
  ModelTensor* column = pool.view(*whole, sizes, strides, 1);
  REQUIRE(column);
  ModelTensor* again = pool.share(*column);
  whole->as<float>()[5] = 42;
  pool.release(whole);
  pool.release(column);
  ModelTensor* other = make(pool, {4, 4});  // Must not get the same block.
  CHECK(other->data != again->storage->data);
  CHECK(again->as<float>()[4] == 42);
  pool.release(again);
  pool.release(other);
  CHECK(pool.num_live() == 0);
}

TEST_CASE("tensors that cannot be are refused with a reason", "[aoti]") {
  TensorPool pool(host_memory());
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max() / 2;
  const std::vector<std::vector<std::int64_t>> bad = {
      {-1}, {huge, huge}, {huge}, std::vector<std::int64_t>(max_rank + 1, 1)};
  for (const auto& sizes : bad) {
    CHECK(make(pool, sizes) == nullptr);
    CHECK_FALSE(pool.take_failure().empty());
  }
  const std::int64_t two[] = {2};
  const std::int64_t far[] = {huge};
  CHECK(pool.empty_strided(two, far, ScalarType::Float, TorchDeviceType::cpu, 0) == nullptr);
  CHECK(pool.empty_strided(two, nullptr, static_cast<ScalarType>(99), TorchDeviceType::cpu, 0) ==
        nullptr);
  CHECK_THAT(pool.take_failure(), ContainsSubstring("out of range") ||
                                      ContainsSubstring("too large") ||
                                      ContainsSubstring("dtype number 99"));
  CHECK(pool.empty_strided(two, nullptr, ScalarType::Float, TorchDeviceType::cuda, 0) == nullptr);
  CHECK_THAT(pool.take_failure(), ContainsSubstring("device"));
  CHECK(pool.num_live() == 0);
}

TEST_CASE("a view that leaves its storage is refused", "[aoti]") {
  TensorPool pool(host_memory());
  ModelTensor* whole = make(pool, {4, 4});
  const std::int64_t row[] = {4};
  const std::int64_t one[] = {1};
  CHECK(pool.view(*whole, row, one, 13) == nullptr);
  CHECK_THAT(pool.take_failure(),
             ContainsSubstring("a view [4] at element 13") && ContainsSubstring("64 bytes"));
  CHECK(pool.view(*whole, row, one, -1) == nullptr);
  CHECK_FALSE(pool.take_failure().empty());
  ModelTensor* last = pool.view(*whole, row, one, 12);
  REQUIRE(last);
  pool.release(last);
  pool.release(whole);
  CHECK(pool.num_live() == 0);
}

TEST_CASE("a tensor without elements has no bytes and may have any strides", "[aoti]") {
  TensorPool pool(host_memory());
  ModelTensor* empty = make(pool, {3, 0, 5});
  REQUIRE(empty);
  CHECK(empty->numel == 0);
  CHECK(empty->is_contiguous());
  pool.release(empty);
}

}  // namespace tensor_pool_test
