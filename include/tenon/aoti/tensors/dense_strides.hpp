// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

#include "tenon/aoti/tensors/model_tensor.hpp"

/// The layout of a tensor that PyTorch makes like another one. Compiled code relies on its strides.
namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// True when the tensor has each element once, in memory without gaps, in some order of the
/// dimensions.
[[nodiscard]] inline bool is_dense(const ModelTensor& tensor) noexcept {
  // Visits the dimensions in order of their strides; each must begin where the previous ones end.
  std::int64_t expected = 1;
  std::array<std::int64_t, max_rank> seen{};
  for (std::int32_t step = 0; step < tensor.rank; ++step) {
    bool found = false;
    for (std::size_t d = 0; d < static_cast<std::size_t>(tensor.rank) && !found; ++d) {
      if (seen[d] || (tensor.sizes[d] > 1 && tensor.strides[d] != expected)) continue;
      seen[d] = 1;
      expected = outer_stride(expected, tensor.sizes[d]);
      found = true;
    }
    if (!found) return tensor.numel == 0;
  }
  return true;
}

/// Strides without gaps for a result of `sizes`, in the order of dimensions that PyTorch's
/// TensorIterator chooses: the first of `operands` that distinguishes two dimensions decides. An
/// operand is its strides for `sizes`, 0 where an element repeats.
[[nodiscard]] inline std::array<std::int64_t, max_rank> dense_strides(
    std::span<const std::int64_t> sizes,
    std::initializer_list<const std::int64_t*> operands) noexcept {
  const std::size_t rank = sizes.size();
  std::array<std::int64_t, max_rank> order{};  // Innermost first.
  for (std::size_t d = 0; d < rank; ++d) order[d] = static_cast<std::int64_t>(rank - 1 - d);
  // 1 when `outer` must follow `inner`, -1 when the order is right. A broadcast dimension has no
  // order; sizes decide between equal strides.
  const auto compare = [&](std::int64_t inner, std::int64_t outer) {
    const auto i = static_cast<std::size_t>(inner);
    const auto o = static_cast<std::size_t>(outer);
    for (const std::int64_t* strides : operands) {
      if (strides[i] == 0 || strides[o] == 0) continue;
      if (strides[i] != strides[o]) return strides[i] < strides[o] ? -1 : 1;
      if (sizes[i] > sizes[o]) return 1;
    }
    return 0;
  };
  for (std::size_t d = 1; d < rank; ++d) {
    std::size_t moving = d;
    for (std::size_t below = d; below-- > 0;) {
      const int verdict = compare(order[below], order[moving]);
      if (verdict < 0) break;
      if (verdict > 0) {
        std::swap(order[below], order[moving]);
        moving = below;
      }
    }
  }
  std::array<std::int64_t, max_rank> strides{};
  std::int64_t step = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    const auto at = static_cast<std::size_t>(order[d]);
    strides[at] = step;
    step = outer_stride(step, sizes[at]);
  }
  return strides;
}

/// Strides of the result of PyTorch's `empty_like` and `clone`: the strides of `like` when its
/// elements fill their memory, else the same order of dimensions without gaps.
[[nodiscard]] inline std::array<std::int64_t, max_rank> dense_strides_like(
    const ModelTensor& like) noexcept {
  return is_dense(like) ? like.strides : dense_strides(like.shape(), {like.strides.data()});
}

}}}  // namespace tenon::TENON_RELEASE::aoti
