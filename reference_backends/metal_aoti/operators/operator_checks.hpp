// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "device/metal_context.hpp"
#include "tenon/core/concat.hpp"

/// Checks of operators' arguments, before a kernel is enqueued.
namespace tenon::metal_aoti {

/// A tensor that is only read may also be in the host's memory: the context passes a copy.
[[nodiscard]] inline Status check_tensor(std::string_view what, const aoti::ModelTensor* tensor) {
  return tensor ? ok() : error(Error::InvalidArgument, what, " is null");
}

[[nodiscard]] inline Status check_written(std::string_view what, const aoti::ModelTensor* tensor) {
  TENON_RETURN_IF_ERROR(check_tensor(what, tensor));
  if (tensor->device_type == aoti::TorchDeviceType::mps) return ok();
  return error(Error::NotSupported, what, ": expected a tensor on the device, found one of ",
               "device type ", static_cast<std::int32_t>(tensor->device_type));
}

[[nodiscard]] inline Status check_same(std::string_view what, const aoti::ModelTensor& tensor,
                                       const aoti::ModelTensor& first) {
  if (tensor.scalar_type == first.scalar_type) return ok();
  return error(Error::NotSupported, what, ": expected dtype ", name_of(first.scalar_type),
               " as the others have, found ", name_of(tensor.scalar_type));
}

[[nodiscard]] inline Status check_shape(std::string_view what, const aoti::ModelTensor& tensor,
                                        std::span<const std::int64_t> expected) {
  if (std::ranges::equal(tensor.shape(), expected)) return ok();
  return error(Error::InvalidArgument, what, ": expected ", shape_text(expected), ", found ",
               shape_text(tensor.shape()));
}
[[nodiscard]] inline Status check_shape(std::string_view what, const aoti::ModelTensor& tensor,
                                        std::initializer_list<std::int64_t> expected) {
  return check_shape(what, tensor, std::span(expected.begin(), expected.size()));
}

[[nodiscard]] inline Status check_contiguous(std::string_view what,
                                             const aoti::ModelTensor& tensor) {
  if (tensor.is_contiguous()) return ok();
  return error(Error::NotSupported, what, ": expected a contiguous tensor, found strides ",
               shape_text(tensor.step()));
}

/// Sizes are 32-bit numbers in the kernels.
[[nodiscard]] inline Result<std::int32_t> narrow(std::int64_t value) {
  if (value >= 0 && value <= std::numeric_limits<std::int32_t>::max()) {
    return static_cast<std::int32_t>(value);
  }
  return error(Error::NotSupported, "a size of ", value, ": too large");
}

/// A new tensor of an operator, released unless it is given to the model.
class NewTensor {
 public:
  /// `made` may be null; the pool then has the reason.
  explicit NewTensor(aoti::ModelTensor* made) noexcept : tensor_(made) {}
  NewTensor(const NewTensor&) = delete;
  NewTensor& operator=(const NewTensor&) = delete;
  /// Enqueued work may still write to the tensor: its next use is later in the same queue.
  ~NewTensor() {
    if (tensor_) aoti::current_pool().release(tensor_);
  }

  explicit operator bool() const noexcept { return tensor_ != nullptr; }
  aoti::ModelTensor& operator*() const noexcept { return *tensor_; }
  aoti::ModelTensor* operator->() const noexcept { return tensor_; }
  void give_to(aoti::ModelTensor** out) noexcept { *out = std::exchange(tensor_, nullptr); }

 private:
  aoti::ModelTensor* tensor_;
};

/// A tensor on the device with the dtype of `like`, or null, with the reason in the pool.
[[nodiscard]] inline aoti::ModelTensor* new_tensor(std::span<const std::int64_t> sizes,
                                                   const aoti::ModelTensor& like,
                                                   const std::int64_t* strides = nullptr) {
  return aoti::current_pool().empty_strided(sizes, strides, like.scalar_type,
                                            aoti::TorchDeviceType::mps, 0);
}

[[nodiscard]] inline Status no_memory() {
  return error(Error::MemoryAllocationFailed, aoti::current_pool().take_failure());
}

[[nodiscard]] inline std::uint64_t round_up(std::int64_t value, std::uint64_t tile) {
  return (static_cast<std::uint64_t>(value) + tile - 1) / tile * tile;
}

}  // namespace tenon::metal_aoti
