// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/aoti/tensors/model_tensor.hpp"
#include "tenon/core/status.hpp"

/// Code that the reference backends share and an author's backend does not need: the arguments of a
/// convolution, as the C shims of all devices take them, and the shape and layout of its result.
namespace tenon::aoti_common {

using Sizes = std::span<const std::int64_t>;
using Dims = std::array<std::int64_t, max_rank>;

/// A convolution with a batch dimension. The lists have one number for each spatial dimension.
struct Convolution {
  aoti::ModelTensor input;   ///< [N, C, ...].
  aoti::ModelTensor weight;  ///< [O, C / groups, ...], or [C, O / groups, ...] when transposed.
  const aoti::ModelTensor* bias = nullptr;  ///< [O].
  std::size_t spatial = 0;                  ///< Spatial dimensions, 1 to 3.
  Sizes stride, padding, dilation;
  Sizes output_padding;  ///< Read only when transposed.
  bool transposed = false;
  std::int64_t groups = 1;
};

/// The convolution that a model asks for with `aoti_torch_<device>_convolution` of PyTorch's C
/// shim, whose parameters these are. `bias` may be null.
[[nodiscard]] Convolution make_convolution(
    const aoti::ModelTensor& input, const aoti::ModelTensor& weight, aoti::ModelTensor** bias,
    const std::int64_t* stride, std::int64_t stride_len, const std::int64_t* padding,
    std::int64_t padding_len, const std::int64_t* dilation, std::int64_t dilation_len,
    std::int32_t transposed, const std::int64_t* output_padding, std::int64_t output_padding_len,
    std::int64_t groups) noexcept;

/// Fails unless dtypes, ranks, lists, groups, channels and bias fit together.
[[nodiscard]] Status check_arguments(const Convolution& c);

/// Writes the sizes of the result. Fails with InvalidArgument when one would not be positive.
[[nodiscard]] Status output_sizes(const Convolution& c, Dims& sizes);

/// PyTorch's test for the channels-last order (c10/core/MemoryFormat.h), including its treatment of
/// dimensions of one element: compiled code relies on its result. Rank 3 to 5.
[[nodiscard]] bool is_channels_last(const aoti::ModelTensor& tensor) noexcept;

/// Strides of a dense tensor in the channels-last order.
[[nodiscard]] Dims channels_last_strides(Sizes sizes) noexcept;

}  // namespace tenon::aoti_common
