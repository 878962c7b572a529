// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "models.hpp"
#include "support/catch.hpp"

using tenon::max_rank;
using tenon::ScalarType;
using tenon::Status;
using namespace tenon::aoti;
using namespace tenon::aoti::shims;
using namespace tenon::test;

namespace shims_test {
using tenon::aoti::ModelTensor;
namespace {

/// A pool that is the current one, and tensors made through the functions that models call.
struct Shims {
  TensorPool pool{host_memory()};
  CurrentPool current{pool};

  ModelTensor* floats(std::vector<std::int64_t> sizes, const std::int64_t* strides = nullptr) {
    ModelTensor* out = nullptr;
    CHECK(aoti_torch_empty_strided(static_cast<std::int64_t>(sizes.size()), sizes.data(), strides,
                                   6, 0, 0, &out) == shim_ok);
    return out;
  }
  ~Shims() { CHECK(pool.num_live() == 0); }
};

void count_up(ModelTensor* tensor) {
  auto* data = reinterpret_cast<float*>(tensor->storage->data);
  std::iota(data, data + tensor->storage->nbytes / sizeof(float), 0.0f);
}

}  // namespace

TEST_CASE("a table finds each of its functions and a later list wins", "[aoti]") {
  static const Shim mine[] = {{"aoti_torch_clone", &mine}, {"aoti_torch_mine", &mine}};
  const ShimTable table{base(), shims::host(), mine};
  for (const Shim& shim : base()) CHECK(table.find(shim.name) == shim.address);
  CHECK(table.find("aoti_torch_clone") == &mine);
  CHECK(table.find("aoti_torch_mine") == &mine);
  CHECK(table.find("aoti_torch_nothing") == nullptr);
  CHECK(table.find("") == nullptr);
  CHECK(std::ranges::is_sorted(table.all(), {}, &Shim::name));
}

TEST_CASE("a model reads what it made", "[aoti]") {
  Shims shims;
  const std::int64_t strides[] = {1, 4};
  ModelTensor* tensor = shims.floats({2, 3}, strides);
  std::int64_t number = 0;
  std::int64_t* list = nullptr;
  std::int32_t word = -1;
  bool flag = true;
  CHECK((aoti_torch_get_dim(tensor, &number) == 0 && number == 2));
  CHECK((aoti_torch_get_numel(tensor, &number) == 0 && number == 6));
  CHECK((aoti_torch_get_storage_size(tensor, &number) == 0 && number == (1 + 2 * 4 + 1) * 4));
  CHECK((aoti_torch_get_size(tensor, -1, &number) == 0 && number == 3));
  CHECK((aoti_torch_get_stride(tensor, 1, &number) == 0 && number == 4));
  CHECK((aoti_torch_get_sizes(tensor, &list) == 0 && list[1] == 3));
  CHECK((aoti_torch_get_strides(tensor, &list) == 0 && list[0] == 1));
  CHECK((aoti_torch_get_dtype(tensor, &word) == 0 && word == aoti_torch_dtype_float32()));
  CHECK((aoti_torch_get_device_type(tensor, &word) == 0 && word == aoti_torch_device_type_cpu()));
  CHECK((aoti_torch_is_contiguous(tensor, &flag) == 0 && !flag));
  CHECK(aoti_torch_get_size(tensor, 2, &number) == shim_failed);
  CHECK_THAT(shims.pool.take_failure(),
             ContainsSubstring("aoti_torch_get_size: dimension 2 of a tensor of rank 2"));
  CHECK(aoti_torch_delete_tensor_object(tensor) == shim_ok);
  CHECK(aoti_torch_delete_tensor_object(nullptr) == shim_ok);
}

TEST_CASE("a constant is fixed where the model uses the blob's bytes and does not write to them",
          "[aoti]") {
  alignas(64) std::byte blob[256]{};
  TensorPool pool(host_memory());
  const CurrentPool current(pool);
  ConstantAdoption adoption(blob,
                            {{0, 64, true, false}, {64, 64, false, false}, {128, 64, false, true}});
  pool.set_adoption(&adoption);
  const std::int64_t size = 16, stride = 1;
  for (const bool is_fixed : {true, false, false, false}) {  // The last one is none of the blob's.
    ModelTensor* made = nullptr;
    REQUIRE(shims::aoti_torch_create_tensor_from_blob(blob + 192, 1, &size, &stride, 0,
                                                      static_cast<std::int32_t>(ScalarType::Float),
                                                      0, 0, &made) == shim_ok);
    CHECK(made->storage->is_fixed == is_fixed);
    CHECK(made->data == (is_fixed ? blob : blob + 192));
    ModelTensor* view = pool.view(*made, std::span(&size, 1), &stride, 0);
    CHECK(view->storage->is_fixed == is_fixed);
    pool.release(view);
    pool.release(made);
  }
  pool.set_adoption(nullptr);
}

TEST_CASE("a view's offset counts from the tensor that it is made of", "[aoti]") {
  Shims shims;
  ModelTensor* whole = shims.floats({4, 4});
  count_up(whole);
  const std::int64_t two[] = {2};
  const std::int64_t step[] = {4};
  ModelTensor* first = nullptr;
  ModelTensor* second = nullptr;
  REQUIRE(aoti_torch__reinterpret_tensor(whole, 1, two, step, 5, &first) == shim_ok);
  REQUIRE(aoti_torch__reinterpret_tensor(first, 1, two, step, 2, &second) == shim_ok);
  CHECK(first->as<float>()[0] == 5);
  CHECK(second->as<float>()[0] == 7);
  CHECK(second->storage_offset == 7);
  ModelTensor* outside = nullptr;
  CHECK(aoti_torch__reinterpret_tensor(second, 1, two, step, 6, &outside) == shim_failed);
  // 2^62 elements of 4 bytes are 2^64 bytes: none, in the arithmetic of a machine.
  for (const std::int64_t offset : {std::int64_t{1} << 62, (std::int64_t{1} << 62) - 5,
                                    std::numeric_limits<std::int64_t>::max(), std::int64_t{-8}}) {
    CAPTURE(offset);
    CHECK(aoti_torch__reinterpret_tensor(second, 1, two, step, offset, &outside) == shim_failed);
    if (offset > 0) {
      CHECK(aoti_torch_create_tensor_from_blob(whole->data, 1, two, step, offset,
                                               static_cast<std::int32_t>(ScalarType::Float), 0, 0,
                                               &outside) == shim_failed);
    }
  }
  CHECK_FALSE(shims.pool.take_failure().empty());
  for (ModelTensor* tensor : {whole, first, second}) aoti_torch_delete_tensor_object(tensor);
}

TEST_CASE("copies keep the elements and the order that they had", "[aoti]") {
  Shims shims;
  const std::int64_t transposed[] = {1, 3};
  ModelTensor* tensor = shims.floats({3, 2}, transposed);
  count_up(tensor);
  const std::int64_t sizes[] = {2, 3};
  const std::int64_t repeated[] = {0, 1};
  ModelTensor* rows = nullptr;
  REQUIRE(aoti_torch__reinterpret_tensor(tensor, 2, sizes, repeated, 1, &rows) == shim_ok);
  ModelTensor* dense = nullptr;
  ModelTensor* packed = nullptr;
  ModelTensor* same = nullptr;
  REQUIRE(aoti_torch_clone(tensor, &dense) == shim_ok);
  CHECK(dense->strides[1] == 3);
  REQUIRE(aoti_torch_clone(rows, &packed) == shim_ok);
  CHECK(packed->is_contiguous());
  CHECK(std::vector(packed->as<float>(), packed->as<float>() + 6) ==
        std::vector<float>{1, 2, 3, 1, 2, 3});
  // Rows of a transposed tensor, between which a row is left out.
  const std::int64_t part[] = {2, 2};
  ModelTensor* gaps = nullptr;
  ModelTensor* closed = nullptr;
  REQUIRE(aoti_torch__reinterpret_tensor(tensor, 2, part, transposed, 0, &gaps) == shim_ok);
  REQUIRE(aoti_torch_clone(gaps, &closed) == shim_ok);
  CHECK((closed->strides[0] == 1 && closed->strides[1] == 2));
  CHECK(std::vector(closed->as<float>(), closed->as<float>() + 4) ==
        std::vector<float>{0, 1, 3, 4});
  REQUIRE(aoti_torch_clone_preserve_strides(tensor, &same) == shim_ok);
  CHECK(same->strides[1] == 3);
  CHECK(same->as<float>()[5] == 5);
  ModelTensor* target = shims.floats({3, 2});
  REQUIRE(aoti_torch_copy_(target, tensor, 0) == shim_ok);
  CHECK(std::vector(target->as<float>(), target->as<float>() + 6) ==
        std::vector<float>{0, 3, 1, 4, 2, 5});
  CHECK(aoti_torch_copy_(target, packed, 0) == shim_failed);
  CHECK_THAT(shims.pool.take_failure(),
             ContainsSubstring("expected sizes that broadcast to [3, 2], found [2, 3]"));
  REQUIRE(aoti_torch_zero_(target) == shim_ok);
  CHECK(target->as<float>()[3] == 0);
  for (ModelTensor* each : {tensor, rows, dense, packed, gaps, closed, same, target}) {
    aoti_torch_delete_tensor_object(each);
  }
}

TEST_CASE("one element is written and read back", "[aoti]") {
  Shims shims;
  ModelTensor* tensor = nullptr;
  REQUIRE(aoti_torch_scalar_to_tensor_int64(-7, &tensor) == shim_ok);
  std::int64_t value = 0;
  CHECK((aoti_torch_item_int64(tensor, &value) == shim_ok && value == -7));
  float wrong = 0;
  CHECK(aoti_torch_item_float32(tensor, &wrong) == shim_failed);
  CHECK_THAT(shims.pool.take_failure(),
             ContainsSubstring("expected one element of dtype Float, found 1 of Long"));
  aoti_torch_delete_tensor_object(tensor);
}

TEST_CASE("a strided copy moves every element of any layout once", "[aoti]") {
  const std::array<std::int64_t, 3> sizes{2, 3, 4};
  std::array<std::array<std::int64_t, 3>, 3> layouts{{{12, 4, 1}, {1, 2, 6}, {4, 8, 1}}};
  for (const auto& to : layouts) {
    for (const auto& from : layouts) {
      std::array<std::int32_t, 40> source{};
      std::array<std::int32_t, 40> target{};
      std::iota(source.begin(), source.end(), 1);
      REQUIRE(copy_strided(reinterpret_cast<std::byte*>(target.data()), to,
                           reinterpret_cast<const std::byte*>(source.data()), from, sizes, 4));
      for (std::int64_t i = 0; i < 24; ++i) {
        const std::array<std::int64_t, 3> at{i / 12, i / 4 % 3, i % 4};
        const auto place = [&](const auto& strides) {
          return static_cast<std::size_t>(
              std::inner_product(at.begin(), at.end(), strides.begin(), std::int64_t{0}));
        };
        REQUIRE(target[place(to)] == source[place(from)]);
      }
    }
  }
  CHECK_FALSE(copy_strided(nullptr, {}, nullptr, {}, {}, 3));
}

TEST_CASE("an exception below a function for models becomes its error", "[aoti]") {
  Shims shims;
  CHECK(shim_call("aoti_torch_test", []() -> Status { throw std::runtime_error("oh no"); }) ==
        shim_failed);
  CHECK(shims.pool.take_failure() == "aoti_torch_test: oh no");
  CHECK(shim_call("aoti_torch_test", []() -> Status { throw 1; }) == shim_failed);
}

TEST_CASE("a check that holds returns and one that does not never returns", "[aoti]") {
  aoti_torch_check(true, "f", "file", 1, "never");
  CHECK_THROWS_WITH(aoti_torch_check(false, "f", "file", 7, "index out of bounds"),
                    "index out of bounds (f, file:7)");
}

}  // namespace shims_test
