// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>

#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"

namespace tenon {

/// Largest rank of a tensor (ExecuTorch: kTensorDimensionLimit, runtime/core/exec_aten/util).
inline constexpr std::size_t max_rank = 16;

/// A tensor whose element type is not fixed: shape, layout and where the bytes are. Refers to the
/// host's object and costs one pointer; copies refer to the same tensor. Sizes and strides are in
/// elements.
///
/// Tensors of a program are dense: their strides follow from sizes and dim order (ExecuTorch:
/// dim_order_to_stride). Reading from several threads is safe; writing is as for any memory.
class TensorView {
 public:
  explicit TensorView(const tenon_tensor& tensor) noexcept : tensor_(&tensor) {}

  [[nodiscard]] ScalarType scalar_type() const noexcept {
    return static_cast<ScalarType>(tensor_->scalar_type);
  }
  [[nodiscard]] std::size_t rank() const noexcept {
    return static_cast<std::size_t>(tensor_->dl.ndim);
  }
  [[nodiscard]] std::span<const std::int64_t> sizes() const noexcept {
    return {tensor_->dl.shape, rank()};
  }
  [[nodiscard]] std::span<const std::int64_t> strides() const noexcept {
    return {tensor_->dl.strides, rank()};
  }
  /// Dimensions from outermost to innermost in memory.
  [[nodiscard]] std::span<const std::uint8_t> dim_order() const noexcept {
    return {tensor_->dim_order, rank()};
  }
  /// Largest sizes that a resize may give; the sizes themselves when the shape is static.
  [[nodiscard]] std::span<const std::int64_t> bounds() const noexcept {
    return {tensor_->bounds, rank()};
  }
  [[nodiscard]] bool is_static() const noexcept {
    return tensor_->shape_dynamism == TENON_SHAPE_STATIC;
  }
  /// Number of elements; 1 for a scalar.
  [[nodiscard]] std::size_t numel() const noexcept {
    return nbytes() / std::max<std::size_t>(size_of(scalar_type()), 1);
  }
  [[nodiscard]] std::size_t nbytes() const noexcept {
    return static_cast<std::size_t>(tensor_->nbytes);
  }
  /// DLPack's device; elements may be read here only when it is TENON_DL_CPU.
  [[nodiscard]] tenon_dl_device device() const noexcept { return tensor_->dl.device; }
  [[nodiscard]] bool is_constant() const noexcept {
    return (tensor_->flags & TENON_TENSOR_CONSTANT) != 0;
  }
  /// True when dimensions lie in memory in their own order (no channels-last).
  [[nodiscard]] bool is_contiguous() const noexcept { return std::ranges::is_sorted(dim_order()); }
  /// First byte; null when there are no bytes or the tensor was not set.
  [[nodiscard]] const std::byte* data() const noexcept {
    const auto* base = static_cast<const std::byte*>(tensor_->dl.data);
    return base ? base + tensor_->dl.byte_offset : nullptr;
  }
  [[nodiscard]] const tenon_tensor& raw() const noexcept { return *tensor_; }

 private:
  const tenon_tensor* tensor_;
};

/// True when both have the same sizes and the same order in memory, so that element `i` of one
/// stands at the place of element `i` of the other.
[[nodiscard]] inline bool same_layout(const TensorView& a, const TensorView& b) noexcept {
  return std::ranges::equal(a.sizes(), b.sizes()) &&
         std::ranges::equal(a.dim_order(), b.dim_order());
}

/// Sizes as text: "[2, 3]".
[[nodiscard]] inline std::string shape_text(std::span<const std::int64_t> sizes) {
  std::string out = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    detail::append_piece(out, i == 0 ? "" : ", ");
    detail::append_piece(out, sizes[i]);
  }
  out.push_back(']');
  return out;
}

/// A CPU tensor with elements of type `T`; `Tensor<const T>` only reads. It is a range of all its
/// elements in memory order, which is the order of the dimensions when `is_contiguous()`.
///
/// Made by `Args::tensor`, which checked kind, dtype, device and data. Valid until `execute`
/// returns.
template <class T>
requires Element<std::remove_const_t<T>>
class Tensor : public TensorView {
 public:
  explicit Tensor(const tenon_tensor& tensor) noexcept
      : TensorView(tensor),
        elements_(reinterpret_cast<T*>(static_cast<std::byte*>(tensor.dl.data) +
                                       (tensor.dl.data ? tensor.dl.byte_offset : 0))) {}

  [[nodiscard]] T* data() const noexcept { return elements_; }
  [[nodiscard]] std::size_t size() const noexcept { return nbytes() / sizeof(T); }
  [[nodiscard]] T* begin() const noexcept { return elements_; }
  [[nodiscard]] T* end() const noexcept { return elements_ + size(); }
  /// Element `index` in memory order; not checked.
  [[nodiscard]] T& operator[](std::size_t index) const noexcept { return elements_[index]; }

  /// Address of the element at `index...`, or null when there are more or fewer indices than
  /// dimensions or one of them is outside its dimension.
  template <std::integral... Index>
  [[nodiscard]] T* at(Index... index) const noexcept {
    if (sizeof...(Index) != rank()) return nullptr;
    const std::array<std::int64_t, sizeof...(Index)> indices{static_cast<std::int64_t>(index)...};
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (indices[d] < 0 || indices[d] >= sizes()[d]) return nullptr;
      offset += indices[d] * strides()[d];
    }
    return elements_ + offset;
  }

 private:
  T* elements_;
};

}  // namespace tenon
