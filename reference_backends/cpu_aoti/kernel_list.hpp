// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/aoti/call.hpp"
#include "tenon/aoti/shim_table.hpp"
#include "tenon/aoti/tensor.hpp"

// Functions that models compiled for the CPU call for what their own code does not do. Names,
// parameters and meaning are those of PyTorch's C shim (torch/csrc/inductor/aoti_torch/generated/
// c_shim_cpu.h); one list makes the declarations, the table and the exporter's names.
#define TENON_CPU_AOTI_KERNELS(X)                                                                  \
  X(aoti_torch_cpu_mm_out, (Tensor * out, Tensor * self, Tensor * mat2))                           \
  X(aoti_torch_cpu_addmm_out,                                                                      \
    (Tensor * out, Tensor * self, Tensor * mat1, Tensor * mat2, double beta, double alpha))        \
  X(aoti_torch_cpu_bmm_out, (Tensor * out, Tensor * self, Tensor * mat2))                          \
  X(aoti_torch_cpu_baddbmm_out,                                                                    \
    (Tensor * out, Tensor * self, Tensor * batch1, Tensor * batch2, double beta, double alpha))    \
  X(aoti_torch_cpu_convolution,                                                                    \
    (Tensor * input, Tensor * weight, Tensor * *bias, const std::int64_t* stride,                  \
     std::int64_t stride_len, const std::int64_t* padding, std::int64_t padding_len,               \
     const std::int64_t* dilation, std::int64_t dilation_len, std::int32_t transposed,             \
     const std::int64_t* output_padding, std::int64_t output_padding_len, std::int64_t groups,     \
     Tensor** ret0))                                                                               \
  X(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu,                                    \
    (Tensor * query, Tensor * key, Tensor * value, double dropout_p, std::int32_t is_causal,       \
     Tensor** attn_mask, double* scale, Tensor** ret0, Tensor** ret1))                             \
  X(aoti_torch_cpu__adaptive_avg_pool2d,                                                           \
    (Tensor * self, const std::int64_t* output_size, std::int64_t output_size_len, Tensor** ret0)) \
  X(aoti_torch_cpu__adaptive_avg_pool3d,                                                           \
    (Tensor * self, const std::int64_t* output_size, std::int64_t output_size_len, Tensor** ret0)) \
  X(aoti_torch_cpu_adaptive_max_pool2d,                                                            \
    (Tensor * self, const std::int64_t* output_size, std::int64_t output_size_len, Tensor** ret0,  \
     Tensor** ret1))                                                                               \
  X(aoti_torch_cpu_adaptive_max_pool3d,                                                            \
    (Tensor * self, const std::int64_t* output_size, std::int64_t output_size_len, Tensor** ret0,  \
     Tensor** ret1))                                                                               \
  X(aoti_torch_cpu_max_pool2d_with_indices,                                                        \
    (Tensor * self, const std::int64_t* kernel_size, std::int64_t kernel_size_len,                 \
     const std::int64_t* stride, std::int64_t stride_len, const std::int64_t* padding,             \
     std::int64_t padding_len, const std::int64_t* dilation, std::int64_t dilation_len,            \
     std::int32_t ceil_mode, Tensor** ret0, Tensor** ret1))                                        \
  X(aoti_torch_cpu_max_pool3d_with_indices,                                                        \
    (Tensor * self, const std::int64_t* kernel_size, std::int64_t kernel_size_len,                 \
     const std::int64_t* stride, std::int64_t stride_len, const std::int64_t* padding,             \
     std::int64_t padding_len, const std::int64_t* dilation, std::int64_t dilation_len,            \
     std::int32_t ceil_mode, Tensor** ret0, Tensor** ret1))                                        \
  X(aoti_torch_cpu_cumprod,                                                                        \
    (Tensor * self, std::int64_t dim, std::int32_t * dtype, Tensor * *ret0))                       \
  X(aoti_torch_cpu_cumsum,                                                                         \
    (Tensor * self, std::int64_t dim, std::int32_t * dtype, Tensor * *ret0))                       \
  X(aoti_torch_cpu_sort,                                                                           \
    (Tensor * self, std::int64_t dim, std::int32_t descending, Tensor * *ret0, Tensor * *ret1))    \
  X(aoti_torch_cpu_sort_stable, (Tensor * self, std::int32_t * stable, std::int64_t dim,           \
                                 std::int32_t descending, Tensor * *ret0, Tensor * *ret1))         \
  X(aoti_torch_cpu_topk, (Tensor * self, std::int64_t k, std::int64_t dim, std::int32_t largest,   \
                          std::int32_t sorted, Tensor * *ret0, Tensor * *ret1))                    \
  X(aoti_torch_cpu__embedding_bag,                                                                 \
    (Tensor * weight, Tensor * indices, Tensor * offsets, std::int32_t scale_grad_by_freq,         \
     std::int64_t mode, std::int32_t sparse, Tensor * *per_sample_weights,                         \
     std::int32_t include_last_offset, std::int64_t padding_idx, Tensor * *ret0, Tensor * *ret1,   \
     Tensor * *ret2, Tensor * *ret3))                                                              \
  X(aoti_torch_cpu__embedding_bag_forward_only,                                                    \
    (Tensor * weight, Tensor * indices, Tensor * offsets, std::int32_t scale_grad_by_freq,         \
     std::int64_t mode, std::int32_t sparse, Tensor * *per_sample_weights,                         \
     std::int32_t include_last_offset, std::int64_t padding_idx, Tensor * *ret0, Tensor * *ret1,   \
     Tensor * *ret2, Tensor * *ret3))                                                              \
  X(aoti_torch_cpu_mkldnn_rnn_layer,                                                               \
    (Tensor * input, Tensor * weight0, Tensor * weight1, Tensor * weight2, Tensor * weight3,       \
     Tensor * hx, Tensor * cx, std::int32_t reverse, const std::int64_t* batch_sizes,              \
     std::int64_t batch_sizes_len, std::int64_t mode, std::int64_t hidden_size,                    \
     std::int64_t num_layers, std::int32_t has_biases, std::int32_t bidirectional,                 \
     std::int32_t batch_first, std::int32_t train, Tensor** ret0, Tensor** ret1, Tensor** ret2,    \
     Tensor** ret3))                                                                               \
  X(aoti_torch_cpu_index_put,                                                                      \
    (Tensor * self, Tensor* const* const* indices, std::int64_t indices_len, Tensor* values,       \
     std::int32_t accumulate, Tensor** ret0))                                                      \
  X(aoti_torch_index_put_out, (Tensor * out, Tensor * self, Tensor* const* indices,                \
                               std::uint32_t num_indices, Tensor* values, bool accumulate))        \
  X(aoti_torch_cpu_scatter_src_out,                                                                \
    (Tensor * out, Tensor * self, std::int64_t dim, Tensor * index, Tensor * src))                 \
  X(aoti_torch_cpu_scatter_value_out,                                                              \
    (Tensor * out, Tensor * self, std::int64_t dim, Tensor * index, double value))                 \
  X(aoti_torch_cpu_scatter_reduce_two_out,                                                         \
    (Tensor * out, Tensor * self, std::int64_t dim, Tensor * index, Tensor * src,                  \
     const char* reduce, std::int32_t include_self))                                               \
  X(aoti_torch_scatter_out,                                                                        \
    (Tensor * out, Tensor * self, std::int64_t dim, Tensor * index, Tensor * src))                 \
  X(aoti_torch_scatter_reduce_out, (Tensor * out, Tensor * self, std::int64_t dim, Tensor * index, \
                                    Tensor * src, const char* reduce, std::int32_t include_self))  \
  X(aoti_torch_cpu_rand,                                                                           \
    (const std::int64_t* size, std::int64_t size_len, std::int32_t* dtype, std::int32_t* layout,   \
     std::int32_t* device, std::int32_t device_index, std::int32_t* pin_memory, Tensor** ret0))    \
  X(aoti_torch_cpu_randn,                                                                          \
    (const std::int64_t* size, std::int64_t size_len, std::int32_t* dtype, std::int32_t* layout,   \
     std::int32_t* device, std::int32_t device_index, std::int32_t* pin_memory, Tensor** ret0))    \
  X(aoti_torch_cpu_randint, (std::int64_t high, const std::int64_t* size, std::int64_t size_len,   \
                             std::int32_t* dtype, std::int32_t* layout, std::int32_t* device,      \
                             std::int32_t device_index, std::int32_t* pin_memory, Tensor** ret0))  \
  X(aoti_torch_cpu_randint_low,                                                                    \
    (std::int64_t low, std::int64_t high, const std::int64_t* size, std::int64_t size_len,         \
     std::int32_t* dtype, std::int32_t* layout, std::int32_t* device, std::int32_t device_index,   \
     std::int32_t* pin_memory, Tensor** ret0))                                                     \
  X(aoti_torch_cpu_randint_low_out, (Tensor * out, std::int64_t low, std::int64_t high,            \
                                     const std::int64_t* size, std::int64_t size_len))             \
  X(aoti_torch_cpu_randperm,                                                                       \
    (std::int64_t n, std::int32_t * dtype, std::int32_t * layout, std::int32_t * device,           \
     std::int32_t device_index, std::int32_t * pin_memory, Tensor * *ret0))                        \
  X(aoti_torch_cpu_bernoulli__float, (Tensor * self, double p, void** generator))                  \
  X(aoti_torch_cpu_bernoulli__Tensor, (Tensor * self, Tensor * p, void** generator))

namespace tenon::cpu_aoti {

using aoti::ShimError;
using aoti::Tensor;

#pragma GCC visibility push(hidden)
TENON_CPU_AOTI_KERNELS(TENON_AOTI_DECLARE)
#pragma GCC visibility pop

}  // namespace tenon::cpu_aoti
