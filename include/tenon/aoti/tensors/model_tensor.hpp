// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "tenon/core/scalar_type.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

class TensorPool;

/// Device numbers of PyTorch (c10/core/TorchDeviceType.h), as compiled models write them.
enum class TorchDeviceType : std::int32_t { cpu = 0, cuda = 1, mps = 13 };

/// Memory of one or more tensors. Counted without atomics: all tensors of one pool are used by one
/// thread at a time.
struct Storage {
  TensorPool* pool;
  std::byte* data;
  std::size_t nbytes;
  std::uint32_t references;
  std::uint32_t size_class;  ///< Of the pool's block; `borrowed` when the memory is not the pool's.
  Storage* next;             ///< The next free one, while the pool keeps it.
  std::uint32_t run;         ///< Of the pool, in which the block was last given to a tensor.
  /// A constant of the model that nothing writes to, so what a kernel derives from its elements
  /// remains valid for as long as the model lives.
  bool is_fixed;
  /// Which of the tensors with memory of their own that a run made on the device, from 0 on.
  std::uint32_t number;

  static constexpr std::uint32_t not_numbered = ~0u;
  static constexpr std::uint32_t borrowed = ~0u;
};

/// The tensor of a compiled model, its `AtenTensorHandle`: a view with any strides of a storage.
/// Sizes, strides and the offset are in elements (torch/csrc/inductor/aoti_torch/c/shim.h).
struct ModelTensor {
  Storage* storage;
  std::byte* data;  ///< First element; the offset is in it.
  std::int64_t storage_offset;
  std::int64_t numel;
  std::int32_t rank;
  ScalarType scalar_type;
  TorchDeviceType device_type;
  std::int32_t device_index;
  std::array<std::int64_t, max_rank> sizes;
  std::array<std::int64_t, max_rank> strides;

  [[nodiscard]] std::span<const std::int64_t> shape() const noexcept {
    return {sizes.data(), static_cast<std::size_t>(rank)};
  }
  [[nodiscard]] std::span<const std::int64_t> step() const noexcept {
    return {strides.data(), static_cast<std::size_t>(rank)};
  }
  /// The elements. The type is not checked: the model's own code is compiled for it.
  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return reinterpret_cast<T*>(data);
  }
  [[nodiscard]] std::size_t nbytes() const noexcept {
    return static_cast<std::size_t>(numel) * size_of(scalar_type);
  }

  /// True when the elements are adjacent, in the order of the dimensions.
  [[nodiscard]] bool is_contiguous() const noexcept {
    std::int64_t expected = 1;
    for (std::int32_t d = rank; d-- > 0;) {
      const auto i = static_cast<std::size_t>(d);
      if (sizes[i] == 0) return true;
      if (sizes[i] != 1 && strides[i] != expected) return false;
      expected *= sizes[i];
    }
    return true;
  }
};

/// The stride of the dimension around one of `size` elements that are `step` apart. It saturates: a
/// tensor without elements may have sizes whose product overflows.
[[nodiscard]] inline std::int64_t outer_stride(std::int64_t step, std::int64_t size) noexcept {
  std::int64_t out = 0;
  const bool overflows = __builtin_mul_overflow(step, size > 1 ? size : 1, &out);
  return overflows ? std::numeric_limits<std::int64_t>::max() : out;
}

/// Writes the strides of a contiguous tensor.
inline void contiguous_strides(std::span<const std::int64_t> sizes,
                               std::span<std::int64_t> strides) noexcept {
  std::int64_t step = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step = outer_stride(step, sizes[d]);
  }
}

}}}  // namespace tenon::TENON_RELEASE::aoti
