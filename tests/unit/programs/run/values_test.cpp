// SPDX-License-Identifier: MIT
#include "values.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tenon/host/layers/arrays/impl/strided.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"
#include "unit/core/test_tensor.hpp"

namespace {

using tenon::Error;
using tenon::ScalarType;

// A value of kind `kind`; the test fills in `as`.
tenon_value value_of(std::uint32_t kind) {
  tenon_value value{};
  value.struct_size = sizeof value;
  value.kind = kind;
  return value;
}

// The text without a limit that matters.
std::string text_of(const tenon_value& value) {
  std::uint64_t left = 1'000'000;
  return tenon::run::value_text(value, left);
}

// A tensor of the elements at `data`.
struct TensorAt : tenon::test::TestTensor {
  TensorAt(ScalarType type, std::vector<std::int64_t> sizes, std::vector<std::uint8_t> order,
           void* data)
      : TestTensor(type, std::move(sizes), std::move(order)), value(TestTensor::value()) {
    raw().dl.data = data;
  }

  tenon_value value;
};

template <class T>
std::vector<T> elements(std::span<const std::byte> data) {
  std::vector<T> out(data.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), data.data(), data.size());
  return out;
}

}  // namespace

TEST_CASE("a tensor in C order is an array without a copy", "[values]") {
  std::array<float, 6> data{1, 2, 3, 4, 5, 6};
  const TensorAt tensor(ScalarType::Float, {2, 3}, {0, 1}, data.data());
  const auto array = tenon::host::to_array(tensor.value);
  REQUIRE(array.ok());
  CHECK(array->type == ScalarType::Float);
  CHECK(array->shape == std::vector<std::int64_t>{2, 3});
  CHECK(static_cast<const void*>(array->data.data()) == data.data());
  CHECK(tenon::run::type_text(tensor.value) == "Float [2, 3]");
  CHECK(text_of(tensor.value) == "1, 2, 3, 4, 5, 6");
}

TEST_CASE("a tensor of another dim order is brought into C order and back", "[values]") {
  // Logical matrix ((1, 2, 3), (4, 5, 6)), in memory columns first.
  std::array<float, 6> data{1, 4, 2, 5, 3, 6};
  const TensorAt tensor(ScalarType::Float, {2, 3}, {1, 0}, data.data());
  auto array = tenon::host::to_array(tensor.value);
  REQUIRE(array.ok());
  CHECK(elements<float>(array->data) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(text_of(tensor.value) == "1, 2, 3, 4, 5, 6");

  const auto back =
      tenon::host::to_layout({ScalarType::Float, array->shape, std::move(array->storage)},
                             std::vector<std::uint8_t>{1, 0});
  CHECK(elements<float>(back.span()) == std::vector<float>(data.begin(), data.end()));
}

TEST_CASE("a C-order layout keeps the bytes where they are", "[values]") {
  tenon::host::ArrayBytes data(8);
  const void* const before = data.data();
  const std::array<std::uint8_t, 2> order{0, 1};
  const auto same = tenon::host::to_layout({ScalarType::Float, {1, 2}, std::move(data)}, order);
  CHECK(same.data() == before);
}

TEST_CASE("channels-last is undone in four dimensions", "[values]") {
  const std::vector<std::int64_t> sizes{2, 3, 2, 2};
  const std::vector<std::uint8_t> order{0, 2, 3, 1};
  std::vector<std::int64_t> strides(4);
  tenon::host::fill_strides(sizes, order.data(), strides.data());
  std::vector<std::int32_t> dense(24);
  for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = static_cast<std::int32_t>(i);
  std::vector<std::int32_t> strided(24);
  const auto bytes = [](auto& v) { return reinterpret_cast<std::byte*>(v.data()); };
  tenon::host::scatter(bytes(strided), bytes(dense), sizes, strides, 4);
  // Element (0, 1, 0, 0) of C order is number 4; in memory it is the second.
  CHECK(strided[1] == 4);
  std::vector<std::int32_t> back(24);
  tenon::host::gather(bytes(back), bytes(strided), sizes, strides, 4);
  CHECK(back == dense);
}

TEST_CASE("scalars and empty shapes are copied as they are", "[values]") {
  const std::int32_t one = 7;
  std::int32_t copy = 0;
  tenon::host::gather(reinterpret_cast<std::byte*>(&copy), reinterpret_cast<const std::byte*>(&one),
                      {}, {}, 4);
  CHECK(copy == 7);
  const std::vector<std::int64_t> none{0, 3};
  tenon::host::gather(nullptr, nullptr, none, none, 4);
}

TEST_CASE("numbers and lists of numbers are arrays", "[values]") {
  auto integer = value_of(TENON_VALUE_INT);
  integer.as.integer = -3;
  CHECK(text_of(integer) == "-3");
  CHECK(tenon::run::type_text(integer) == "Int");
  CHECK(tenon::host::to_array(integer)->shape.empty());

  auto real = value_of(TENON_VALUE_DOUBLE);
  real.as.real = 0.5;
  CHECK(text_of(real) == "0.5");

  auto boolean = value_of(TENON_VALUE_BOOL);
  boolean.as.boolean = 1;
  CHECK(text_of(boolean) == "true");

  const std::array<tenon_value, 2> integers{integer, integer};
  const std::array<const tenon_value*, 2> pointers{&integers[0], &integers[1]};
  auto int_list = value_of(TENON_VALUE_INT_LIST);
  int_list.as.span = {pointers.data(), pointers.size()};
  CHECK(tenon::run::type_text(int_list) == "ListInt [2]");
  const auto array = tenon::host::to_array(int_list);
  REQUIRE(array.ok());
  CHECK(array->type == ScalarType::Long);
  CHECK(elements<std::int64_t>(array->data) == std::vector<std::int64_t>{-3, -3});

  const std::array<double, 2> reals{0.5, 1.5};
  auto double_list = value_of(TENON_VALUE_DOUBLE_LIST);
  double_list.as.span = {reals.data(), reals.size()};
  CHECK(text_of(double_list) == "0.5, 1.5");

  const std::array<std::uint8_t, 2> booleans{1, 0};
  auto bool_list = value_of(TENON_VALUE_BOOL_LIST);
  bool_list.as.span = {booleans.data(), booleans.size()};
  CHECK(text_of(bool_list) == "true, false");
}

TEST_CASE("text, nothing and lists of tensors are shown but are not arrays", "[values]") {
  const std::string text = "a\nb";
  auto string = value_of(TENON_VALUE_STRING);
  string.as.span = {text.data(), text.size()};
  CHECK(text_of(string) == "'a\\nb'");
  CHECK(tenon::run::type_text(string) == "String [3]");

  const auto none = value_of(TENON_VALUE_NONE);
  CHECK(text_of(none) == "None");

  std::array<float, 2> data{1, 2};
  const TensorAt tensor(ScalarType::Float, {2}, {0}, data.data());
  const std::array<const tenon_value*, 2> pointers{&tensor.value, &none};
  auto list = value_of(TENON_VALUE_OPTIONAL_TENSOR_LIST);
  list.as.span = {pointers.data(), pointers.size()};
  CHECK(text_of(list) == "Float [2]: 1, 2; None: None");

  for (const auto& value : {string, none, list}) {
    CHECK_FALSE(tenon::host::is_array_kind(value.kind));
    const auto array = tenon::host::to_array(value);
    REQUIRE_FALSE(array.ok());
    CHECK(array.error() == Error::InvalidType);
  }
}

TEST_CASE("only the first eight elements are shown", "[values]") {
  std::array<float, 9> data{0, 1, 2, 3, 4, 5, 6, 7, 8};
  const TensorAt tensor(ScalarType::Float, {9}, {0}, data.data());
  CHECK(text_of(tensor.value) == "0, 1, 2, 3, 4, 5, 6, 7, ...");
}

TEST_CASE("a tensor that cannot be read here is refused", "[values]") {
  std::array<float, 1> data{0};
  TensorAt on_device(ScalarType::Float, {1}, {0}, data.data());
  on_device.raw().dl.device = {TENON_DL_CUDA, 0};
  CHECK(tenon::host::to_array(on_device.value).error() == Error::NotSupported);
  const TensorAt unset(ScalarType::Float, {1}, {0}, nullptr);
  CHECK(tenon::host::to_array(unset.value).error() == Error::InvalidState);
  CHECK_THAT(text_of(unset.value), ContainsSubstring("no data"));
}

TEST_CASE("a list that holds itself is shown once, and a long one up to a limit", "[values]") {
  auto list = value_of(TENON_VALUE_TENSOR_LIST);
  const std::array<const tenon_value*, 1> itself{&list};
  list.as.span = {itself.data(), itself.size()};
  CHECK(text_of(list) == "ListTensor [1]: (a list in a list)");

  const auto none = value_of(TENON_VALUE_NONE);
  const std::vector<const tenon_value*> many(100'000, &none);
  list.as.span = {many.data(), many.size()};
  const std::string text = text_of(list);
  CHECK(text.size() < 1000);
  CHECK(text.ends_with("None: None; ..."));
}

TEST_CASE("a limit of printed values holds for all values together", "[values]") {
  std::array<float, 3> data{1, 2, 3};
  const TensorAt tensor(ScalarType::Float, {3}, {0}, data.data());
  const auto none = value_of(TENON_VALUE_NONE);
  const std::array<const tenon_value*, 4> members{&tensor.value, &none, &tensor.value,
                                                  &tensor.value};
  auto list = value_of(TENON_VALUE_TENSOR_LIST);
  list.as.span = {members.data(), members.size()};
  std::uint64_t left = 6;
  CHECK(tenon::run::value_text(list, left) ==
        "Float [3]: 1, 2, 3; None: None; Float [3]: 1, 2, ...; ...");
  CHECK(left == 0);
  CHECK(tenon::run::value_text(list, left) == "...");
  CHECK(tenon::run::value_text(tensor.value, left) == "...");
  // Elements without numbers are text as well.
  const TensorAt empty(ScalarType::Float, {0}, {0}, nullptr);
  const std::vector<const tenon_value*> many(50, &empty.value);
  list.as.span = {many.data(), many.size()};
  left = 2;
  CHECK(tenon::run::value_text(list, left) == "Float [0]: ; Float [0]: ; ...");
}

TEST_CASE("the first elements of a tensor in another order follow C order", "[values]") {
  std::array<float, 6> data{1, 4, 2, 5, 3, 6};
  const TensorAt tensor(ScalarType::Float, {2, 3}, {1, 0}, data.data());
  for (std::size_t count = 0; count <= 7; ++count) {
    const auto first = tenon::host::first_elements(tensor.value, count);
    REQUIRE(first.ok());
    CHECK(first->shape == std::vector<std::int64_t>{2, 3});
    std::vector<float> expected{1, 2, 3, 4, 5, 6};
    expected.resize(std::min<std::size_t>(count, 6));
    CHECK(elements<float>(first->data) == expected);
  }
}

TEST_CASE("an array of zeros is zero and aligned, whether small or large", "[values]") {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, (std::size_t{1} << 20) + 5}) {
    tenon::host::ArrayBytes array(size);
    CHECK(reinterpret_cast<std::uintptr_t>(array.data()) % 64 == 0);
    CHECK(std::ranges::all_of(array.span(), [](std::byte b) { return b == std::byte{}; }));
    if (size != 0) array.data()[size - 1] = std::byte{1};
    const tenon::host::ArrayBytes moved = std::move(array);
    CHECK(moved.size() == size);
  }
  CHECK_THROWS_AS(tenon::host::ArrayBytes(SIZE_MAX), std::bad_alloc);
  CHECK_THROWS_AS(tenon::host::ArrayBytes::uninitialized(SIZE_MAX - 63), std::bad_alloc);
}

TEST_CASE("a list of integers whose element became a tensor is not read as numbers", "[values]") {
  std::array<float, 2> data{1, 2};
  const TensorAt tensor(ScalarType::Float, {2}, {0}, data.data());
  const std::array<const tenon_value*, 1> pointers{&tensor.value};
  auto list = value_of(TENON_VALUE_INT_LIST);
  list.as.span = {pointers.data(), pointers.size()};
  const auto array = tenon::host::to_array(list);
  REQUIRE(array.error() == Error::InvalidType);
  CHECK(array.text() == "element 0: expected an Int, found a Tensor");
}
