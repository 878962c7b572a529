// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tenon/tenon.hpp>

#include "common/graph.hpp"

namespace graph_backend {

/// Sizes of a tensor at one moment. Copying it allocates nothing.
class Shape {
 public:
  static constexpr std::size_t max_rank = 8;
  static constexpr std::int64_t max_size = INT32_MAX;  ///< As in ExecuTorch.
  static constexpr std::int64_t max_numel = std::int64_t{1} << 40;

  Shape() = default;
  /// The first `max_rank` of `sizes`.
  template <class Integer>
  explicit Shape(std::span<const Integer> sizes) : rank_(std::min(sizes.size(), max_rank)) {
    std::copy_n(sizes.begin(), rank_, sizes_.begin());
  }

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::int64_t operator[](std::size_t dim) const noexcept { return sizes_[dim]; }
  [[nodiscard]] std::int64_t& operator[](std::size_t dim) noexcept { return sizes_[dim]; }
  /// Size `from_end` dimensions before the end; the last is 1.
  [[nodiscard]] std::int64_t last(std::size_t from_end = 1) const noexcept {
    return sizes_[rank_ - from_end];
  }
  [[nodiscard]] std::int64_t& last(std::size_t from_end = 1) noexcept {
    return sizes_[rank_ - from_end];
  }
  /// A size more at the end; nothing happens beyond `max_rank`.
  void push_back(std::int64_t size) noexcept {
    if (rank_ < max_rank) sizes_[rank_++] = size;
  }
  [[nodiscard]] std::span<const std::int64_t> sizes() const noexcept {
    return {sizes_.data(), rank_};
  }
  /// Product of the sizes from `first` to before `end`.
  [[nodiscard]] std::int64_t product(std::size_t first, std::size_t end) const noexcept {
    std::int64_t out = 1;
    for (std::size_t i = first; i < end; ++i) out *= sizes_[i];
    return out;
  }
  [[nodiscard]] std::int64_t numel() const noexcept { return product(0, rank_); }

  friend bool operator==(const Shape& a, const Shape& b) noexcept {
    return std::ranges::equal(a.sizes(), b.sizes());
  }

 private:
  std::size_t rank_ = 0;
  std::array<std::int64_t, max_rank> sizes_{};
};

/// "[2, 3]"
[[nodiscard]] inline std::string text_of(const Shape& shape) {
  return tenon::shape_text(shape.sizes());
}

/// InvalidProgram unless each size and the number of elements (sizes of 0 count as 1) are such that
/// no later product overflows.
[[nodiscard]] tenon::Status check_shape(const Shape& shape);

/// A tensor as an operator sees it. Elements are in the order of the dimensions.
struct Operand {
  tenon::ScalarType scalar_type = tenon::ScalarType::Float;
  Shape shape;
  std::byte* data = nullptr;  ///< Not read by `infer`.
  bool is_fixed = false;      ///< A constant: what a kernel derives from it stays valid.

  [[nodiscard]] std::uint64_t nbytes() const noexcept {
    return static_cast<std::uint64_t>(shape.numel()) * tenon::size_of(scalar_type);
  }
  [[nodiscard]] const float* floats() const noexcept {
    return reinterpret_cast<const float*>(data);
  }
  [[nodiscard]] float* floats_to_write() const noexcept { return reinterpret_cast<float*>(data); }
};

/// The inputs of an operator.
using Operands = std::span<const Operand* const>;

/// Checks attributes, number, dtypes and sizes of the inputs of an operator, and returns the sizes
/// of its output, whose dtype `dtype_of` gives. This function judges a
/// program ahead of time, a blob when it is loaded, and every run with new sizes: what it accepts,
/// `run` computes in bounds. Allocates nothing on success.
///
/// errors: InvalidProgram when the operator can never run, InvalidArgument when these sizes do not
///         fit.
[[nodiscard]] tenon::Result<Shape> infer(const OperatorUnion& op, Operands inputs);

/// float16 and bfloat16: what Convert reads or makes.
[[nodiscard]] inline bool is_short(tenon::ScalarType type) noexcept {
  return type == tenon::ScalarType::Half || type == tenon::ScalarType::BFloat16;
}

/// The dtypes of all tensors of a graph.
[[nodiscard]] inline bool is_taken(tenon::ScalarType type) noexcept {
  return type == tenon::ScalarType::Float || type == tenon::ScalarType::Long ||
         type == tenon::ScalarType::Bool || is_short(type);
}

/// The dtype of the output of an operator whose first input is `first`.
[[nodiscard]] inline tenon::ScalarType dtype_of(const OperatorUnion& op,
                                                tenon::ScalarType first) noexcept {
  if (op.type == blob::Operator::Reshape) return first;
  if (op.type == blob::Operator::Convert) {
    return static_cast<tenon::ScalarType>(op.AsConvert()->to);
  }
  return op.type == blob::Operator::Compare ? tenon::ScalarType::Bool : tenon::ScalarType::Float;
}

}  // namespace graph_backend
