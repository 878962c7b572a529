// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/core/portable_type/tensor.h>
#include <executorch/runtime/core/portable_type/tensor_impl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "tenon/abi/host.h"
#include "tenon/abi/tensor.h"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/executorch/error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

/// Bytes of a line of the cache, of x86-64 and most processors of Arm. It decides about time alone.
inline constexpr std::size_t cache_line = 64;

/// A tensor of the host's as ExecuTorch's TensorImpl: built once, updated before each call and read
/// after it. Not movable, because its address must not change.
///
/// ExecuTorch takes the sizes with which a TensorImpl is made for the largest that it may ever
/// have, so it is made with the bounds and then resized.
class alignas(cache_line) ExecutorchTensor {
 public:
  using Impl = ::executorch::runtime::etensor::TensorImpl;

  ExecutorchTensor() = default;
  ExecutorchTensor(const ExecutorchTensor&) = delete;
  ExecutorchTensor& operator=(const ExecutorchTensor&) = delete;

  [[nodiscard]] const tenon_tensor* source() const noexcept { return source_; }
  [[nodiscard]] Impl* impl() noexcept { return &*impl_; }
  /// The sizes of `impl`, at one address.
  [[nodiscard]] const Impl::SizesType* sizes() const noexcept { return sizes_.data(); }
  [[nodiscard]] std::span<Impl::DimOrderType> dim_order() noexcept {
    return {dim_order_.data(), rank()};
  }

  /// Makes it the mirror of `tensor`.
  ///
  /// errors: InvalidType (an element type that ExecuTorch does not have, elements of several
  ///         lanes), NotSupported (more than 16 dimensions; a device, as these backends list none),
  ///         InvalidArgument (a size or a stride of more than 31 bits).
  [[nodiscard]] Status bind(tenon_tensor& tensor) {
    impl_.reset();
    room_.reset();  // As large as the capacity was.
    copied_ = nullptr;
    source_ = &tensor;
    scalar_type_ = tensor.scalar_type;
    shape_dynamism_ = tensor.shape_dynamism;
    rank_ = tensor.dl.ndim;
    if (!find_scalar_type(scalar_type_)) {
      return error(Error::InvalidType, "ExecuTorch has no element type of number ", scalar_type_);
    }
    if (rank_ < 0 || rank() > max_rank) {
      return error(Error::NotSupported, "ExecuTorch's tensors have at most ", max_rank,
                   " dimensions, found ", rank_);
    }
    if (tensor.dl.dtype.lanes != 1) {
      return error(Error::InvalidType, "ExecuTorch's elements have one lane, found ",
                   tensor.dl.dtype.lanes);
    }
    if (tensor.dl.device.device_type != TENON_DL_CPU) {
      return error(Error::NotSupported, "this backend lists no device, found a tensor on device ",
                   tensor.dl.device.device_type, ":", tensor.dl.device.device_id);
    }
    std::copy_n(tensor.dim_order, rank(), dim_order_.begin());
    TENON_RETURN_IF_ERROR(fill_bounds(tensor));
    impl_.emplace(static_cast<::executorch::aten::ScalarType>(scalar_type_), rank_, sizes_.data(),
                  nullptr, dim_order_.data(), strides_.data(),
                  static_cast<et::TensorShapeDynamism>(shape_dynamism_));
    return update_sizes();
  }

  /// Gives it the data and the sizes that it had before a call that failed.
  void restore() {
    if (!impl_) return;
    impl_->set_data(data_);
    // Sizes that ExecuTorch refuses are an error of the next `update`.
    if (!has_sizes_of_source()) static_cast<void>(update_sizes());
  }

  /// Takes over the data pointer and the sizes of now; nothing else of a tensor may change between
  /// two calls, and when it did, the mirror is made anew.
  ///
  /// errors: as `bind`; InvalidState for a tensor without data (a FreeCall came before, or an input
  ///         or output was not set), unless `may_be_unset`: ExecuTorch's code does not check.
  [[nodiscard]] Status update(bool may_be_unset = false) {
    was_bound_anew_ = !is_same_tensor();
    if (was_bound_anew_) [[unlikely]]
      TENON_RETURN_IF_ERROR(bind(*source_));
    data_ = source_->dl.data ? static_cast<std::byte*>(source_->dl.data) + source_->dl.byte_offset
                             : nullptr;
    if (!data_ && !may_be_unset && source_->capacity != 0) [[unlikely]]
      TENON_RETURN_IF_ERROR(stand_in_for_data());
    if (is_constant() && copies_constants_) [[unlikely]]
      copy_constant();
    impl_->set_data(data_);
    return has_sizes_of_source() ? ok() : update_sizes();
  }

  /// Whether the tensor's bytes are the program's, which are mapped read-only.
  [[nodiscard]] bool is_constant() const noexcept { return TensorView(*source_).is_constant(); }

  /// From the next `update` on ExecuTorch's code gets a copy of a constant: it may write to it.
  void copy_constants() noexcept { copies_constants_ = true; }

  /// Whether the call wrote to the copy of a constant.
  [[nodiscard]] bool has_changed_constant() const noexcept {
    return !copy_.empty() && std::memcmp(copy_.data(), original(), copy_.size()) != 0;
  }

  /// Whether the mirror's data is the tensor's own, not a copy or a stand-in.
  [[nodiscard]] bool has_own_data() const noexcept {
    return source_->dl.data ? data_ == original() : !data_;
  }

  /// Whether `update` found another tensor.
  [[nodiscard]] bool was_bound_anew() const noexcept { return was_bound_anew_; }

  /// Whether the call gave the tensor another data pointer.
  [[nodiscard]] bool has_moved() const noexcept { return impl_->data() != data_; }
  [[nodiscard]] const std::byte* data() const noexcept {
    return static_cast<const std::byte*>(impl_->data());
  }
  [[nodiscard]] std::size_t nbytes() const { return impl_->nbytes(); }
  /// The memory of the tensor before the call, up to its capacity.
  [[nodiscard]] std::span<const std::byte> given() const noexcept {
    return {data_, static_cast<std::size_t>(source_->capacity)};
  }

  /// Sets the host's tensor to the address that the call gave it.
  void keep_move() noexcept {
    source_->dl.data = impl_->mutable_data();
    source_->dl.byte_offset = 0;
    data_ = static_cast<std::byte*>(impl_->mutable_data());
  }
  void undo_move() noexcept { impl_->set_data(data_); }

  /// Resizes the host's tensor when the call resized this one.
  [[nodiscard]] Status write_back_sizes(const tenon_host* host) const {
    if (data_ && data_ == room_.get() && impl_->numel() != 0) [[unlikely]]
      return no_data();
    if (shape_dynamism_ == TENON_SHAPE_STATIC || has_sizes_of_source()) return ok();
    std::array<std::int64_t, max_rank> sizes{};
    std::copy_n(sizes_.begin(), rank(), sizes.begin());
    const tenon_status status =
        host->resize_tensor(host, source_, sizes.data(), static_cast<std::uint32_t>(rank_));
    if (status == TENON_STATUS_OK) return ok();
    return error(error_from_status(status), "the host cannot resize ",
                 shape_text({source_->dl.shape, rank()}), " to ",
                 shape_text({sizes.data(), rank()}), ", bounds are ",
                 shape_text({source_->bounds, rank()}));
  }

 private:
  [[nodiscard]] const std::byte* original() const noexcept {
    return static_cast<const std::byte*>(source_->dl.data) + source_->dl.byte_offset;
  }

  static Status no_data() { return error(Error::InvalidState, "the tensor has no data"); }

  /// An input without elements may have no data. If it is an output instead, ExecuTorch's code may
  /// resize it and write to it: to memory that is thrown away.
  Status stand_in_for_data() {
    if (source_->nbytes != 0) return no_data();
    if (!room_) room_.reset(new (std::nothrow) std::byte[source_->capacity]);
    if (!room_)
      return error(Error::MemoryAllocationFailed, "no memory of ", source_->capacity,
                   " bytes for a tensor without data");
    data_ = room_.get();
    return ok();
  }

  /// Allocates in the first call only, as a constant does not change.
  void copy_constant() {
    if (copied_ != original() || copy_.size() != source_->nbytes) {
      copy_.assign(original(), original() + source_->nbytes);
      copied_ = original();
    }
    if (!copy_.empty()) data_ = copy_.data();
  }

  [[nodiscard]] std::size_t rank() const noexcept { return static_cast<std::size_t>(rank_); }

  /// Sizes and strides of the largest shape. A size of 0 counts as 1 for the strides, as with the
  /// host.
  Status fill_bounds(const tenon_tensor& tensor) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    std::int64_t stride = 1;
    for (std::size_t i = rank(); i-- > 0;) {
      const std::size_t d = dim_order_[i];
      if (d >= rank() || tensor.bounds[d] < 0 || tensor.bounds[d] > most || stride > most) {
        return error(Error::InvalidArgument, "ExecuTorch's sizes and strides have 31 bits, found ",
                     shape_text({tensor.bounds, rank()}));
      }
      bounds_[d] = sizes_[d] = static_cast<std::int32_t>(tensor.bounds[d]);
      strides_[d] = static_cast<std::int32_t>(stride);
      stride *= std::max<std::int64_t>(tensor.bounds[d], 1);
    }
    return ok();
  }

  /// Whether the fixed members are unchanged. A host that changes them gets an error from the
  /// backend and not a crash.
  [[nodiscard]] bool is_same_tensor() const noexcept {
    const tenon_tensor& now = *source_;
    return now.scalar_type == scalar_type_ && now.dl.ndim == rank_ &&
           now.shape_dynamism == shape_dynamism_ && now.dl.dtype.lanes == 1 &&
           now.dl.device.device_type == TENON_DL_CPU && same_items(bounds_.data(), now.bounds) &&
           same_items(dim_order_.data(), now.dim_order);
  }

  /// One for each dimension. A loop, because a call of memcmp costs more than these few items.
  template <class A, class B>
  [[nodiscard]] bool same_items(const A* a, const B* b) const noexcept {
    for (std::int32_t d = 0; d < rank_; ++d) {
      if (a[d] != b[d]) return false;
    }
    return true;
  }

  [[nodiscard]] bool has_sizes_of_source() const noexcept {
    return same_items(sizes_.data(), source_->dl.shape);
  }

  Status update_sizes() {
    std::array<Impl::SizesType, max_rank> sizes{};
    for (std::size_t d = 0; d < rank(); ++d) {
      const std::int64_t size = source_->dl.shape[d];
      if (size < 0 || size > std::numeric_limits<Impl::SizesType>::max()) {
        return error(Error::InvalidArgument, "ExecuTorch's sizes have 31 bits, found ",
                     shape_text({source_->dl.shape, rank()}));
      }
      sizes[d] = static_cast<Impl::SizesType>(size);
    }
    const et::Error resized = et::internal::resize_tensor_impl(&*impl_, {sizes.data(), rank()});
    if (resized == et::Error::Ok) return ok();
    return error(from_executorch(resized), "ExecuTorch cannot resize a tensor of bounds ",
                 shape_text({source_->bounds, rank()}), " to ",
                 shape_text({source_->dl.shape, rank()}));
  }

  tenon_tensor* source_ = nullptr;
  std::byte* data_ = nullptr;
  std::optional<Impl> impl_;
  std::int32_t scalar_type_ = -1;
  std::int32_t rank_ = 0;
  std::uint32_t shape_dynamism_ = TENON_SHAPE_STATIC;
  bool was_bound_anew_ = false;
  bool copies_constants_ = false;
  std::unique_ptr<std::byte[]> room_;  // For a tensor without data, see `stand_in_for_data`.
  std::vector<std::byte> copy_;        // Of a constant, when it is copied.
  const std::byte* copied_ = nullptr;  // The content of `copy_`.
  // The target of `impl_`.
  std::array<Impl::SizesType, max_rank> sizes_{};
  std::array<Impl::StridesType, max_rank> strides_{};
  std::array<Impl::DimOrderType, max_rank> dim_order_{};
  std::array<Impl::SizesType, max_rank> bounds_{};
};

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
