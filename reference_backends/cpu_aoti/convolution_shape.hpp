// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "strided.hpp"
#include "tenon/core/status.hpp"

/// What a convolution is asked for, and the sizes and the order of elements of what it makes.
namespace tenon::cpu_aoti {

/// A convolution as it was asked for, with a batch dimension.
struct Convolution {
  Tensor input;   ///< [N, C, ...]; storage as the caller's.
  Tensor weight;  ///< [O, C / groups, ...], or [C, O / groups, ...] when transposed.
  const Tensor* bias = nullptr;
  std::size_t spatial = 0;
  Sizes stride, padding, dilation, output_padding;
  bool transposed = false;
  std::int64_t groups = 1;
};

/// Fails, with what is wrong, when the arguments do not fit together.
Status check_arguments(const Convolution& c);

/// Sizes of the result; fails when one would not be positive.
Status output_sizes(const Convolution& c, Dims& sizes);

/// PyTorch's test for the channels-last order, with its treatment of dimensions of one element:
/// compiled code was made for what that test says.
[[nodiscard]] bool is_channels_last(const Tensor& tensor) noexcept;

[[nodiscard]] Dims channels_last_strides(Sizes sizes) noexcept;

/// Writes the strides of `tensor` in one spelling, contiguous or channels-last, where dimensions of
/// one element left a choice; equal formats look equal then.
void normalise_strides(Tensor& tensor) noexcept;

}  // namespace tenon::cpu_aoti
