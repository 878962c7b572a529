// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels.hpp"

/// Tensors that describe device memory, without any memory behind them.
namespace kernel_test {

using tenon::ScalarType;
using tenon::aoti::ModelTensor;
using tenon::aoti::TorchDeviceType;
using Sizes = std::vector<std::int64_t>;

/// At `address`, on CUDA device 0; no strides mean contiguous.
inline ModelTensor tensor_at(std::uint64_t address, ScalarType type, const Sizes& sizes,
                             const Sizes& strides = {}) {
  ModelTensor tensor{};
  tensor.data = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
  tensor.scalar_type = type;
  tensor.device_type = TorchDeviceType::cuda;
  tensor.rank = static_cast<std::int32_t>(sizes.size());
  tensor.numel = 1;
  for (const std::int64_t size : sizes) tensor.numel *= size;
  std::copy(sizes.begin(), sizes.end(), tensor.sizes.begin());
  if (strides.empty()) {
    tenon::aoti::contiguous_strides(sizes, {tensor.strides.data(), sizes.size()});
  } else {
    std::copy(strides.begin(), strides.end(), tensor.strides.begin());
  }
  return tensor;
}

}  // namespace kernel_test
