// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/abi/tensor.h"
#include "tenon/aot/compiler/impl/pt2/operator.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/scalar_type.hpp"

/// Properties of operators that change their inputs, and of operators that share memory with them.
/// tests/live/upstream/in_place_operators.py compares them with what PyTorch's operators do.
namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Whether `words`, which begins and ends with a space, has the word `name`.
[[nodiscard]] inline bool has_word(std::string_view words, std::string_view name) {
  return !name.empty() && words.find(concat(' ', name, ' ')) != std::string_view::npos;
}

/// Whether a result may be a part of the memory of the operator's first tensors: views, and
/// operators that return their input when there is nothing to do. Operators outside of ATen make
/// new tensors: PyTorch demands it.
[[nodiscard]] inline bool may_share_memory(std::string_view target) {
  constexpr std::string_view names =
      " _unsafe_view align_as align_tensors align_to alpha_dropout atleast_1d atleast_2d "
      "atleast_3d broadcast_tensors cartesian_prod chain_matmul channel_shuffle conj "
      "conj_physical contiguous cpu cuda data dequantize dropout dsplit einsum "
      "feature_alpha_dropout feature_dropout flatten_dense_tensors histogramdd lift "
      "linalg_diagonal meshgrid native_channel_shuffle pin_memory positive ravel "
      "resolve_conj resolve_neg sum_to_size to type_as unsafe_chunk unsafe_split "
      "unsafe_split_with_sizes view_as_complex view_as_real ";
  return is_view_operator(target) || has_word(names, aten_name(target));
}

/// The operator that makes a new tensor of an in-place operator's result.
struct FunctionOfInPlace {
  std::string target;  ///< "aten.relu.default".
  /// The name of its first argument; empty when it has the same name.
  std::string_view first_argument;
  /// Whether the result has the element type of the first argument, whatever the others have.
  bool keeps_type = false;
};

/// The function of "aten.relu_.default"; nothing for operators without one that takes the same
/// arguments and gives the same result: those that draw random numbers, and comparisons, whose
/// functions give Bool.
[[nodiscard]] inline std::optional<FunctionOfInPlace> function_of(std::string_view target) {
  constexpr std::string_view computing =
      " abs acos acosh add addbmm addcdiv addcmul addmm addmv addr asin asinh atan atan2 "
      "atanh baddbmm bitwise_and bitwise_left_shift bitwise_not bitwise_or "
      "bitwise_right_shift bitwise_xor ceil celu clamp clamp_max clamp_min clip copysign "
      "cos cosh deg2rad div divide elu erf erfc exp exp2 expm1 floor fmod frac gelu "
      "hardsigmoid hardswish hardtanh hypot leaky_relu lerp log log10 log1p log2 logit "
      "mish mul multiply nan_to_num neg negative pow rad2deg reciprocal relu relu6 "
      "remainder round rsqrt selu sigmoid sign silu sin sinh sqrt square sub subtract tan "
      "tanh threshold true_divide trunc xlogy ";
  constexpr std::string_view keeping =
      " alpha_dropout copy detach dropout feature_alpha_dropout feature_dropout fill "
      "index_add index_copy index_fill index_put masked_fill masked_scatter scatter "
      "scatter_add scatter_reduce tril triu zero ";
  std::string_view name = aten_name(target);
  if (!name.ends_with('_')) return std::nullopt;
  std::string_view overload = target.substr(std::string_view("aten.").size() + name.size());
  name.remove_suffix(1);
  const bool keeps_type = has_word(keeping, name);
  if (!keeps_type && !has_word(computing, name)) return std::nullopt;
  if (name == "pow") overload = overload == ".Scalar" ? ".Tensor_Scalar" : ".Tensor_Tensor";
  return FunctionOfInPlace{concat("aten.", name, overload),
                           name.ends_with("dropout") ? "input" : "", keeps_type};
}

/// An operand of PyTorch's arithmetic, as far as it decides about the element type of the result.
struct OperandType {
  ScalarType element;
  bool has_rank_0;

  /// Whether arithmetic of this tensor with `other` gives this tensor's type.
  [[nodiscard]] bool takes(const OperandType& other) const {
    if (element == other.element || other.category() < category()) return true;
    if (other.category() > category()) return false;
    return (other.has_rank_0 && !has_rank_0) || size_of(element) > size_of(other.element);
  }

 private:
  /// Bool, integers, real numbers, complex numbers.
  [[nodiscard]] int category() const {
    const auto* info = find_scalar_type(static_cast<std::int64_t>(element));
    if (info == nullptr) return 2;
    switch (info->dl.code) {
      case TENON_DL_BOOL:
        return 0;
      case TENON_DL_INT:
      case TENON_DL_UINT:
        return 1;
      case TENON_DL_COMPLEX:
        return 3;
      default:
        return 2;
    }
  }
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
