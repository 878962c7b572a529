// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/portable_type/tensor_impl.h>

#include <cstddef>

namespace tenon::executorch {

namespace detail {

using TensorImpl = ::executorch::runtime::etensor::TensorImpl;

/// The largest number of elements that `impl` may be resized to. ExecuTorch keeps it in a private
/// member without an accessor; the language lets an explicit instantiation name it, and does not
/// compile when the member is renamed or has another type.
std::size_t read_numel_bound(const TensorImpl& impl) noexcept;

template <std::size_t TensorImpl::*member>
struct NumelBound {
  friend std::size_t read_numel_bound(const TensorImpl& impl) noexcept { return impl.*member; }
};
template struct NumelBound<&TensorImpl::numel_bound_>;

}  // namespace detail

/// The largest number of elements that `impl` may be resized to; its number of elements when its
/// shape is static.
[[nodiscard]] inline std::size_t numel_bound(const detail::TensorImpl& impl) noexcept {
  return detail::read_numel_bound(impl);
}

}  // namespace tenon::executorch
