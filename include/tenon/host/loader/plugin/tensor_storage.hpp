// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "tenon/abi/tensor.h"
#include "tenon/core/error.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Writes the strides, in elements, that `sizes` have when dimensions are stored in `dim_order`,
/// outermost first. A size of 0 counts as 1, so that strides stay distinct (ExecuTorch:
/// dim_order_to_stride, runtime/core/exec_aten/util/dim_order_util.h).
inline void fill_strides(std::span<const std::int64_t> sizes, const std::uint8_t* dim_order,
                         std::int64_t* strides) noexcept {
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[dim_order[i]] = stride;
    stride *= std::max<std::int64_t>(sizes[dim_order[i]], 1);
  }
}

/// Number of elements of `sizes`, or -1 when one is negative or the product overflows.
[[nodiscard]] inline std::int64_t count_elements(std::span<const std::int64_t> sizes) noexcept {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0) return -1;
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, size, &count)) {
      return -1;
    }
  }
  return empty ? 0 : count;
}

/// Gives `tensor` new sizes as ExecuTorch does (TensorImpl::internal_resize_contiguous): the rank
/// is fixed, a static shape may only be confirmed, a bounded one may take any sizes whose number of
/// elements is at most the product of its bounds and whose bytes are within its capacity.
/// NotSupported otherwise, InvalidArgument for negative or overflowing sizes; nothing changes then.
[[nodiscard]] inline Error resize_tensor(tenon_tensor& tensor,
                                         std::span<const std::int64_t> sizes) noexcept {
  const std::span<const std::int64_t> shape(tensor.dl.shape,
                                            static_cast<std::size_t>(tensor.dl.ndim));
  if (sizes.size() != shape.size()) return Error::NotSupported;
  if (tenon::detail::are_equal(sizes, shape)) return Error::Ok;
  if (tensor.shape_dynamism == TENON_SHAPE_STATIC) return Error::NotSupported;
  const std::int64_t count = count_elements(sizes);
  if (count < 0) return Error::InvalidArgument;
  // Bounds whose product overflows are no limit; the room for the bytes is one in any case.
  const std::int64_t limit = count_elements({tensor.bounds, shape.size()});
  std::uint64_t nbytes = size_of(static_cast<ScalarType>(tensor.scalar_type));
  const bool overflows = __builtin_mul_overflow(nbytes, count, &nbytes);
  if ((limit >= 0 && count > limit) || overflows || nbytes > tensor.capacity) {
    return Error::NotSupported;
  }
  for (std::size_t d = 0; d < sizes.size(); ++d) tensor.dl.shape[d] = sizes[d];
  fill_strides(sizes, tensor.dim_order, tensor.dl.strides);
  tensor.nbytes = nbytes;
  return Error::Ok;
}

}}}  // namespace tenon::TENON_RELEASE::host
