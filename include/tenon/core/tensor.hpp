// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Largest rank of a tensor (ExecuTorch: kTensorDimensionLimit, runtime/core/exec_aten/util).
inline constexpr std::size_t max_rank = 16;

namespace detail {

/// std::ranges::equal, without <algorithm>.
template <class Number>
[[nodiscard]] bool are_equal(std::span<const Number> a, std::span<const Number> b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace detail

/// A tensor of any element type: shape, layout and address. Refers to the host's object and has the
/// size of a pointer; copies refer to the same tensor. Sizes and strides are in elements.
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
    const std::size_t size = size_of(scalar_type());
    return size != 0 ? nbytes() / size : nbytes();
  }
  [[nodiscard]] std::size_t nbytes() const noexcept {
    return static_cast<std::size_t>(tensor_->nbytes);
  }
  /// DLPack's device; elements may be read here only when it is TENON_DL_CPU.
  [[nodiscard]] tenon_dl_device device() const noexcept { return tensor_->dl.device; }
  [[nodiscard]] bool is_constant() const noexcept {
    return (tensor_->flags & TENON_TENSOR_CONSTANT) != 0;
  }
  /// True when dimensions are in memory in their own order (no channels-last).
  [[nodiscard]] bool is_contiguous() const noexcept {
    const auto order = dim_order();
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (order[i] < order[i - 1]) return false;
    }
    return true;
  }
  /// First byte; null when the tensor is empty or was not set.
  [[nodiscard]] const std::byte* data() const noexcept {
    const auto* base = static_cast<const std::byte*>(tensor_->dl.data);
    return base ? base + tensor_->dl.byte_offset : nullptr;
  }
  [[nodiscard]] const tenon_tensor& raw() const noexcept { return *tensor_; }

 private:
  const tenon_tensor* tensor_;
};

/// True when both have the same sizes and the same order in memory, so that element `i` of one is
/// at the offset of element `i` of the other.
[[nodiscard]] inline bool same_layout(const TensorView& a, const TensorView& b) noexcept {
  return detail::are_equal(a.sizes(), b.sizes()) && detail::are_equal(a.dim_order(), b.dim_order());
}

/// Sizes as text: "[2, 3]".
[[nodiscard]] inline std::string shape_text(std::span<const std::int64_t> sizes) {
  std::string out = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i != 0) out += ", ";
    detail::Piece(sizes[i]).append_to(out);
  }
  out.push_back(']');
  return out;
}

namespace detail {

[[nodiscard]] inline std::string dim_order_text(std::span<const std::uint8_t> order) {
  std::string out = "[";
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i != 0) out += ", ";
    Piece(unsigned{order[i]}).append_to(out);
  }
  out.push_back(']');
  return out;
}

}  // namespace detail

/// Sizes, and the order in memory if it differs from the order of the dimensions, as text: "[2, 3]"
/// or "[2, 3] in dim order [1, 0]". Two tensors with the same text have the `same_layout`.
[[nodiscard]] inline std::string layout_text(const TensorView& tensor) {
  std::string out = shape_text(tensor.sizes());
  if (!tensor.is_contiguous()) {
    out += " in dim order ";
    out += detail::dim_order_text(tensor.dim_order());
  }
  return out;
}

/// A CPU tensor with elements of type `T`; `Tensor<const T>` only reads. It is a range of all its
/// elements in memory order, which is the order of the dimensions when `is_contiguous()`.
///
/// Made by `Args::tensor`, and for a host by `Method::output`, which checked kind, dtype, device
/// and data. An argument is valid until `execute` returns, an output until the next `execute`.
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

}}  // namespace tenon::TENON_RELEASE
