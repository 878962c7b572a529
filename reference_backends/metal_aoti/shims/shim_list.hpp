// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/metal_device.hpp"
#include "tenon/aoti/shims/call.hpp"
#include "tenon/aoti/shims/shim_table.hpp"
#include "tenon/aoti/tensors/model_tensor.hpp"

// Shims of models compiled for Metal. Names, parameters and meaning follow PyTorch's C shim
// (torch/csrc/inductor/aoti_torch/c/shim_mps.h, generated/c_shim_mps.h); operators that PyTorch
// lacks are declared by torchao (experimental/ops/mps/cshim.py) and by ExecuTorch
// (backends/apple/metal/ops). Declarations, table and the exporter's names come from these lists.

// Operators that a model calls by name. The exporter's allow-list has the same names.
#define TENON_METAL_AOTI_KERNELS(X)                                                              \
  X(aoti_torch_mps_mm_out, (ModelTensor * out, ModelTensor * self, ModelTensor * mat2))          \
  X(aoti_torch_mps_addmm_out, (ModelTensor * out, ModelTensor * self, ModelTensor * mat1,        \
                               ModelTensor * mat2, double beta, double alpha))                   \
  X(aoti_torch_mps_bmm_out, (ModelTensor * out, ModelTensor * self, ModelTensor * mat2))         \
  X(aoti_torch_mps_convolution,                                                                  \
    (ModelTensor * input, ModelTensor * weight, ModelTensor * *bias, const std::int64_t* stride, \
     std::int64_t stride_len, const std::int64_t* padding, std::int64_t padding_len,             \
     const std::int64_t* dilation, std::int64_t dilation_len, std::int32_t transposed,           \
     const std::int64_t* output_padding, std::int64_t output_padding_len, std::int64_t groups,   \
     ModelTensor** ret0))                                                                        \
  X(aoti_torch_mps__scaled_dot_product_attention_math_for_mps,                                   \
    (ModelTensor * query, ModelTensor * key, ModelTensor * value, ModelTensor * *attn_mask,      \
     double dropout_p, std::int32_t is_causal, ModelTensor** dropout_mask, double* scale,        \
     ModelTensor** ret0, ModelTensor** ret1))                                                    \
  X(aoti_torch_mps__scaled_dot_product_attention_math_for_mps_v2,                                \
    (ModelTensor * query, ModelTensor * key, ModelTensor * value, ModelTensor * *attn_mask,      \
     double dropout_p, std::int32_t is_causal, ModelTensor** dropout_mask, double* scale,        \
     std::int32_t enable_gqa, ModelTensor** ret0, ModelTensor** ret1))                           \
  X(aoti_torch_mps_topk,                                                                         \
    (ModelTensor * self, std::int64_t k, std::int64_t dim, std::int32_t largest,                 \
     std::int32_t sorted, ModelTensor** ret0, ModelTensor** ret1))                               \
  X(aoti_torch_mps__linear_fp_act_4bit_weight,                                                   \
    (ModelTensor * activations, ModelTensor * weight, std::int64_t group_size,                   \
     ModelTensor* scales, ModelTensor* zeros, ModelTensor** ret0))                               \
  X(aoti_torch_mps_gather_qmv,                                                                   \
    (ModelTensor * x, ModelTensor * w, ModelTensor * scales, ModelTensor * biases,               \
     ModelTensor * expert_indices, std::int64_t group_size, ModelTensor** ret0))                 \
  X(aoti_torch_mps_gated_delta_rule,                                                             \
    (ModelTensor * q, ModelTensor * k, ModelTensor * v, ModelTensor * g, ModelTensor * beta,     \
     ModelTensor * state, ModelTensor * *ret0))

// Functions with which generated code controls the device.
#define TENON_METAL_AOTI_DEVICE(X)                                                              \
  X(aoti_torch_mps_create_shader_library, (const char* source, ShaderLibrary** out))            \
  X(aoti_torch_mps_delete_shader_library, (ShaderLibrary * library))                            \
  X(aoti_torch_mps_get_kernel_function,                                                         \
    (ShaderLibrary * library, const char* name, MetalFunction** out))                           \
  X(aoti_torch_mps_start_encoding, (MetalFunction * function))                                  \
  X(aoti_torch_mps_set_arg_tensor,                                                              \
    (MetalFunction * function, unsigned index, ModelTensor* tensor))                            \
  X(aoti_torch_mps_set_arg_int, (MetalFunction * function, unsigned index, std::int64_t value)) \
  X(aoti_torch_mps_dispatch_single, (MetalFunction * function, std::uint64_t length))           \
  X(aoti_torch_mps_dispatch_single_with_group_size,                                             \
    (MetalFunction * function, std::uint64_t length, std::uint64_t group_size))                 \
  X(aoti_torch_mps_dispatch_array,                                                              \
    (MetalFunction * function, const std::uint64_t* length, std::size_t length_size))           \
  X(aoti_torch_mps_dispatch_array_with_group_size,                                              \
    (MetalFunction * function, const std::uint64_t* length, std::size_t length_size,            \
     const std::uint64_t* group_size, std::size_t group_size_size))                             \
  X(aoti_torch_mps_malloc, (void** out, std::size_t nbytes))                                    \
  X(aoti_torch_mps_free, (void* address))                                                       \
  X(aoti_torch_mps_memcpy, (void* buffer, std::size_t constant_offset, std::size_t bytes_read,  \
                            std::size_t data_size, std::uint8_t* constants_start))              \
  X(aoti_torch_mps_copy_buffer, (void* source, void* target, std::size_t nbytes,                \
                                 std::size_t source_offset, std::size_t target_offset))         \
  X(aoti_torch_mps_run_command_block,                                                           \
    (MetalFunction * function, CommandBlock callback, void* user_data))

// Functions of the shared layer that this device replaces.
#define TENON_METAL_AOTI_TENSORS(X)                                                               \
  X(aoti_torch_empty_strided,                                                                     \
    (std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,                   \
     std::int32_t dtype, std::int32_t device_type, std::int32_t device_index, ModelTensor** out)) \
  X(aoti_torch_create_tensor_from_blob,                                                           \
    (void* data, std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,       \
     std::int64_t storage_offset, std::int32_t dtype, std::int32_t device_type,                   \
     std::int32_t device_index, ModelTensor** out))                                               \
  X(aoti_torch_create_tensor_from_blob_v2,                                                        \
    (void* data, std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,       \
     std::int64_t storage_offset, std::int32_t dtype, std::int32_t device_type,                   \
     std::int32_t device_index, ModelTensor** out, std::int32_t layout,                           \
     const std::uint8_t* opaque, std::int64_t opaque_size))                                       \
  X(aoti_torch_clone, (ModelTensor * self, ModelTensor * *out))                                   \
  X(aoti_torch_clone_preserve_strides, (ModelTensor * self, ModelTensor * *out))                  \
  X(aoti_torch_copy_, (ModelTensor * self, ModelTensor * source, std::int32_t non_blocking))      \
  X(aoti_torch_tensor_copy_, (ModelTensor * source, ModelTensor * target))                        \
  X(aoti_torch_zero_, (ModelTensor * self))

namespace tenon::metal_aoti {

using aoti::ModelTensor;
using aoti::ShimError;

/// The type behind a model's AOTIMetalShaderLibraryHandle. Owns its kernels, `MetalFunction`s. All
/// instances of a model share one, so it has no state of an encoding.
struct ShaderLibrary;
using CommandBlock = void (*)(MetalFunction* function, void* user_data);

#pragma GCC visibility push(hidden)
TENON_METAL_AOTI_KERNELS(TENON_AOTI_DECLARE)
TENON_METAL_AOTI_DEVICE(TENON_AOTI_DECLARE)
TENON_METAL_AOTI_TENSORS(TENON_AOTI_DECLARE)
/// Calls the std::function that `user_data` points to, as generated code expects for its blocks.
void aoti_torch_mps_shared_callback(MetalFunction* function, void* user_data);
#pragma GCC visibility pop

/// The host's functions that read one element, which wait first for tensors on the device.
[[nodiscard]] std::span<const aoti::Shim> item_shims();

/// All shims for Metal, sorted by name.
[[nodiscard]] std::span<const aoti::Shim> metal_shims();

/// Address of the shim of that name, or null.
[[nodiscard]] const void* find_metal_shim(std::string_view name);

}  // namespace tenon::metal_aoti
