// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "tenon/aoti/shims/base_shims.hpp"
#include "tenon/aoti/tensors/dense_strides.hpp"
#include "tenon/aoti/tensors/strided_copy.hpp"

/// Shims that read or write elements, for tensors in the host's memory.
/// torch/csrc/inductor/aoti_torch/c/shim.h defines their names, parameters and meaning.
namespace tenon { inline namespace TENON_RELEASE { namespace aoti::shims {

namespace detail {

/// Strides with which `from` is read to fill `to`: 0 where an element repeats. Fails unless both
/// have the same dtype and the sizes broadcast.
inline Result<std::array<std::int64_t, max_rank>> copy_strides(const ModelTensor& to,
                                                               const ModelTensor& from) {
  if (to.scalar_type != from.scalar_type) {
    return error(Error::NotSupported, "a copy from ", name_of(from.scalar_type), " to ",
                 name_of(to.scalar_type), ": expected one dtype");
  }
  std::array<std::int64_t, max_rank> strides{};
  const std::int32_t missing = to.rank - from.rank;
  bool fits = missing >= 0;
  for (std::int32_t d = 0; fits && d < from.rank; ++d) {
    const auto source = static_cast<std::size_t>(d);
    const auto target = static_cast<std::size_t>(d + missing);
    fits = from.sizes[source] == to.sizes[target] || from.sizes[source] == 1;
    strides[target] = from.sizes[source] == to.sizes[target] ? from.strides[source] : 0;
  }
  if (fits) return strides;
  return error(Error::InvalidArgument, "a copy: expected sizes that broadcast to ",
               shape_text(to.shape()), ", found ", shape_text(from.shape()));
}

/// Copies between two tensors of the same sizes and dtype; `from` may be smaller where its sizes
/// broadcast.
inline Status copy_tensor(const ModelTensor& to, const ModelTensor& from) {
  TENON_TRY(const auto strides, copy_strides(to, from));
  copy_strided(to.data, to.step(), from.data,
               std::span(strides).first(static_cast<std::size_t>(to.rank)), to.shape(),
               size_of(to.scalar_type));
  return ok();
}

/// Returns a new tensor like `self`, with its strides or without gaps in the same order, filled by
/// `copy`: `Status(const ModelTensor& to, const ModelTensor& from)`. Releases the tensor when that
/// fails.
template <class Copy>
ShimError copy_of(const char* name, ModelTensor* self, bool keep_strides, ModelTensor** out,
                  Copy copy) noexcept {
  return shim_call(name, [&]() -> Status {
    TensorPool& pool = current_pool();
    const auto strides = keep_strides ? self->strides : dense_strides_like(*self);
    ModelTensor* made = pool.empty_strided(self->shape(), strides.data(), self->scalar_type,
                                           self->device_type, self->device_index);
    if (!made) return error(Error::MemoryAllocationFailed, "no copy was made");
    Status status = copy(*made, *self);
    if (status.ok()) {
      *out = made;
    } else {
      pool.release(made);
    }
    return status;
  });
}

/// Fails unless the tensor has one element, of that dtype.
inline Status expect_item(const ModelTensor& tensor, ScalarType type) {
  if (tensor.numel == 1 && tensor.scalar_type == type) return ok();
  return error(Error::InvalidArgument, "expected one element of dtype ", name_of(type), ", found ",
               tensor.numel, " of ", name_of(tensor.scalar_type));
}

template <class T>
ShimError item(const char* name, ModelTensor* tensor, ScalarType type, T* out) noexcept {
  return shim_call(name, [&]() -> Status {
    TENON_RETURN_IF_ERROR(expect_item(*tensor, type));
    std::memcpy(out, tensor->data, sizeof *out);
    return ok();
  });
}

template <class T>
ShimError scalar(const char* name, T value, ScalarType type, ModelTensor** out) noexcept {
  return shim_call(name, [&]() -> Status {
    ModelTensor* made = current_pool().empty_strided({}, nullptr, type, TorchDeviceType::cpu, 0);
    if (!made) return error(Error::MemoryAllocationFailed, "no tensor was made");
    std::memcpy(made->data, &value, sizeof value);
    *out = made;
    return ok();
  });
}

}  // namespace detail

/// Keeps the order of the dimensions in memory and leaves out gaps, as torch.preserve_format does.
inline ShimError aoti_torch_clone(ModelTensor* self, ModelTensor** out) noexcept {
  return detail::copy_of("aoti_torch_clone", self, false, out, &detail::copy_tensor);
}
inline ShimError aoti_torch_clone_preserve_strides(ModelTensor* self, ModelTensor** out) noexcept {
  return detail::copy_of("aoti_torch_clone_preserve_strides", self, true, out,
                         &detail::copy_tensor);
}
inline ShimError aoti_torch_copy_(ModelTensor* self, ModelTensor* source, std::int32_t) noexcept {
  return shim_call("aoti_torch_copy_", [&] { return detail::copy_tensor(*self, *source); });
}
inline ShimError aoti_torch_tensor_copy_(ModelTensor* source, ModelTensor* target) noexcept {
  return shim_call("aoti_torch_tensor_copy_",
                   [&] { return detail::copy_tensor(*target, *source); });
}
inline ShimError aoti_torch_zero_(ModelTensor* self) noexcept {
  return shim_call("aoti_torch_zero_", [&]() -> Status {
    constexpr std::array<std::byte, 16> zeroes{};
    constexpr std::array<std::int64_t, max_rank> same{};
    copy_strided(self->data, self->step(), zeroes.data(),
                 std::span(same).first(static_cast<std::size_t>(self->rank)), self->shape(),
                 size_of(self->scalar_type));
    return ok();
  });
}

// Suffix, C++ type and dtype of the functions that read one element or make a tensor of one.
#define TENON_AOTI_ITEMS(X)                    \
  X(float32, float, ScalarType::Float)         \
  X(float64, double, ScalarType::Double)       \
  X(uint8, std::uint8_t, ScalarType::Byte)     \
  X(uint16, std::uint16_t, ScalarType::UInt16) \
  X(uint32, std::uint32_t, ScalarType::UInt32) \
  X(uint64, std::uint64_t, ScalarType::UInt64) \
  X(int8, std::int8_t, ScalarType::Char)       \
  X(int16, std::int16_t, ScalarType::Short)    \
  X(int32, std::int32_t, ScalarType::Int)      \
  X(int64, std::int64_t, ScalarType::Long)     \
  X(bool, bool, ScalarType::Bool)

#define TENON_AOTI_DEFINE_ITEM(suffix, type, number)                                              \
  inline ShimError aoti_torch_item_##suffix(ModelTensor* tensor, type* out) noexcept {            \
    return detail::item("aoti_torch_item_" #suffix, tensor, number, out);                         \
  }                                                                                               \
  inline ShimError aoti_torch_scalar_to_tensor_##suffix(type value, ModelTensor** out) noexcept { \
    return detail::scalar("aoti_torch_scalar_to_tensor_" #suffix, value, number, out);            \
  }
TENON_AOTI_ITEMS(TENON_AOTI_DEFINE_ITEM)
#undef TENON_AOTI_DEFINE_ITEM
inline ShimError aoti_torch_item_float16(ModelTensor* tensor, Half* out) noexcept {
  return detail::item("aoti_torch_item_float16", tensor, ScalarType::Half, out);
}
inline ShimError aoti_torch_item_bfloat16(ModelTensor* tensor, BFloat16* out) noexcept {
  return detail::item("aoti_torch_item_bfloat16", tensor, ScalarType::BFloat16, out);
}

/// All shims of this header.
inline std::span<const Shim> host() {
#define TENON_AOTI_ITEM_ENTRIES(suffix, type, number) \
  TENON_AOTI_ENTRY(aoti_torch_item_##suffix, )        \
  TENON_AOTI_ENTRY(aoti_torch_scalar_to_tensor_##suffix, )
  static const Shim list[] = {
      TENON_AOTI_ENTRY(aoti_torch_clone, ) TENON_AOTI_ENTRY(aoti_torch_clone_preserve_strides, )
          TENON_AOTI_ENTRY(aoti_torch_copy_, ) TENON_AOTI_ENTRY(aoti_torch_tensor_copy_, )
              TENON_AOTI_ENTRY(aoti_torch_zero_, ) TENON_AOTI_ENTRY(aoti_torch_item_float16, )
                  TENON_AOTI_ENTRY(aoti_torch_item_bfloat16, )
                      TENON_AOTI_ITEMS(TENON_AOTI_ITEM_ENTRIES)};
#undef TENON_AOTI_ITEM_ENTRIES
  return list;
}

}}}  // namespace tenon::TENON_RELEASE::aoti::shims
