// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/aoti/call.hpp"
#include "tenon/aoti/shim_table.hpp"
#include "tenon/aoti/tensor.hpp"

// Functions that models compiled for the CPU call for what their own code does not do. Names,
// parameters and meaning are those of PyTorch's C shim (torch/csrc/inductor/aoti_torch/generated/
// c_shim_cpu.h); one list makes the declarations, the table and the exporter's names.
#define TENON_CPU_AOTI_KERNELS(X)                                                               \
  X(aoti_torch_cpu_mm_out, (Tensor * out, Tensor * self, Tensor * mat2))                        \
  X(aoti_torch_cpu_addmm_out,                                                                   \
    (Tensor * out, Tensor * self, Tensor * mat1, Tensor * mat2, double beta, double alpha))     \
  X(aoti_torch_cpu_bmm_out, (Tensor * out, Tensor * self, Tensor * mat2))                       \
  X(aoti_torch_cpu_baddbmm_out,                                                                 \
    (Tensor * out, Tensor * self, Tensor * batch1, Tensor * batch2, double beta, double alpha)) \
  X(aoti_torch_cpu_convolution,                                                                 \
    (Tensor * input, Tensor * weight, Tensor * *bias, const std::int64_t* stride,               \
     std::int64_t stride_len, const std::int64_t* padding, std::int64_t padding_len,            \
     const std::int64_t* dilation, std::int64_t dilation_len, std::int32_t transposed,          \
     const std::int64_t* output_padding, std::int64_t output_padding_len, std::int64_t groups,  \
     Tensor** ret0))                                                                            \
  X(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu,                                 \
    (Tensor * query, Tensor * key, Tensor * value, double dropout_p, std::int32_t is_causal,    \
     Tensor** attn_mask, double* scale, Tensor** ret0, Tensor** ret1))

namespace tenon::cpu_aoti {

using aoti::ShimError;
using aoti::Tensor;

#pragma GCC visibility push(hidden)
TENON_CPU_AOTI_KERNELS(TENON_AOTI_DECLARE)
#pragma GCC visibility pop

}  // namespace tenon::cpu_aoti
