// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include "tenon/aoti/shims/call.hpp"
#include "tenon/aoti/shims/shim_table.hpp"
#include "tenon/aoti/shims/thread_exit.hpp"
#include "tenon/aoti/tensors/size_mask.hpp"

/// Shims that every compiled model calls, whatever its device: numbers of dtypes and devices, and
/// tensors as handles. None of them reads or writes elements.
/// torch/csrc/inductor/aoti_torch/c/shim.h defines their names, parameters and meaning. The pool
/// records the text of a failure.
namespace tenon { inline namespace TENON_RELEASE { namespace aoti::shims {

// Name and value: functions without parameters that return a number.
#define TENON_AOTI_NUMBERS(X)                                      \
  X(aoti_torch_device_type_cpu, TorchDeviceType::cpu)              \
  X(aoti_torch_device_type_cuda, TorchDeviceType::cuda)            \
  X(aoti_torch_device_type_mps, TorchDeviceType::mps)              \
  X(aoti_torch_dtype_uint8, ScalarType::Byte)                      \
  X(aoti_torch_dtype_int8, ScalarType::Char)                       \
  X(aoti_torch_dtype_int16, ScalarType::Short)                     \
  X(aoti_torch_dtype_int32, ScalarType::Int)                       \
  X(aoti_torch_dtype_int64, ScalarType::Long)                      \
  X(aoti_torch_dtype_uint16, ScalarType::UInt16)                   \
  X(aoti_torch_dtype_uint32, ScalarType::UInt32)                   \
  X(aoti_torch_dtype_uint64, ScalarType::UInt64)                   \
  X(aoti_torch_dtype_float16, ScalarType::Half)                    \
  X(aoti_torch_dtype_float32, ScalarType::Float)                   \
  X(aoti_torch_dtype_float64, ScalarType::Double)                  \
  X(aoti_torch_dtype_bfloat16, ScalarType::BFloat16)               \
  X(aoti_torch_dtype_bool, ScalarType::Bool)                       \
  X(aoti_torch_dtype_complex32, ScalarType::ComplexHalf)           \
  X(aoti_torch_dtype_complex64, ScalarType::ComplexFloat)          \
  X(aoti_torch_dtype_complex128, ScalarType::ComplexDouble)        \
  X(aoti_torch_dtype_float8_e5m2, ScalarType::Float8_e5m2)         \
  X(aoti_torch_dtype_float8_e4m3fn, ScalarType::Float8_e4m3fn)     \
  X(aoti_torch_dtype_float8_e5m2fnuz, ScalarType::Float8_e5m2fnuz) \
  X(aoti_torch_dtype_float8_e4m3fnuz, ScalarType::Float8_e4m3fnuz) \
  X(aoti_torch_layout_strided, 0)                                  \
  X(aoti_torch_memory_format_contiguous_format, 0)                 \
  X(aoti_torch_memory_format_preserve_format, 1)                   \
  X(aoti_torch_memory_format_channels_last, 2)                     \
  X(aoti_torch_memory_format_channels_last_3d, 3)

#define TENON_AOTI_DEFINE_NUMBER(name, value) \
  inline std::int32_t name() noexcept { return static_cast<std::int32_t>(value); }
TENON_AOTI_NUMBERS(TENON_AOTI_DEFINE_NUMBER)
#undef TENON_AOTI_DEFINE_NUMBER

inline std::size_t aoti_torch_dtype_element_size(std::int32_t dtype) noexcept {
  const auto* info = find_scalar_type(dtype);
  return info ? info->size : 0;
}
inline bool aoti_torch_grad_mode_is_enabled() noexcept { return false; }
/// Does nothing: there are no gradients here.
inline void aoti_torch_grad_mode_set_enabled(bool) noexcept {}

/// Stops a model whose own check failed (an index out of bounds). Throws, as libtorch's does,
/// because the code after the check must not run; the model's entry points catch it.
inline void aoti_torch_check(bool condition, const char* function, const char* file,
                             std::uint32_t line, const char* message) {
  if (condition) [[likely]]
    return;
  throw std::runtime_error(concat(std::string_view(message ? message : "a check failed"), " (",
                                  std::string_view(function ? function : "?"), ", ",
                                  std::string_view(file ? file : "?"), ":", line, ")"));
}

/// Ignores a model's warning: it is not a failure.
inline void aoti_torch_warn(const char*, const char*, std::uint32_t, const char*) noexcept {}

// Properties of a tensor. Models never pass a null `tensor`.
inline ShimError aoti_torch_get_data_ptr(ModelTensor* tensor, void** out) noexcept {
  *out = tensor->data;
  return shim_ok;
}
inline ShimError aoti_torch_get_storage_size(ModelTensor* tensor, std::int64_t* out) noexcept {
  *out = static_cast<std::int64_t>(tensor->storage->nbytes);
  return shim_ok;
}
inline ShimError aoti_torch_get_storage_numel(ModelTensor* tensor, std::int64_t* out) noexcept {
  *out = static_cast<std::int64_t>(tensor->storage->nbytes / size_of(tensor->scalar_type));
  return shim_ok;
}
inline ShimError aoti_torch_get_dim(ModelTensor* tensor, std::int64_t* out) noexcept {
  *out = tensor->rank;
  return shim_ok;
}
inline ShimError aoti_torch_get_numel(ModelTensor* tensor, std::int64_t* out) noexcept {
  *out = tensor->numel;
  return shim_ok;
}
inline ShimError aoti_torch_get_sizes(ModelTensor* tensor, std::int64_t** out) noexcept {
  *out = tensor->sizes.data();
  return shim_ok;
}
inline ShimError aoti_torch_get_strides(ModelTensor* tensor, std::int64_t** out) noexcept {
  *out = tensor->strides.data();
  return shim_ok;
}
inline ShimError aoti_torch_get_dtype(ModelTensor* tensor, std::int32_t* out) noexcept {
  *out = static_cast<std::int32_t>(tensor->scalar_type);
  return shim_ok;
}
inline ShimError aoti_torch_get_device_type(ModelTensor* tensor, std::int32_t* out) noexcept {
  if (SizeMask* const mask = tensor->storage->pool->size_mask()) mask->asked_for_device(tensor);
  *out = static_cast<std::int32_t>(tensor->device_type);
  return shim_ok;
}
inline ShimError aoti_torch_get_device_index(ModelTensor* tensor, std::int32_t* out) noexcept {
  *out = tensor->device_index;
  return shim_ok;
}
inline ShimError aoti_torch_get_layout(ModelTensor*, std::int32_t* out) noexcept {
  *out = 0;  // Strided, the only layout.
  return shim_ok;
}
inline ShimError aoti_torch_get_storage_offset(ModelTensor* tensor, std::int64_t* out) noexcept {
  *out = tensor->storage_offset;
  return shim_ok;
}
inline ShimError aoti_torch_is_contiguous(ModelTensor* tensor, bool* out) noexcept {
  *out = tensor->is_contiguous();
  return shim_ok;
}
inline ShimError aoti_torch_is_defined(ModelTensor* tensor, bool* out) noexcept {
  *out = tensor != nullptr;
  return shim_ok;
}

namespace detail {

/// The dimension of `tensor` that a model's number means, counted from the end when negative.
inline Result<std::size_t> dimension(const ModelTensor& tensor, std::int64_t index) {
  const std::int64_t wrapped = index < 0 ? index + tensor.rank : index;
  if (wrapped >= 0 && wrapped < tensor.rank) return static_cast<std::size_t>(wrapped);
  return error(Error::InvalidArgument, "dimension ", index, " of a tensor of rank ", tensor.rank);
}

inline std::span<const std::int64_t> list(const std::int64_t* values, std::int64_t count) noexcept {
  return {values, count > 0 ? static_cast<std::size_t>(count) : 0};
}

/// Returns a new tensor through `out`. When it is null, the pool has the reason.
inline ShimError give(ModelTensor* made, ModelTensor** out) noexcept {
  *out = made;
  return made ? shim_ok : shim_failed;
}

/// Returns the tensor that `make` makes, which may fail to allocate.
template <class Make>
ShimError give_new(const char* name, ModelTensor** out, Make make) noexcept {
  ModelTensor* made = nullptr;
  const ShimError failed = shim_call(name, [&] {
    made = make(current_pool());
    return ok();
  });
  return failed != shim_ok ? failed : give(made, out);
}

}  // namespace detail

inline ShimError aoti_torch_get_size(ModelTensor* tensor, std::int64_t index,
                                     std::int64_t* out) noexcept {
  return shim_call("aoti_torch_get_size", [&]() -> Status {
    TENON_TRY(const std::size_t d, detail::dimension(*tensor, index));
    *out = tensor->sizes[d];
    return ok();
  });
}
inline ShimError aoti_torch_get_stride(ModelTensor* tensor, std::int64_t index,
                                       std::int64_t* out) noexcept {
  return shim_call("aoti_torch_get_stride", [&]() -> Status {
    TENON_TRY(const std::size_t d, detail::dimension(*tensor, index));
    *out = tensor->strides[d];
    return ok();
  });
}

// Handles.
inline ShimError aoti_torch_new_tensor_handle(ModelTensor* self, ModelTensor** out) noexcept {
  return detail::give_new("aoti_torch_new_tensor_handle", out,
                          [&](TensorPool&) { return self->storage->pool->share(*self); });
}
inline ShimError aoti_torch_assign_tensors_out(ModelTensor* source, ModelTensor** out) noexcept {
  return aoti_torch_new_tensor_handle(source, out);
}
inline ShimError aoti_torch_delete_tensor_object(ModelTensor* tensor) noexcept {
  if (tensor) tensor->storage->pool->release(tensor);
  return shim_ok;
}
inline ShimError aoti_torch_empty_strided(std::int64_t rank, const std::int64_t* sizes,
                                          const std::int64_t* strides, std::int32_t dtype,
                                          std::int32_t device_type, std::int32_t device_index,
                                          ModelTensor** out) noexcept {
  return detail::give_new("aoti_torch_empty_strided", out, [&](TensorPool& pool) {
    return pool.empty_strided(detail::list(sizes, rank), strides, static_cast<ScalarType>(dtype),
                              static_cast<TorchDeviceType>(device_type), device_index);
  });
}
inline ShimError aoti_torch_create_tensor_from_blob(
    void* data, std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,
    std::int64_t storage_offset, std::int32_t dtype, std::int32_t device_type,
    std::int32_t device_index, ModelTensor** out) noexcept {
  ModelTensor* made = nullptr;
  const ShimError failed = shim_call("aoti_torch_create_tensor_from_blob", [&]() -> Status {
    TensorPool& pool = current_pool();
    const auto device = static_cast<TorchDeviceType>(device_type);
    ConstantAdoption::Place place{data, false};
    if (pool.adoption()) {
      TENON_TRY(place, pool.adoption()->next(data, device));
    }
    made = pool.from_blob(place.data, detail::list(sizes, rank), strides, storage_offset,
                          static_cast<ScalarType>(dtype), device, device_index);
    if (made) made->storage->is_fixed = place.is_fixed;
    return ok();
  });
  return failed != shim_ok ? failed : detail::give(made, out);
}
inline ShimError aoti_torch_create_tensor_from_blob_v2(
    void* data, std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,
    std::int64_t storage_offset, std::int32_t dtype, std::int32_t device_type,
    std::int32_t device_index, ModelTensor** out, std::int32_t layout, const std::uint8_t*,
    std::int64_t) noexcept {
  if (layout == 0) {
    return aoti_torch_create_tensor_from_blob(data, rank, sizes, strides, storage_offset, dtype,
                                              device_type, device_index, out);
  }
  return shim_call("aoti_torch_create_tensor_from_blob_v2", [&] {
    return error(Error::NotSupported, "expected a strided constant (layout 0), found layout ",
                 layout);
  });
}
/// The offset counts from the first element of `self`, not of its storage (ATen:
/// torch/csrc/inductor/inductor_ops.cpp, _reinterpret_tensor).
inline ShimError aoti_torch__reinterpret_tensor(ModelTensor* self, std::int64_t rank,
                                                const std::int64_t* sizes,
                                                const std::int64_t* strides, std::int64_t offset,
                                                ModelTensor** out) noexcept {
  return detail::give_new("aoti_torch__reinterpret_tensor", out, [&](TensorPool& pool) {
    std::int64_t from_storage = 0;
    if (__builtin_add_overflow(self->storage_offset, offset, &from_storage)) {
      from_storage =
          std::numeric_limits<std::int64_t>::max();  // Refused by name, as any too large.
    }
    return pool.view(*self, detail::list(sizes, rank), strides, from_storage);
  });
}
inline ShimError aoti_torch_as_strided(ModelTensor* self, const std::int64_t* sizes,
                                       const std::int64_t* strides, ModelTensor** out) noexcept {
  return detail::give_new("aoti_torch_as_strided", out, [&](TensorPool& pool) {
    return pool.view(*self, detail::list(sizes, self->rank), strides, self->storage_offset);
  });
}

/// The `memcpy` of models.
inline void* model_memcpy(void* to, const void* from, std::size_t nbytes) noexcept {
  if (ConstantAdoption::any_active()) [[unlikely]] {
    const TensorPool* pool = ::tenon::aoti::detail::current_pool;
    if (pool && pool->adoption() && pool->adoption()->keeps(from, nbytes)) return to;
  }
  return std::memcpy(to, from, nbytes);
}

#define TENON_AOTI_BASE(X)                   \
  X(aoti_torch_dtype_element_size, )         \
  X(aoti_torch_grad_mode_is_enabled, )       \
  X(aoti_torch_grad_mode_set_enabled, )      \
  X(aoti_torch_check, )                      \
  X(aoti_torch_warn, )                       \
  X(aoti_torch_get_data_ptr, )               \
  X(aoti_torch_get_storage_size, )           \
  X(aoti_torch_get_storage_numel, )          \
  X(aoti_torch_get_dim, )                    \
  X(aoti_torch_get_numel, )                  \
  X(aoti_torch_get_sizes, )                  \
  X(aoti_torch_get_size, )                   \
  X(aoti_torch_get_strides, )                \
  X(aoti_torch_get_stride, )                 \
  X(aoti_torch_get_dtype, )                  \
  X(aoti_torch_get_device_type, )            \
  X(aoti_torch_get_device_index, )           \
  X(aoti_torch_get_layout, )                 \
  X(aoti_torch_get_storage_offset, )         \
  X(aoti_torch_is_contiguous, )              \
  X(aoti_torch_is_defined, )                 \
  X(aoti_torch_new_tensor_handle, )          \
  X(aoti_torch_assign_tensors_out, )         \
  X(aoti_torch_delete_tensor_object, )       \
  X(aoti_torch_empty_strided, )              \
  X(aoti_torch_create_tensor_from_blob, )    \
  X(aoti_torch_create_tensor_from_blob_v2, ) \
  X(aoti_torch__reinterpret_tensor, )        \
  X(aoti_torch_as_strided, )

/// All shims of this header.
inline std::span<const Shim> base() {
  static const Shim list[] = {
      TENON_AOTI_NUMBERS(TENON_AOTI_ENTRY) TENON_AOTI_BASE(TENON_AOTI_ENTRY)
      // See ConstantAdoption.
      Shim{"memcpy", reinterpret_cast<const void*>(&model_memcpy)},
      // See ThreadExit.
      Shim{"__cxa_thread_atexit", reinterpret_cast<const void*>(&ThreadExit::at_exit)},
  };
  return list;
}

}}}  // namespace tenon::TENON_RELEASE::aoti::shims
