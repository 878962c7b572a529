// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/portable_type/tensor_impl.h>

#include <cstddef>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge {

namespace detail {

using TensorImpl = ::executorch::runtime::etensor::TensorImpl;

// Private members without an accessor, or whose accessor aborts when they are null. The language
// lets an explicit instantiation name them, and does not compile when one is renamed or has another
// type.
std::size_t read_numel_bound(const TensorImpl& impl) noexcept;
const TensorImpl::DimOrderType* read_dim_order(const TensorImpl& impl) noexcept;
const TensorImpl::StridesType* read_strides(const TensorImpl& impl) noexcept;

template <std::size_t TensorImpl::* numel_bound, TensorImpl::DimOrderType* TensorImpl::* dim_order,
          TensorImpl::StridesType* TensorImpl::* strides>
struct TensorMembers {
  friend std::size_t read_numel_bound(const TensorImpl& impl) noexcept { return impl.*numel_bound; }
  friend const TensorImpl::DimOrderType* read_dim_order(const TensorImpl& impl) noexcept {
    return impl.*dim_order;
  }
  friend const TensorImpl::StridesType* read_strides(const TensorImpl& impl) noexcept {
    return impl.*strides;
  }
};
template struct TensorMembers<&TensorImpl::numel_bound_, &TensorImpl::dim_order_,
                              &TensorImpl::strides_>;

}  // namespace detail

/// The largest number of elements that `impl` may be resized to; its number of elements when its
/// shape is static.
[[nodiscard]] inline std::size_t numel_bound(const detail::TensorImpl& impl) noexcept {
  return detail::read_numel_bound(impl);
}

/// The dimensions of `impl` from outermost to innermost in memory; null when it has none, and they
/// are in their own order.
[[nodiscard]] inline const detail::TensorImpl::DimOrderType* dim_order_of(
    const detail::TensorImpl& impl) noexcept {
  return detail::read_dim_order(impl);
}

/// The strides of `impl` in elements; null when it has none, and they follow from the sizes.
[[nodiscard]] inline const detail::TensorImpl::StridesType* strides_of(
    const detail::TensorImpl& impl) noexcept {
  return detail::read_strides(impl);
}

}}}  // namespace tenon::TENON_RELEASE::bridge
