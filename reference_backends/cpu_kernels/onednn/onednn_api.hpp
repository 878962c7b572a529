// SPDX-License-Identifier: MIT
#pragma once

#include <dnnl.h>

#include "tenon/core/status.hpp"

namespace tenon::cpu_aoti::onednn {

static_assert(DNNL_VERSION_MAJOR == 2 || DNNL_VERSION_MAJOR == 3,
              "the kernels are written for oneDNN 2 and 3");

// The functions of oneDNN that the kernels call: of one version, and of both.
#if DNNL_VERSION_MAJOR >= 3
#define TENON_CPU_AOTI_ONEDNN_OWN(X)                  \
  X(dnnl_convolution_forward_primitive_desc_create)   \
  X(dnnl_deconvolution_forward_primitive_desc_create) \
  X(dnnl_lstm_forward_primitive_desc_create)          \
  X(dnnl_matmul_primitive_desc_create)                \
  X(dnnl_memory_desc_clone)                           \
  X(dnnl_memory_desc_create_with_strides)             \
  X(dnnl_memory_desc_create_with_tag)                 \
  X(dnnl_memory_desc_destroy)                         \
  X(dnnl_post_ops_append_eltwise)
#else
#define TENON_CPU_AOTI_ONEDNN_OWN(X)              \
  X(dnnl_dilated_convolution_forward_desc_init)   \
  X(dnnl_dilated_deconvolution_forward_desc_init) \
  X(dnnl_lstm_forward_desc_init)                  \
  X(dnnl_matmul_desc_init)                        \
  X(dnnl_memory_desc_init_by_strides)             \
  X(dnnl_memory_desc_init_by_tag)                 \
  X(dnnl_primitive_attr_set_output_scales)        \
  X(dnnl_primitive_desc_create)
#endif
#define TENON_CPU_AOTI_ONEDNN(X)             \
  TENON_CPU_AOTI_ONEDNN_OWN(X)               \
  X(dnnl_engine_create)                      \
  X(dnnl_engine_destroy)                     \
  X(dnnl_memory_create)                      \
  X(dnnl_memory_desc_equal)                  \
  X(dnnl_memory_desc_get_size)               \
  X(dnnl_memory_destroy)                     \
  X(dnnl_memory_set_data_handle)             \
  X(dnnl_post_ops_append_sum)                \
  X(dnnl_post_ops_create)                    \
  X(dnnl_post_ops_destroy)                   \
  X(dnnl_primitive_attr_create)              \
  X(dnnl_primitive_attr_destroy)             \
  X(dnnl_primitive_attr_set_post_ops)        \
  X(dnnl_primitive_attr_set_scratchpad_mode) \
  X(dnnl_primitive_create)                   \
  X(dnnl_primitive_desc_destroy)             \
  X(dnnl_primitive_desc_query_md)            \
  X(dnnl_primitive_destroy)                  \
  X(dnnl_primitive_execute)                  \
  X(dnnl_reorder_primitive_desc_create)      \
  X(dnnl_sgemm)                              \
  X(dnnl_stream_create)                      \
  X(dnnl_stream_destroy)

/// oneDNN, isolated from the other libraries of the process.
///
/// libtorch contains its own oneDNN and exports some of its templates. A linked oneDNN would be
/// bound to those where libtorch was loaded first, and each library would call into the other. So
/// it is loaded by name, with its own symbols first (RTLD_DEEPBIND), and called through this table.
struct Api {
#define TENON_CPU_AOTI_MEMBER(name) decltype(&::name) name = nullptr;
  TENON_CPU_AOTI_ONEDNN(TENON_CPU_AOTI_MEMBER)
#undef TENON_CPU_AOTI_MEMBER
};

/// Loads oneDNN at the first call. NotFound, with the loader's message, when it is missing or lacks
/// a function.
[[nodiscard]] Status load();

/// The table. To be used only after `load` succeeded, which `init` of the backend ensures.
[[nodiscard]] const Api& api() noexcept;

}  // namespace tenon::cpu_aoti::onednn
