// SPDX-License-Identifier: MIT
#include <numeric>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tenon/core/tensor.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon;
using tenon::test::TestTensor;

namespace {

template <class T>
std::vector<T> list(std::span<const T> values) {
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("a tensor view has shape, layout and device", "[core]") {
  TestTensor tensor(ScalarType::Short, {2, 3, 4});
  const TensorView view(tensor.raw());
  CHECK(view.scalar_type() == ScalarType::Short);
  CHECK(view.rank() == 3);
  CHECK(list(view.sizes()) == std::vector<std::int64_t>{2, 3, 4});
  CHECK(list(view.strides()) == std::vector<std::int64_t>{12, 4, 1});
  CHECK(list(view.dim_order()) == std::vector<std::uint8_t>{0, 1, 2});
  CHECK(list(view.bounds()) == std::vector<std::int64_t>{2, 3, 4});
  CHECK(view.numel() == 24);
  CHECK(view.nbytes() == 48);
  CHECK(view.is_static());
  CHECK(view.is_contiguous());
  CHECK_FALSE(view.is_constant());
  CHECK(view.device().device_type == TENON_DL_CPU);
  CHECK(view.data() == tensor.raw().dl.data);
  CHECK(&view.raw() == &tensor.raw());
}

TEST_CASE("a tensor view follows flags, dynamism and byte offset", "[core]") {
  TestTensor tensor(ScalarType::Float, {4});
  tensor.raw().flags = TENON_TENSOR_CONSTANT | TENON_TENSOR_MEMORY_PLANNED;
  tensor.raw().shape_dynamism = TENON_SHAPE_DYNAMIC_BOUND;
  tensor.raw().dl.byte_offset = 8;
  const TensorView view(tensor.raw());
  CHECK(view.is_constant());
  CHECK_FALSE(view.is_static());
  CHECK(view.data() == static_cast<const std::byte*>(tensor.raw().dl.data) + 8);
}

TEST_CASE("a tensor that is not set has no data", "[core]") {
  TestTensor tensor(ScalarType::Float, {4});
  tensor.raw().dl.data = nullptr;
  tensor.raw().dl.byte_offset = 8;
  CHECK(TensorView(tensor.raw()).data() == nullptr);
}

TEST_CASE("an element type that is unknown has elements of no size, not a division by zero",
          "[core]") {
  TestTensor tensor(ScalarType::Byte, {4});
  tensor.raw().scalar_type = 99;
  CHECK(TensorView(tensor.raw()).numel() == 4);
}

TEST_CASE("a channels-last tensor keeps its strides and is not contiguous", "[core]") {
  TestTensor tensor(ScalarType::Float, {1, 3, 2, 2}, {0, 2, 3, 1});
  const TensorView view(tensor.raw());
  CHECK_FALSE(view.is_contiguous());
  CHECK(list(view.strides()) == std::vector<std::int64_t>{12, 1, 6, 3});

  TestTensor contiguous(ScalarType::Float, {1, 3, 2, 2});
  CHECK_FALSE(same_layout(view, TensorView(contiguous.raw())));
  TestTensor again(ScalarType::Byte, {1, 3, 2, 2}, {0, 2, 3, 1});
  CHECK(same_layout(view, TensorView(again.raw())));
  TestTensor larger(ScalarType::Float, {1, 3, 2, 3}, {0, 2, 3, 1});
  CHECK_FALSE(same_layout(view, TensorView(larger.raw())));
  TestTensor smaller_rank(ScalarType::Float, {1, 3, 2}, {0, 2, 1});
  CHECK_FALSE(same_layout(view, TensorView(smaller_rank.raw())));
}

TEST_CASE("elements are found by their indices in a channels-last tensor", "[core]") {
  TestTensor tensor(ScalarType::Int, {1, 3, 2, 2}, {0, 2, 3, 1});
  const Tensor<std::int32_t> elements(tensor.raw());
  REQUIRE(elements.size() == 12);
  std::iota(elements.begin(), elements.end(), 0);
  for (int c = 0; c < 3; ++c) {
    for (int h = 0; h < 2; ++h) {
      for (int w = 0; w < 2; ++w) {
        const std::int32_t* element = elements.at(0, c, h, w);
        REQUIRE(element != nullptr);
        CHECK(*element == (h * 2 + w) * 3 + c);
      }
    }
  }
}

TEST_CASE("an index outside its dimension or a wrong number of them finds nothing", "[core]") {
  TestTensor tensor({2, 3}, {0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f});
  const Tensor<const float> elements(tensor.raw());
  REQUIRE(elements.at(1, 2) != nullptr);
  CHECK(*elements.at(1, 2) == 5.0f);
  CHECK(elements.at(std::uint8_t{1}, std::int64_t{0}) == elements.data() + 3);
  CHECK(elements.at(2, 0) == nullptr);
  CHECK(elements.at(0, 3) == nullptr);
  CHECK(elements.at(-1, 0) == nullptr);
  CHECK(elements.at(0, -1) == nullptr);
  CHECK(elements.at(0, std::uint64_t{1} << 63) == nullptr);
  CHECK(elements.at() == nullptr);
  CHECK(elements.at(1) == nullptr);
  CHECK(elements.at(0, 0, 0) == nullptr);
}

TEST_CASE("a scalar has one element and no index", "[core]") {
  TestTensor tensor(std::vector<std::int64_t>{}, {2.5});
  const Tensor<double> scalar(tensor.raw());
  CHECK(scalar.rank() == 0);
  CHECK(scalar.sizes().empty());
  CHECK(scalar.numel() == 1);
  CHECK(scalar.size() == 1);
  REQUIRE(scalar.at() != nullptr);
  CHECK(*scalar.at() == 2.5);
  CHECK(scalar.at(0) == nullptr);
  CHECK(scalar.is_contiguous());
}

TEST_CASE("a tensor with a dimension of size 0 is an empty range", "[core]") {
  TestTensor tensor(ScalarType::Float, {2, 0, 3});
  const Tensor<float> elements(tensor.raw());
  CHECK(elements.numel() == 0);
  CHECK(elements.size() == 0);
  CHECK(elements.begin() == elements.end());
  CHECK(elements.at(0, 0, 0) == nullptr);
}

TEST_CASE("a tensor is written through and reads from its byte offset on", "[core]") {
  TestTensor tensor({4}, {1.0f, 2.0f, 3.0f, 4.0f});
  tensor.raw().dl.byte_offset = 4;
  tensor.raw().nbytes = 12;
  const Tensor<float> elements(tensor.raw());
  REQUIRE(elements.size() == 3);
  CHECK(elements[0] == 2.0f);
  elements[2] = 9.0f;
  CHECK(tensor.elements<float>() == std::vector{1.0f, 2.0f, 3.0f, 9.0f});
}

TEST_CASE("sizes are written as a list", "[core]") {
  CHECK(shape_text({}) == "[]");
  CHECK(shape_text(std::vector<std::int64_t>{7}) == "[7]");
  CHECK(shape_text(std::vector<std::int64_t>{2, -3, 4}) == "[2, -3, 4]");
}
