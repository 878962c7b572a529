// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/executorch/error.hpp"
#include "tenon/executorch/tensor_members.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::adapter {

using detail::TensorImpl;

/// A device of ExecuTorch as DLPack numbers it.
[[nodiscard]] inline tenon_dl_device dl_device(const ::executorch::aten::Device& device) noexcept {
  const bool is_cuda = device.type() == ::executorch::aten::DeviceType::CUDA;
  return {is_cuda ? TENON_DL_CUDA : TENON_DL_CPU, device.index()};
}

/// One tensor of ExecuTorch as a plugin sees it. Built once; `refresh` then copies the members that
/// may change: the address of the data, and the sizes and strides when the shape is dynamic. The
/// address of this object is fixed.
///
/// ExecuTorch does not keep the largest sizes of a dynamic shape, only their number of elements
/// (TensorImpl::numel_bound_). When the first sizes have that number, they are the bounds, as for a
/// method's outputs; otherwise each bound is that number, which is correct but not tight.
/// `capacity` is exact and limits resizing. ExecuTorch does not keep either whether a tensor is a
/// constant or in planned memory: `flags` is 0.
class PluginTensor {
 public:
  /// errors: InvalidType for an element type that Tenon does not know, NotSupported for a rank
  ///         above 16.
  [[nodiscard]] static Result<std::unique_ptr<PluginTensor>> make(TensorImpl& impl) {
    const auto* type = find_scalar_type(static_cast<std::int64_t>(impl.scalar_type()));
    if (!type) {
      return error(Error::InvalidType, "element type ", static_cast<int>(impl.scalar_type()),
                   ", expected 0 to ", scalar_types.size() - 1);
    }
    if (impl.dim() > static_cast<ssize_t>(max_rank)) {
      return error(Error::NotSupported, "rank ", impl.dim(), ", expected at most ", max_rank);
    }
    return std::unique_ptr<PluginTensor>(new PluginTensor(impl, *type));
  }

  PluginTensor(const PluginTensor&) = delete;
  PluginTensor& operator=(const PluginTensor&) = delete;

  [[nodiscard]] tenon_tensor& tensor() noexcept { return tensor_; }
  [[nodiscard]] bool is_dynamic() const noexcept { return is_dynamic_; }

  /// Whether `impl` is the tensor that this was built from, or a replacement with the same fixed
  /// members.
  [[nodiscard]] bool stands_for(const TensorImpl& impl) const noexcept {
    const auto* const order = dim_order_of(impl);
    const auto device = dl_device(impl.device());
    return is_same(impl) && impl.dim() == tensor_.dl.ndim &&
           is_dynamic_ == (impl.shape_dynamism() != et::TensorShapeDynamism::STATIC) &&
           tensor_.capacity == numel_bound(impl) * element_size_ &&
           tensor_.dl.device.device_type == device.device_type &&
           tensor_.dl.device.device_id == device.device_id &&
           (!order || std::equal(order_.begin(), order_.end(), order)) &&
           (is_dynamic_ || has_sizes_of(impl));
  }

  /// One dimension in ExecuTorch, and as the plugin sees it.
  struct Dimension {
    const TensorImpl::SizesType* size;
    const std::int64_t* shown;

    [[nodiscard]] std::int64_t difference() const noexcept { return *size ^ *shown; }
  };
  [[nodiscard]] Dimension dimension(std::size_t d) const noexcept {
    return {sizes_ + d, shape_.data() + d};
  }
  [[nodiscard]] std::size_t rank() const noexcept { return order_.size(); }

  /// Copies the members that may have changed. False when `impl` is not the tensor that this was
  /// built from.
  [[nodiscard]] bool refresh(TensorImpl& impl) noexcept {
    if (!is_same(impl)) [[unlikely]]
      return false;
    tensor_.dl.data = impl.mutable_data();
    // Sizes that are the same have the same strides: the dim order is fixed.
    if (is_dynamic_ && !has_sizes_of(impl)) [[unlikely]]
      read_shape();
    return true;
  }

  /// Copies the sizes and strides that the tensor has now.
  void refresh_shape() noexcept {
    if (!has_sizes_of(*impl_)) read_shape();
  }

  /// Whether a plugin resized this tensor, so that its sizes differ from those in ExecuTorch.
  [[nodiscard]] bool was_resized() const noexcept { return !has_sizes_of(*impl_); }

  /// Resizes the tensor of ExecuTorch to the sizes that the plugin gave this.
  ///
  /// errors: NotSupported, also for sizes beyond 32 bits; this then has the tensor's sizes again.
  [[nodiscard]] Status give_sizes() {
    std::array<TensorImpl::SizesType, max_rank> sizes{};
    const std::span<const std::int64_t> shape = shape_of_mirror();
    bool fits = true;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      fits = fits && shape[d] <= std::numeric_limits<TensorImpl::SizesType>::max();
      sizes[d] = static_cast<TensorImpl::SizesType>(shape[d]);
    }
    const auto resized = fits
                             ? et::internal::resize_tensor_impl(impl_, {sizes.data(), shape.size()})
                             : et::Error::NotSupported;
    if (resized == et::Error::Ok) return ok();
    const std::string wanted = shape_text(shape);
    read_shape();
    return error(from_executorch(resized), "ExecuTorch does not resize a tensor of ",
                 shape_text(shape), " to ", wanted);
  }

 private:
  PluginTensor(TensorImpl& impl, const ScalarTypeInfo& type)
      : impl_(&impl),
        sizes_(impl.sizes().data()),
        type_(impl.scalar_type()),
        is_dynamic_(impl.shape_dynamism() != et::TensorShapeDynamism::STATIC),
        element_size_(type.size) {
    const auto rank = static_cast<std::size_t>(impl.dim());
    shape_.resize(3 * rank);
    order_.resize(rank);
    std::iota(order_.begin(), order_.end(), std::uint8_t{0});
    if (const auto* const order = dim_order_of(impl)) std::copy_n(order, rank, order_.begin());
    tensor_.struct_size = sizeof tensor_;
    tensor_.scalar_type = static_cast<std::int32_t>(type_);
    tensor_.dl.data = impl.mutable_data();
    tensor_.dl.device = dl_device(impl.device());
    tensor_.dl.ndim = static_cast<std::int32_t>(rank);
    tensor_.dl.dtype = type.dl;
    tensor_.dl.shape = shape_.data();
    tensor_.dl.strides = shape_.data() + rank;
    tensor_.dim_order = order_.data();
    tensor_.bounds = shape_.data() + 2 * rank;
    tensor_.capacity = numel_bound(impl) * element_size_;
    tensor_.shape_dynamism = static_cast<std::uint32_t>(impl.shape_dynamism());
    read_shape();
    const bool is_largest = static_cast<std::size_t>(impl.numel()) == numel_bound(impl);
    for (std::size_t d = 0; d < rank; ++d) {
      shape_[2 * rank + d] = is_largest ? shape_[d] : static_cast<std::int64_t>(numel_bound(impl));
    }
  }

  [[nodiscard]] bool is_same(const TensorImpl& impl) const noexcept {
    return &impl == impl_ && impl.sizes().data() == sizes_ && impl.scalar_type() == type_;
  }
  [[nodiscard]] std::span<const std::int64_t> shape_of_mirror() const noexcept {
    return {tensor_.dl.shape, static_cast<std::size_t>(tensor_.dl.ndim)};
  }
  [[nodiscard]] bool has_sizes_of(const TensorImpl& impl) const noexcept {
    const auto* const sizes = impl.sizes().data();
    for (std::size_t d = 0; d < order_.size(); ++d) {
      if (sizes[d] != shape_[d]) return false;
    }
    return true;
  }

  void read_shape() noexcept {
    const auto rank = static_cast<std::size_t>(tensor_.dl.ndim);
    const auto* const strides = strides_of(*impl_);
    for (std::size_t d = 0; d < rank; ++d) tensor_.dl.shape[d] = sizes_[d];
    if (strides) {
      for (std::size_t d = 0; d < rank; ++d) tensor_.dl.strides[d] = strides[d];
    } else {
      host::fill_strides(shape_of_mirror(), order_.data(), tensor_.dl.strides);
    }
    tensor_.nbytes = static_cast<std::uint64_t>(impl_->numel()) * element_size_;
  }

  tenon_tensor tensor_{};
  TensorImpl* impl_;
  const TensorImpl::SizesType* sizes_;
  ::executorch::aten::ScalarType type_;
  bool is_dynamic_;
  std::size_t element_size_;
  std::vector<std::int64_t> shape_;  // Sizes, strides, bounds.
  std::vector<std::uint8_t> order_;
};

}}}  // namespace tenon::TENON_RELEASE::bridge::adapter
