// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernel_groups.hpp"
#include "tenon/aoti/shims/call.hpp"
#include "tenon/aoti/shims/shim_table.hpp"
#include "tenon/aoti/tensors/model_tensor.hpp"

// Operators that models compiled for the CPU call instead of generated code. Names, parameters and
// meaning follow PyTorch's C shim (torch/csrc/inductor/aoti_torch/generated/ c_shim_cpu.h);
// declarations, table and the exporter's names come from these lists. A group is what the option
// `cpu_kernels` of the build selects.
#define TENON_CPU_AOTI_ATTENTION(X)                                                      \
  X(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu,                          \
    (ModelTensor * query, ModelTensor * key, ModelTensor * value, double dropout_p,      \
     std::int32_t is_causal, ModelTensor** attn_mask, double* scale, ModelTensor** ret0, \
     ModelTensor** ret1))

#define TENON_CPU_AOTI_CONVOLUTION(X)                                                            \
  X(aoti_torch_cpu_convolution,                                                                  \
    (ModelTensor * input, ModelTensor * weight, ModelTensor * *bias, const std::int64_t* stride, \
     std::int64_t stride_len, const std::int64_t* padding, std::int64_t padding_len,             \
     const std::int64_t* dilation, std::int64_t dilation_len, std::int32_t transposed,           \
     const std::int64_t* output_padding, std::int64_t output_padding_len, std::int64_t groups,   \
     ModelTensor** ret0))

#define TENON_CPU_AOTI_DISTANCES(X)                                                     \
  X(aoti_torch_cpu__cdist_forward, (ModelTensor * x1, ModelTensor * x2, double p,       \
                                    std::int64_t* compute_mode, ModelTensor** ret0))    \
  X(aoti_torch_cpu__pdist_forward, (ModelTensor * self, double p, ModelTensor** ret0))  \
  X(aoti_torch_cpu__trilinear,                                                          \
    (ModelTensor * i1, ModelTensor * i2, ModelTensor * i3, const std::int64_t* expand1, \
     std::int64_t expand1_len, const std::int64_t* expand2, std::int64_t expand2_len,   \
     const std::int64_t* expand3, std::int64_t expand3_len, const std::int64_t* sumdim, \
     std::int64_t sumdim_len, std::int64_t unroll_dim, ModelTensor** ret0))

#define TENON_CPU_AOTI_EMBEDDING_BAG(X)                                                            \
  X(aoti_torch_cpu__embedding_bag,                                                                 \
    (ModelTensor * weight, ModelTensor * indices, ModelTensor * offsets,                           \
     std::int32_t scale_grad_by_freq, std::int64_t mode, std::int32_t sparse,                      \
     ModelTensor** per_sample_weights, std::int32_t include_last_offset, std::int64_t padding_idx, \
     ModelTensor** ret0, ModelTensor** ret1, ModelTensor** ret2, ModelTensor** ret3))              \
  X(aoti_torch_cpu__embedding_bag_forward_only,                                                    \
    (ModelTensor * weight, ModelTensor * indices, ModelTensor * offsets,                           \
     std::int32_t scale_grad_by_freq, std::int64_t mode, std::int32_t sparse,                      \
     ModelTensor** per_sample_weights, std::int32_t include_last_offset, std::int64_t padding_idx, \
     ModelTensor** ret0, ModelTensor** ret1, ModelTensor** ret2, ModelTensor** ret3))

#define TENON_CPU_AOTI_FFT(X)                                               \
  X(aoti_torch_cpu__fft_c2c,                                                \
    (ModelTensor * self, const std::int64_t* dim, std::int64_t dim_len,     \
     std::int64_t normalization, std::int32_t forward, ModelTensor** ret0)) \
  X(aoti_torch_cpu__fft_r2c,                                                \
    (ModelTensor * self, const std::int64_t* dim, std::int64_t dim_len,     \
     std::int64_t normalization, std::int32_t onesided, ModelTensor** ret0))

#define TENON_CPU_AOTI_GRID_SAMPLER(X)                                         \
  X(aoti_torch_cpu_grid_sampler_3d,                                            \
    (ModelTensor * input, ModelTensor * grid, std::int64_t interpolation_mode, \
     std::int64_t padding_mode, std::int32_t align_corners, ModelTensor** ret0))

#define TENON_CPU_AOTI_INDEX(X)                                                                    \
  X(aoti_torch_cpu_index_put,                                                                      \
    (ModelTensor * self, ModelTensor* const* const* indices, std::int64_t indices_len,             \
     ModelTensor* values, std::int32_t accumulate, ModelTensor** ret0))                            \
  X(aoti_torch_index_put_out, (ModelTensor * out, ModelTensor * self, ModelTensor* const* indices, \
                               std::uint32_t num_indices, ModelTensor* values, bool accumulate))   \
  X(aoti_torch_cpu_index_Tensor, (ModelTensor * self, ModelTensor* const* const* indices,          \
                                  std::int64_t indices_len, ModelTensor** ret0))

#define TENON_CPU_AOTI_LINALG(X)                                                                   \
  X(aoti_torch_cpu_cholesky_solve,                                                                 \
    (ModelTensor * self, ModelTensor * input2, std::int32_t upper, ModelTensor** ret0))            \
  X(aoti_torch_cpu_cholesky_inverse, (ModelTensor * self, std::int32_t upper, ModelTensor** ret0)) \
  X(aoti_torch_cpu_triangular_solve,                                                               \
    (ModelTensor * self, ModelTensor * A, std::int32_t upper, std::int32_t transpose,              \
     std::int32_t unitriangular, ModelTensor** ret0, ModelTensor** ret1))                          \
  X(aoti_torch_cpu_geqrf, (ModelTensor * self, ModelTensor * *ret0, ModelTensor * *ret1))          \
  X(aoti_torch_cpu_ormqr, (ModelTensor * self, ModelTensor * input2, ModelTensor * input3,         \
                           std::int32_t left, std::int32_t transpose, ModelTensor** ret0))         \
  X(aoti_torch_cpu_lu_unpack,                                                                      \
    (ModelTensor * LU_data, ModelTensor * LU_pivots, std::int32_t unpack_data,                     \
     std::int32_t unpack_pivots, ModelTensor** ret0, ModelTensor** ret1, ModelTensor** ret2))

#define TENON_CPU_AOTI_POOLING(X)                                                              \
  X(aoti_torch_cpu__adaptive_avg_pool2d, (ModelTensor * self, const std::int64_t* output_size, \
                                          std::int64_t output_size_len, ModelTensor** ret0))   \
  X(aoti_torch_cpu__adaptive_avg_pool3d, (ModelTensor * self, const std::int64_t* output_size, \
                                          std::int64_t output_size_len, ModelTensor** ret0))   \
  X(aoti_torch_cpu_adaptive_max_pool2d,                                                        \
    (ModelTensor * self, const std::int64_t* output_size, std::int64_t output_size_len,        \
     ModelTensor** ret0, ModelTensor** ret1))                                                  \
  X(aoti_torch_cpu_adaptive_max_pool3d,                                                        \
    (ModelTensor * self, const std::int64_t* output_size, std::int64_t output_size_len,        \
     ModelTensor** ret0, ModelTensor** ret1))                                                  \
  X(aoti_torch_cpu_max_pool2d_with_indices,                                                    \
    (ModelTensor * self, const std::int64_t* kernel_size, std::int64_t kernel_size_len,        \
     const std::int64_t* stride, std::int64_t stride_len, const std::int64_t* padding,         \
     std::int64_t padding_len, const std::int64_t* dilation, std::int64_t dilation_len,        \
     std::int32_t ceil_mode, ModelTensor** ret0, ModelTensor** ret1))                          \
  X(aoti_torch_cpu_max_pool3d_with_indices,                                                    \
    (ModelTensor * self, const std::int64_t* kernel_size, std::int64_t kernel_size_len,        \
     const std::int64_t* stride, std::int64_t stride_len, const std::int64_t* padding,         \
     std::int64_t padding_len, const std::int64_t* dilation, std::int64_t dilation_len,        \
     std::int32_t ceil_mode, ModelTensor** ret0, ModelTensor** ret1))                          \
  X(aoti_torch_cpu_avg_pool2d,                                                                 \
    (ModelTensor * self, const std::int64_t* kernel_size, std::int64_t kernel_size_len,        \
     const std::int64_t* stride, std::int64_t stride_len, const std::int64_t* padding,         \
     std::int64_t padding_len, std::int32_t ceil_mode, std::int32_t count_include_pad,         \
     std::int64_t* divisor_override, ModelTensor** ret0))                                      \
  X(aoti_torch_cpu_avg_pool3d,                                                                 \
    (ModelTensor * self, const std::int64_t* kernel_size, std::int64_t kernel_size_len,        \
     const std::int64_t* stride, std::int64_t stride_len, const std::int64_t* padding,         \
     std::int64_t padding_len, std::int32_t ceil_mode, std::int32_t count_include_pad,         \
     std::int64_t* divisor_override, ModelTensor** ret0))

#define TENON_CPU_AOTI_PRODUCTS(X)                                                            \
  X(aoti_torch_cpu_mm_out, (ModelTensor * out, ModelTensor * self, ModelTensor * mat2))       \
  X(aoti_torch_cpu_addmm_out, (ModelTensor * out, ModelTensor * self, ModelTensor * mat1,     \
                               ModelTensor * mat2, double beta, double alpha))                \
  X(aoti_torch_cpu_bmm_out, (ModelTensor * out, ModelTensor * self, ModelTensor * mat2))      \
  X(aoti_torch_cpu_baddbmm_out, (ModelTensor * out, ModelTensor * self, ModelTensor * batch1, \
                                 ModelTensor * batch2, double beta, double alpha))            \
  X(aoti_torch_cpu__grouped_mm,                                                               \
    (ModelTensor * self, ModelTensor * mat2, ModelTensor * *offs, ModelTensor * *bias,        \
     std::int32_t* out_dtype, ModelTensor** ret0))                                            \
  X(aoti_torch_cpu_addbmm, (ModelTensor * self, ModelTensor * batch1, ModelTensor * batch2,   \
                            double beta, double alpha, ModelTensor** ret0))

#define TENON_CPU_AOTI_QUANTIZED(X)                                                          \
  X(aoti_torch_cpu__int_mm_out, (ModelTensor * out, ModelTensor * self, ModelTensor * mat2)) \
  X(aoti_torch_cpu__weight_int8pack_mm,                                                      \
    (ModelTensor * self, ModelTensor * mat2, ModelTensor * scales, ModelTensor * *ret0))     \
  X(aoti_torch_cpu__weight_int4pack_mm_cpu_tensor,                                           \
    (ModelTensor * self, ModelTensor * weights, ModelTensor * group_size,                    \
     ModelTensor * scales_and_zeros, ModelTensor * *ret0))

#define TENON_CPU_AOTI_RANDOM(X)                                                                  \
  X(aoti_torch_cpu_rand, (const std::int64_t* size, std::int64_t size_len, std::int32_t* dtype,   \
                          std::int32_t* layout, std::int32_t* device, std::int32_t device_index,  \
                          std::int32_t* pin_memory, ModelTensor** ret0))                          \
  X(aoti_torch_cpu_randn, (const std::int64_t* size, std::int64_t size_len, std::int32_t* dtype,  \
                           std::int32_t* layout, std::int32_t* device, std::int32_t device_index, \
                           std::int32_t* pin_memory, ModelTensor** ret0))                         \
  X(aoti_torch_cpu_randint,                                                                       \
    (std::int64_t high, const std::int64_t* size, std::int64_t size_len, std::int32_t* dtype,     \
     std::int32_t* layout, std::int32_t* device, std::int32_t device_index,                       \
     std::int32_t* pin_memory, ModelTensor** ret0))                                               \
  X(aoti_torch_cpu_randint_low,                                                                   \
    (std::int64_t low, std::int64_t high, const std::int64_t* size, std::int64_t size_len,        \
     std::int32_t* dtype, std::int32_t* layout, std::int32_t* device, std::int32_t device_index,  \
     std::int32_t* pin_memory, ModelTensor** ret0))                                               \
  X(aoti_torch_cpu_randint_low_out, (ModelTensor * out, std::int64_t low, std::int64_t high,      \
                                     const std::int64_t* size, std::int64_t size_len))            \
  X(aoti_torch_cpu_randperm,                                                                      \
    (std::int64_t n, std::int32_t* dtype, std::int32_t* layout, std::int32_t* device,             \
     std::int32_t device_index, std::int32_t* pin_memory, ModelTensor** ret0))                    \
  X(aoti_torch_cpu_bernoulli__float, (ModelTensor * self, double p, void** generator))            \
  X(aoti_torch_cpu_bernoulli__Tensor, (ModelTensor * self, ModelTensor * p, void** generator))    \
  X(aoti_torch_cpu_rand_like,                                                                     \
    (ModelTensor * self, std::int32_t* dtype, std::int32_t* layout, std::int32_t* device,         \
     std::int32_t device_index, std::int32_t* pin_memory, std::int32_t* memory_format,            \
     ModelTensor** ret0))                                                                         \
  X(aoti_torch_cpu_randn_like,                                                                    \
    (ModelTensor * self, std::int32_t* dtype, std::int32_t* layout, std::int32_t* device,         \
     std::int32_t device_index, std::int32_t* pin_memory, std::int32_t* memory_format,            \
     ModelTensor** ret0))                                                                         \
  X(aoti_torch_cpu_randint_like,                                                                  \
    (ModelTensor * self, std::int64_t high, std::int32_t* dtype, std::int32_t* layout,            \
     std::int32_t* device, std::int32_t device_index, std::int32_t* pin_memory,                   \
     std::int32_t* memory_format, ModelTensor** ret0))                                            \
  X(aoti_torch_cpu_randint_like_low_dtype,                                                        \
    (ModelTensor * self, std::int64_t low, std::int64_t high, std::int32_t* dtype,                \
     std::int32_t* layout, std::int32_t* device, std::int32_t device_index,                       \
     std::int32_t* pin_memory, std::int32_t* memory_format, ModelTensor** ret0))                  \
  X(aoti_torch_cpu_uniform,                                                                       \
    (ModelTensor * self, double from, double to, void** generator, ModelTensor** ret0))           \
  X(aoti_torch_cpu_normal_functional,                                                             \
    (ModelTensor * self, double mean, double std, void** generator, ModelTensor** ret0))          \
  X(aoti_torch_cpu_exponential,                                                                   \
    (ModelTensor * self, double lambd, void** generator, ModelTensor** ret0))                     \
  X(aoti_torch_cpu_native_dropout,                                                                \
    (ModelTensor * input, double p, std::int32_t* train, ModelTensor** ret0, ModelTensor** ret1))

#define TENON_CPU_AOTI_RNN(X)                                                                      \
  X(aoti_torch_cpu_mkldnn_rnn_layer,                                                               \
    (ModelTensor * input, ModelTensor * weight0, ModelTensor * weight1, ModelTensor * weight2,     \
     ModelTensor * weight3, ModelTensor * hx, ModelTensor * cx, std::int32_t reverse,              \
     const std::int64_t* batch_sizes, std::int64_t batch_sizes_len, std::int64_t mode,             \
     std::int64_t hidden_size, std::int64_t num_layers, std::int32_t has_biases,                   \
     std::int32_t bidirectional, std::int32_t batch_first, std::int32_t train, ModelTensor** ret0, \
     ModelTensor** ret1, ModelTensor** ret2, ModelTensor** ret3))

#define TENON_CPU_AOTI_SCAN(X)                                                       \
  X(aoti_torch_cpu_cumprod,                                                          \
    (ModelTensor * self, std::int64_t dim, std::int32_t* dtype, ModelTensor** ret0)) \
  X(aoti_torch_cpu_cumsum,                                                           \
    (ModelTensor * self, std::int64_t dim, std::int32_t* dtype, ModelTensor** ret0)) \
  X(aoti_torch_cpu_cummax,                                                           \
    (ModelTensor * self, std::int64_t dim, ModelTensor** ret0, ModelTensor** ret1))  \
  X(aoti_torch_cpu_cummin,                                                           \
    (ModelTensor * self, std::int64_t dim, ModelTensor** ret0, ModelTensor** ret1))  \
  X(aoti_torch_cpu_logcumsumexp, (ModelTensor * self, std::int64_t dim, ModelTensor** ret0))

#define TENON_CPU_AOTI_SCATTER(X)                                                                \
  X(aoti_torch_cpu_scatter_src_out, (ModelTensor * out, ModelTensor * self, std::int64_t dim,    \
                                     ModelTensor* index, ModelTensor* src))                      \
  X(aoti_torch_cpu_scatter_value_out,                                                            \
    (ModelTensor * out, ModelTensor * self, std::int64_t dim, ModelTensor* index, double value)) \
  X(aoti_torch_cpu_scatter_reduce_two_out,                                                       \
    (ModelTensor * out, ModelTensor * self, std::int64_t dim, ModelTensor* index,                \
     ModelTensor* src, const char* reduce, std::int32_t include_self))                           \
  X(aoti_torch_scatter_out, (ModelTensor * out, ModelTensor * self, std::int64_t dim,            \
                             ModelTensor* index, ModelTensor* src))                              \
  X(aoti_torch_scatter_reduce_out,                                                               \
    (ModelTensor * out, ModelTensor * self, std::int64_t dim, ModelTensor* index,                \
     ModelTensor* src, const char* reduce, std::int32_t include_self))                           \
  X(aoti_torch_cpu_index_reduce,                                                                 \
    (ModelTensor * self, std::int64_t dim, ModelTensor* index, ModelTensor* source,              \
     const char* reduce, std::int32_t include_self, ModelTensor** ret0))

#define TENON_CPU_AOTI_SELECTION(X)                                                              \
  X(aoti_torch_cpu_kthvalue, (ModelTensor * self, std::int64_t k, std::int64_t dim,              \
                              std::int32_t keepdim, ModelTensor** ret0, ModelTensor** ret1))     \
  X(aoti_torch_cpu_mode, (ModelTensor * self, std::int64_t dim, std::int32_t keepdim,            \
                          ModelTensor** ret0, ModelTensor** ret1))                               \
  X(aoti_torch_cpu_median, (ModelTensor * self, ModelTensor * *ret0))                            \
  X(aoti_torch_cpu_nanmedian, (ModelTensor * self, ModelTensor * *ret0))                         \
  X(aoti_torch_cpu_bucketize_Tensor,                                                             \
    (ModelTensor * self, ModelTensor * boundaries, std::int32_t out_int32, std::int32_t right,   \
     ModelTensor** ret0))                                                                        \
  X(aoti_torch_cpu_searchsorted_Tensor,                                                          \
    (ModelTensor * sorted_sequence, ModelTensor * self, std::int32_t out_int32,                  \
     std::int32_t right, const char** side, ModelTensor** sorter, ModelTensor** ret0))           \
  X(aoti_torch_cpu_searchsorted_Scalar,                                                          \
    (ModelTensor * sorted_sequence, double self, std::int32_t out_int32, std::int32_t right,     \
     const char** side, ModelTensor** sorter, ModelTensor** ret0))                               \
  X(aoti_torch_cpu_histc,                                                                        \
    (ModelTensor * self, std::int64_t bins, double min, double max, ModelTensor** ret0))         \
  X(aoti_torch_cpu_masked_scatter,                                                               \
    (ModelTensor * self, ModelTensor * mask, ModelTensor * source, ModelTensor * *ret0))         \
  X(aoti_torch_cpu_masked_select, (ModelTensor * self, ModelTensor * mask, ModelTensor * *ret0)) \
  X(aoti_torch_cpu_nonzero, (ModelTensor * self, ModelTensor * *ret0))                           \
  X(aoti_torch_cpu_nonzero_static,                                                               \
    (ModelTensor * self, std::int64_t size, std::int64_t fill_value, ModelTensor** ret0))        \
  X(aoti_torch_cpu_repeat_interleave_Tensor,                                                     \
    (ModelTensor * repeats, std::int64_t* output_size, ModelTensor** ret0))

#define TENON_CPU_AOTI_SORT(X)                                                                     \
  X(aoti_torch_cpu_sort, (ModelTensor * self, std::int64_t dim, std::int32_t descending,           \
                          ModelTensor** ret0, ModelTensor** ret1))                                 \
  X(aoti_torch_cpu_sort_stable, (ModelTensor * self, std::int32_t* stable, std::int64_t dim,       \
                                 std::int32_t descending, ModelTensor** ret0, ModelTensor** ret1)) \
  X(aoti_torch_cpu_topk,                                                                           \
    (ModelTensor * self, std::int64_t k, std::int64_t dim, std::int32_t largest,                   \
     std::int32_t sorted, ModelTensor** ret0, ModelTensor** ret1))

#define TENON_CPU_AOTI_TENSORS(X)                                                                  \
  X(aoti_torch_cpu_slice_Tensor, (ModelTensor * self, std::int64_t dim, std::int64_t* start,       \
                                  std::int64_t* end, std::int64_t step, ModelTensor** ret0))       \
  X(aoti_torch_cpu_narrow, (ModelTensor * self, std::int64_t dim, std::int64_t start,              \
                            std::int64_t length, ModelTensor** ret0))                              \
  X(aoti_torch_cpu_permute,                                                                        \
    (ModelTensor * self, const std::int64_t* dims, std::int64_t dims_len, ModelTensor** ret0))     \
  X(aoti_torch_cpu_squeeze_dim, (ModelTensor * self, std::int64_t dim, ModelTensor** ret0))        \
  X(aoti_torch_cpu_reshape,                                                                        \
    (ModelTensor * self, const std::int64_t* shape, std::int64_t shape_len, ModelTensor** ret0))   \
  X(aoti_torch_cpu_view_dtype, (ModelTensor * self, std::int32_t dtype, ModelTensor** ret0))       \
  X(aoti_torch_cpu_view_as_complex, (ModelTensor * self, ModelTensor * *ret0))                     \
  X(aoti_torch_cpu_view_as_real, (ModelTensor * self, ModelTensor * *ret0))                        \
  X(aoti_torch_cpu_cat,                                                                            \
    (ModelTensor* const* tensors, std::int64_t tensors_len, std::int64_t dim, ModelTensor** ret0)) \
  X(aoti_torch_cpu_abs, (ModelTensor * self, ModelTensor * *ret0))                                 \
  X(aoti_torch_cpu_angle, (ModelTensor * self, ModelTensor * *ret0))                               \
  X(aoti_torch_cpu_polar, (ModelTensor * abs, ModelTensor * angle, ModelTensor * *ret0))           \
  X(aoti_torch_cpu_add_Tensor,                                                                     \
    (ModelTensor * self, ModelTensor * other, double alpha, ModelTensor** ret0))                   \
  X(aoti_torch_cpu_mul_Tensor, (ModelTensor * self, ModelTensor * other, ModelTensor * *ret0))     \
  X(aoti_torch_cpu_pow_Tensor_Tensor,                                                              \
    (ModelTensor * self, ModelTensor * exponent, ModelTensor * *ret0))                             \
  X(aoti_torch_cpu_add_Scalar,                                                                     \
    (ModelTensor * self, double other, double alpha, ModelTensor** ret0))                          \
  X(aoti_torch_cpu_mul_Scalar, (ModelTensor * self, double other, ModelTensor** ret0))             \
  X(aoti_torch_cpu_pow_Tensor_Scalar, (ModelTensor * self, double exponent, ModelTensor** ret0))   \
  X(aoti_torch_cpu_pow_Scalar, (double self, ModelTensor* exponent, ModelTensor** ret0))           \
  X(aoti_torch_cpu_fill__Scalar, (ModelTensor * self, double value))                               \
  X(aoti_torch_cpu_gcd, (ModelTensor * self, ModelTensor * other, ModelTensor * *ret0))

// Functions of c_shim_cpu.h without a kernel, and why, a line each. Functions that compute
// gradients, *_backward, have none. kernel_list.py reads lists and lines.
//
// clang-format off
//   _addmm_activation: not written; Inductor asks for `addmm_out` and fuses activations that follow
//   _dyn_quant_matmul_4bit: a packed layout of Arm's KleidiAI
//   _dyn_quant_pack_4bit_weight: a packed layout of Arm's KleidiAI
//   _efficientzerotensor: a tensor without memory, only made by autograd
//   _fused_moving_avg_obs_fq_helper: calibration while training, in no converted model
//   _fused_moving_avg_obs_fq_helper_functional: calibration while training, in no converted model
//   _fused_rms_norm: Inductor decomposes it
//   _histogramdd_from_bin_cts: not written; `histc` is
//   _scaled_dot_product_fused_attention_overrideable: for devices outside PyTorch's own tree
//   _scaled_mm: products of 8-bit floats: not written
//   _scaled_mm_out: products of 8-bit floats: not written
//   _to_sparse: sparse tensors: programs have strided ones
//   addmv: Inductor decomposes it
//   fractional_max_pool2d: not written
//   fractional_max_pool3d: not written
//   hann_window: Inductor decomposes it
//   histogram_bin_ct: not written; `histc` is
//   max_unpool2d: Inductor decomposes it
//   max_unpool3d: not written
//   pad: Inductor decomposes it
//   rand_generator: a generator cannot be passed to a program
//   rand_like_generator: a generator cannot be passed to a program
//   randint_generator: a generator cannot be passed to a program
//   randn_generator: a generator cannot be passed to a program
//   randn_like_generator: a generator cannot be passed to a program
//   resize_: changes the size of a given tensor, whose memory belongs to the model
//   resize_as_: changes the size of a given tensor, whose memory belongs to the model
//   segment_reduce: not written; `scatter_reduce` is
//   set__source_Tensor: changes the size of a given tensor, whose memory belongs to the model
//   to_sparse: sparse tensors: programs have strided ones
// clang-format on

namespace tenon::cpu_aoti {

using aoti::ModelTensor;
using aoti::ShimError;

#pragma GCC visibility push(hidden)
TENON_CPU_AOTI_KERNELS(TENON_AOTI_DECLARE)
#pragma GCC visibility pop

}  // namespace tenon::cpu_aoti
