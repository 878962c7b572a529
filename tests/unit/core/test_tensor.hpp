// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/args.hpp"
#include "tenon/core/scalar_type.hpp"

namespace tenon::test {

/// A dense tensor with the arrays and the bytes that it points to.
class TestTensor {
 public:
  TestTensor(ScalarType type, std::vector<std::int64_t> sizes,
             std::vector<std::uint8_t> dim_order = {})
      : sizes_(std::move(sizes)), dim_order_(std::move(dim_order)), strides_(sizes_.size()) {
    if (dim_order_.empty()) {
      dim_order_.resize(sizes_.size());
      std::iota(dim_order_.begin(), dim_order_.end(), std::uint8_t{0});
    }
    bounds_ = sizes_;
    tensor_.struct_size = sizeof tensor_;
    tensor_.scalar_type = static_cast<std::int32_t>(type);
    tensor_.dl.device = {TENON_DL_CPU, 0};
    tensor_.dl.ndim = static_cast<std::int32_t>(sizes_.size());
    if (const auto* info = find_scalar_type(static_cast<std::int64_t>(type))) {
      tensor_.dl.dtype = info->dl;
    }
    tensor_.dl.shape = sizes_.data();
    tensor_.dl.strides = strides_.data();
    tensor_.dim_order = dim_order_.data();
    tensor_.bounds = bounds_.data();
    apply_sizes();
    bytes_.resize(static_cast<std::size_t>(tensor_.nbytes));
    tensor_.capacity = tensor_.nbytes;
    tensor_.dl.data = bytes_.empty() ? nullptr : bytes_.data();
  }

  template <class T>
  TestTensor(std::vector<std::int64_t> sizes, std::initializer_list<T> elements,
             std::vector<std::uint8_t> dim_order = {})
      : TestTensor(*scalar_type_of<T>, std::move(sizes), std::move(dim_order)) {
    std::memcpy(bytes_.data(), std::data(elements),
                std::min(bytes_.size(), elements.size() * sizeof(T)));
  }
  TestTensor(const TestTensor&) = delete;
  TestTensor& operator=(const TestTensor&) = delete;

  [[nodiscard]] tenon_tensor& raw() noexcept { return tensor_; }

  template <class T>
  [[nodiscard]] std::vector<T> elements() const {
    std::vector<T> out(bytes_.size() / sizeof(T));
    std::memcpy(out.data(), bytes_.data(), out.size() * sizeof(T));
    return out;
  }

  [[nodiscard]] tenon_value value() noexcept {
    tenon_value value{};
    value.struct_size = sizeof value;
    value.kind = TENON_VALUE_TENSOR;
    value.as.tensor = &tensor_;
    return value;
  }

 private:
  /// Strides and number of bytes of the current sizes.
  void apply_sizes() {
    std::int64_t stride = 1;
    for (std::size_t i = sizes_.size(); i-- > 0;) {
      strides_[dim_order_[i]] = stride;
      stride *= sizes_[dim_order_[i]];
    }
    tensor_.nbytes =
        static_cast<std::uint64_t>(stride) * size_of(static_cast<ScalarType>(tensor_.scalar_type));
  }

  std::vector<std::int64_t> sizes_;
  std::vector<std::uint8_t> dim_order_;
  std::vector<std::int64_t> strides_;
  std::vector<std::int64_t> bounds_;
  std::vector<std::byte> bytes_;
  tenon_tensor tensor_{};
};

inline tenon_value make_value(std::uint32_t kind) {
  tenon_value value{};
  value.struct_size = sizeof value;
  value.kind = kind;
  return value;
}

inline tenon_value integer_value(std::int64_t number) {
  tenon_value value = make_value(TENON_VALUE_INT);
  value.as.integer = number;
  return value;
}

/// A value of kind `kind` that refers to `elements`, which must outlive it.
template <class T>
tenon_value span_value(std::uint32_t kind, std::span<const T> elements) {
  tenon_value value = make_value(kind);
  value.as.span = {elements.data(), elements.size()};
  return value;
}

/// The array of pointers that `execute` gets. Its values are copies of those given.
class TestArgs {
 public:
  explicit TestArgs(std::vector<tenon_value> values) : values_(std::move(values)) {
    for (tenon_value& value : values_) pointers_.push_back(&value);
  }
  TestArgs(const TestArgs&) = delete;
  TestArgs& operator=(const TestArgs&) = delete;

  [[nodiscard]] tenon_value* const* data() const noexcept { return pointers_.data(); }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(pointers_.size());
  }
  [[nodiscard]] Args view(const tenon_host* host = nullptr) const noexcept {
    return Args(host, data(), size());
  }

 private:
  std::vector<tenon_value> values_;
  std::vector<tenon_value*> pointers_;
};

}  // namespace tenon::test
