// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/aot/compiler/sym_range.hpp"

namespace tenon::aot::detail {

using DimOrder = std::vector<std::uint8_t>;

/// Whether elements follow each other without gaps when dimensions are laid out in `order`, from
/// the outermost to the innermost. Strides of dimensions with one element do not matter.
[[nodiscard]] inline bool is_dense_in(std::span<const std::int64_t> sizes,
                                      std::span<const std::int64_t> strides,
                                      std::span<const std::uint8_t> order) {
  std::int64_t expected = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t dim = order[i];
    if (sizes[dim] == 0) return true;
    if (sizes[dim] == 1) continue;
    if (strides[dim] != expected) return false;
    expected = saturated_multiply(expected, sizes[dim]);
  }
  return true;
}

/// The order in which a tensor with these strides is dense; nothing when there is none. Where
/// several fit, because dimensions have one element, it is the plain order, then "channels last".
[[nodiscard]] inline std::optional<DimOrder> dense_order(std::span<const std::int64_t> sizes,
                                                         std::span<const std::int64_t> strides) {
  DimOrder order(sizes.size());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  if (is_dense_in(sizes, strides, order)) return order;
  if (sizes.size() == 4 || sizes.size() == 5) {
    DimOrder channels_last = order;
    std::rotate(channels_last.begin() + 1, channels_last.begin() + 2, channels_last.end());
    if (is_dense_in(sizes, strides, channels_last)) return channels_last;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint8_t a, std::uint8_t b) { return strides[a] > strides[b]; });
  if (is_dense_in(sizes, strides, order)) return order;
  return std::nullopt;
}

/// Whether an operator ("aten.permute.default") gives another view of its input's memory. In a
/// program each value has memory of its own: there it is a copy, with elements in the plain order
/// (ExecuTorch's ReplaceViewOpsWithViewCopyOpsPass; aten/src/ATen/native/native_functions.yaml).
[[nodiscard]] inline bool is_view_operator(std::string_view target) {
  constexpr std::array<std::string_view, 45> names{"T",
                                                   "_conj",
                                                   "_neg_view",
                                                   "_reshape_alias",
                                                   "adjoint",
                                                   "alias",
                                                   "as_strided",
                                                   "broadcast_to",
                                                   "chunk",
                                                   "detach",
                                                   "diagonal",
                                                   "expand",
                                                   "expand_as",
                                                   "flatten",
                                                   "hsplit",
                                                   "imag",
                                                   "lift_fresh",
                                                   "mH",
                                                   "mT",
                                                   "matrix_H",
                                                   "moveaxis",
                                                   "movedim",
                                                   "narrow",
                                                   "numpy_T",
                                                   "permute",
                                                   "real",
                                                   "reshape",
                                                   "reshape_as",
                                                   "select",
                                                   "slice",
                                                   "split",
                                                   "split_with_sizes",
                                                   "squeeze",
                                                   "swapaxes",
                                                   "swapdims",
                                                   "t",
                                                   "tensor_split",
                                                   "transpose",
                                                   "unbind",
                                                   "unflatten",
                                                   "unfold",
                                                   "unsqueeze",
                                                   "view",
                                                   "view_as",
                                                   "vsplit"};
  constexpr std::string_view space = "aten.";
  if (!target.starts_with(space)) return false;
  target.remove_prefix(space.size());
  return std::binary_search(names.begin(), names.end(), target.substr(0, target.find('.')));
}

/// Whether an operator writes to its inputs ("aten.add_.Tensor"): ATen's names say so.
[[nodiscard]] inline bool is_in_place_operator(std::string_view target) {
  if (!target.starts_with("aten.")) return false;
  const std::string_view name = target.substr(5, target.find('.', 5) - 5);
  return name.ends_with('_') && !name.ends_with("__");
}

/// Whether an operator only states what holds. Programs are without these, as ExecuTorch's are
/// (exir/passes/remove_graph_asserts_pass.py).
[[nodiscard]] inline bool is_assertion(std::string_view target) {
  constexpr std::array<std::string_view, 5> targets{
      "aten._assert_async.msg", "aten._assert_scalar.default",
      "aten._assert_tensor_metadata.default", "aten.sym_constrain_range.default",
      "aten.sym_constrain_range_for_size.default"};
  return std::find(targets.begin(), targets.end(), target) != targets.end();
}

}  // namespace tenon::aot::detail
