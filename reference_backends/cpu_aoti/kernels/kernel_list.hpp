// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/aoti/shims/call.hpp"
#include "tenon/aoti/shims/shim_table.hpp"
#include "tenon/aoti/tensors/model_tensor.hpp"

// Operators that models compiled for the CPU call instead of generated code. Names, parameters and
// meaning are those of PyTorch's C shim (torch/csrc/inductor/aoti_torch/generated/ c_shim_cpu.h);
// declarations, table and the exporter's names come from this list.
#define TENON_CPU_AOTI_KERNELS(X)                                                                  \
  X(aoti_torch_cpu_mm_out, (ModelTensor * out, ModelTensor * self, ModelTensor * mat2))            \
  X(aoti_torch_cpu_addmm_out, (ModelTensor * out, ModelTensor * self, ModelTensor * mat1,          \
                               ModelTensor * mat2, double beta, double alpha))                     \
  X(aoti_torch_cpu_bmm_out, (ModelTensor * out, ModelTensor * self, ModelTensor * mat2))           \
  X(aoti_torch_cpu_baddbmm_out, (ModelTensor * out, ModelTensor * self, ModelTensor * batch1,      \
                                 ModelTensor * batch2, double beta, double alpha))                 \
  X(aoti_torch_cpu_convolution,                                                                    \
    (ModelTensor * input, ModelTensor * weight, ModelTensor * *bias, const std::int64_t* stride,   \
     std::int64_t stride_len, const std::int64_t* padding, std::int64_t padding_len,               \
     const std::int64_t* dilation, std::int64_t dilation_len, std::int32_t transposed,             \
     const std::int64_t* output_padding, std::int64_t output_padding_len, std::int64_t groups,     \
     ModelTensor** ret0))                                                                          \
  X(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu,                                    \
    (ModelTensor * query, ModelTensor * key, ModelTensor * value, double dropout_p,                \
     std::int32_t is_causal, ModelTensor** attn_mask, double* scale, ModelTensor** ret0,           \
     ModelTensor** ret1))                                                                          \
  X(aoti_torch_cpu__adaptive_avg_pool2d, (ModelTensor * self, const std::int64_t* output_size,     \
                                          std::int64_t output_size_len, ModelTensor** ret0))       \
  X(aoti_torch_cpu__adaptive_avg_pool3d, (ModelTensor * self, const std::int64_t* output_size,     \
                                          std::int64_t output_size_len, ModelTensor** ret0))       \
  X(aoti_torch_cpu_adaptive_max_pool2d,                                                            \
    (ModelTensor * self, const std::int64_t* output_size, std::int64_t output_size_len,            \
     ModelTensor** ret0, ModelTensor** ret1))                                                      \
  X(aoti_torch_cpu_adaptive_max_pool3d,                                                            \
    (ModelTensor * self, const std::int64_t* output_size, std::int64_t output_size_len,            \
     ModelTensor** ret0, ModelTensor** ret1))                                                      \
  X(aoti_torch_cpu_max_pool2d_with_indices,                                                        \
    (ModelTensor * self, const std::int64_t* kernel_size, std::int64_t kernel_size_len,            \
     const std::int64_t* stride, std::int64_t stride_len, const std::int64_t* padding,             \
     std::int64_t padding_len, const std::int64_t* dilation, std::int64_t dilation_len,            \
     std::int32_t ceil_mode, ModelTensor** ret0, ModelTensor** ret1))                              \
  X(aoti_torch_cpu_max_pool3d_with_indices,                                                        \
    (ModelTensor * self, const std::int64_t* kernel_size, std::int64_t kernel_size_len,            \
     const std::int64_t* stride, std::int64_t stride_len, const std::int64_t* padding,             \
     std::int64_t padding_len, const std::int64_t* dilation, std::int64_t dilation_len,            \
     std::int32_t ceil_mode, ModelTensor** ret0, ModelTensor** ret1))                              \
  X(aoti_torch_cpu_cumprod,                                                                        \
    (ModelTensor * self, std::int64_t dim, std::int32_t* dtype, ModelTensor** ret0))               \
  X(aoti_torch_cpu_cumsum,                                                                         \
    (ModelTensor * self, std::int64_t dim, std::int32_t* dtype, ModelTensor** ret0))               \
  X(aoti_torch_cpu_sort, (ModelTensor * self, std::int64_t dim, std::int32_t descending,           \
                          ModelTensor** ret0, ModelTensor** ret1))                                 \
  X(aoti_torch_cpu_sort_stable, (ModelTensor * self, std::int32_t* stable, std::int64_t dim,       \
                                 std::int32_t descending, ModelTensor** ret0, ModelTensor** ret1)) \
  X(aoti_torch_cpu_topk,                                                                           \
    (ModelTensor * self, std::int64_t k, std::int64_t dim, std::int32_t largest,                   \
     std::int32_t sorted, ModelTensor** ret0, ModelTensor** ret1))                                 \
  X(aoti_torch_cpu__embedding_bag,                                                                 \
    (ModelTensor * weight, ModelTensor * indices, ModelTensor * offsets,                           \
     std::int32_t scale_grad_by_freq, std::int64_t mode, std::int32_t sparse,                      \
     ModelTensor** per_sample_weights, std::int32_t include_last_offset, std::int64_t padding_idx, \
     ModelTensor** ret0, ModelTensor** ret1, ModelTensor** ret2, ModelTensor** ret3))              \
  X(aoti_torch_cpu__embedding_bag_forward_only,                                                    \
    (ModelTensor * weight, ModelTensor * indices, ModelTensor * offsets,                           \
     std::int32_t scale_grad_by_freq, std::int64_t mode, std::int32_t sparse,                      \
     ModelTensor** per_sample_weights, std::int32_t include_last_offset, std::int64_t padding_idx, \
     ModelTensor** ret0, ModelTensor** ret1, ModelTensor** ret2, ModelTensor** ret3))              \
  X(aoti_torch_cpu_mkldnn_rnn_layer,                                                               \
    (ModelTensor * input, ModelTensor * weight0, ModelTensor * weight1, ModelTensor * weight2,     \
     ModelTensor * weight3, ModelTensor * hx, ModelTensor * cx, std::int32_t reverse,              \
     const std::int64_t* batch_sizes, std::int64_t batch_sizes_len, std::int64_t mode,             \
     std::int64_t hidden_size, std::int64_t num_layers, std::int32_t has_biases,                   \
     std::int32_t bidirectional, std::int32_t batch_first, std::int32_t train, ModelTensor** ret0, \
     ModelTensor** ret1, ModelTensor** ret2, ModelTensor** ret3))                                  \
  X(aoti_torch_cpu_index_put,                                                                      \
    (ModelTensor * self, ModelTensor* const* const* indices, std::int64_t indices_len,             \
     ModelTensor* values, std::int32_t accumulate, ModelTensor** ret0))                            \
  X(aoti_torch_index_put_out, (ModelTensor * out, ModelTensor * self, ModelTensor* const* indices, \
                               std::uint32_t num_indices, ModelTensor* values, bool accumulate))   \
  X(aoti_torch_cpu_scatter_src_out, (ModelTensor * out, ModelTensor * self, std::int64_t dim,      \
                                     ModelTensor* index, ModelTensor* src))                        \
  X(aoti_torch_cpu_scatter_value_out,                                                              \
    (ModelTensor * out, ModelTensor * self, std::int64_t dim, ModelTensor* index, double value))   \
  X(aoti_torch_cpu_scatter_reduce_two_out,                                                         \
    (ModelTensor * out, ModelTensor * self, std::int64_t dim, ModelTensor* index,                  \
     ModelTensor* src, const char* reduce, std::int32_t include_self))                             \
  X(aoti_torch_scatter_out, (ModelTensor * out, ModelTensor * self, std::int64_t dim,              \
                             ModelTensor* index, ModelTensor* src))                                \
  X(aoti_torch_scatter_reduce_out,                                                                 \
    (ModelTensor * out, ModelTensor * self, std::int64_t dim, ModelTensor* index,                  \
     ModelTensor* src, const char* reduce, std::int32_t include_self))                             \
  X(aoti_torch_cpu_rand, (const std::int64_t* size, std::int64_t size_len, std::int32_t* dtype,    \
                          std::int32_t* layout, std::int32_t* device, std::int32_t device_index,   \
                          std::int32_t* pin_memory, ModelTensor** ret0))                           \
  X(aoti_torch_cpu_randn, (const std::int64_t* size, std::int64_t size_len, std::int32_t* dtype,   \
                           std::int32_t* layout, std::int32_t* device, std::int32_t device_index,  \
                           std::int32_t* pin_memory, ModelTensor** ret0))                          \
  X(aoti_torch_cpu_randint,                                                                        \
    (std::int64_t high, const std::int64_t* size, std::int64_t size_len, std::int32_t* dtype,      \
     std::int32_t* layout, std::int32_t* device, std::int32_t device_index,                        \
     std::int32_t* pin_memory, ModelTensor** ret0))                                                \
  X(aoti_torch_cpu_randint_low,                                                                    \
    (std::int64_t low, std::int64_t high, const std::int64_t* size, std::int64_t size_len,         \
     std::int32_t* dtype, std::int32_t* layout, std::int32_t* device, std::int32_t device_index,   \
     std::int32_t* pin_memory, ModelTensor** ret0))                                                \
  X(aoti_torch_cpu_randint_low_out, (ModelTensor * out, std::int64_t low, std::int64_t high,       \
                                     const std::int64_t* size, std::int64_t size_len))             \
  X(aoti_torch_cpu_randperm,                                                                       \
    (std::int64_t n, std::int32_t* dtype, std::int32_t* layout, std::int32_t* device,              \
     std::int32_t device_index, std::int32_t* pin_memory, ModelTensor** ret0))                     \
  X(aoti_torch_cpu_bernoulli__float, (ModelTensor * self, double p, void** generator))             \
  X(aoti_torch_cpu_bernoulli__Tensor, (ModelTensor * self, ModelTensor * p, void** generator))

namespace tenon::cpu_aoti {

using aoti::ModelTensor;
using aoti::ShimError;

#pragma GCC visibility push(hidden)
TENON_CPU_AOTI_KERNELS(TENON_AOTI_DECLARE)
#pragma GCC visibility pop

}  // namespace tenon::cpu_aoti
