// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/core/result.hpp"

namespace tenon::cuda_aoti::kernels {

// Types, numbers and functions of cuBLASLt, declared here because they are few and stable
// (cublasLt.h of CUDA 12 and 13): the plugin is built, and works, without it. Descriptors are
// pointers to opaque types.
using cublasStatus_t = int;
using cublasLtHandle_t = struct cublasLtContext*;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque*;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque*;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque*;

inline constexpr cublasStatus_t CUBLAS_STATUS_SUCCESS = 0;
inline constexpr cublasStatus_t CUBLAS_STATUS_ALLOC_FAILED = 3;
inline constexpr cublasStatus_t CUBLAS_STATUS_NOT_SUPPORTED = 15;
inline constexpr int CUBLAS_COMPUTE_32F = 68;
inline constexpr std::int32_t CUBLAS_OP_T = 1;
inline constexpr int CUDA_R_32F = 0;
inline constexpr int CUDA_R_16BF = 14;
inline constexpr int CUBLASLT_MATMUL_DESC_TRANSA = 3;
inline constexpr int CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1;
inline constexpr int CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3;
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6;
inline constexpr std::uint32_t CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2;

struct cublasLtMatmulAlgo_t {
  std::uint64_t data[8];
};

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  std::size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

// Result, name, parameters.
#define TENON_CUBLASLT_FUNCTIONS(X)                                                              \
  X(std::size_t, cublasLtGetVersion, ())                                                         \
  X(const char*, cublasLtGetStatusName, (cublasStatus_t))                                        \
  X(const char*, cublasLtGetStatusString, (cublasStatus_t))                                      \
  X(cublasStatus_t, cublasLtCreate, (cublasLtHandle_t*))                                         \
  X(cublasStatus_t, cublasLtDestroy, (cublasLtHandle_t))                                         \
  X(cublasStatus_t, cublasLtMatmulDescCreate,                                                    \
    (cublasLtMatmulDesc_t*, int compute_type, int scale_type))                                   \
  X(cublasStatus_t, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t))                           \
  X(cublasStatus_t, cublasLtMatmulDescSetAttribute,                                              \
    (cublasLtMatmulDesc_t, int attribute, const void*, std::size_t))                             \
  X(cublasStatus_t, cublasLtMatrixLayoutCreate,                                                  \
    (cublasLtMatrixLayout_t*, int type, std::uint64_t rows, std::uint64_t columns,               \
     std::int64_t stride))                                                                       \
  X(cublasStatus_t, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t))                       \
  X(cublasStatus_t, cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t*))               \
  X(cublasStatus_t, cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t))               \
  X(cublasStatus_t, cublasLtMatmulPreferenceSetAttribute,                                        \
    (cublasLtMatmulPreference_t, int attribute, const void*, std::size_t))                       \
  X(cublasStatus_t, cublasLtMatmulAlgoGetHeuristic,                                              \
    (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, \
     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t,             \
     int requested, cublasLtMatmulHeuristicResult_t*, int* found))                               \
  X(cublasStatus_t, cublasLtMatmul,                                                              \
    (cublasLtHandle_t, cublasLtMatmulDesc_t, const void* alpha, const void* a,                   \
     cublasLtMatrixLayout_t, const void* b, cublasLtMatrixLayout_t, const void* beta,            \
     const void* c, cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t,                     \
     const cublasLtMatmulAlgo_t*, void* workspace, std::size_t workspace_bytes, void* stream))

/// The functions of cuBLASLt that this plugin calls. They stay valid: the library is never
/// unloaded.
struct CublasLt {
#define TENON_CUBLASLT_MEMBER(type, name, parameters) type(*name) parameters = nullptr;
  TENON_CUBLASLT_FUNCTIONS(TENON_CUBLASLT_MEMBER)
#undef TENON_CUBLASLT_MEMBER

  /// A failed call as an error: "cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED (13): ...". Missing
  /// memory is MemoryAllocationFailed, a product for which there is no algorithm NotSupported.
  [[nodiscard]] Status check(std::string_view call, cublasStatus_t code) const;
};

/// Calls a function of cuBLASLt and turns its result into a Status.
#define TENON_CUBLASLT(library, function, ...) \
  (library).check(#function, (library).function(__VA_ARGS__))

/// Opens the library in the file `path`; if that is empty, libcublasLt.so.13 or .12 where the
/// system's loader finds it.
///
/// errors: NotFound when there is none; NotSupported when it is of another major version than 12
/// and 13, or lacks a function.
/// threads: any
[[nodiscard]] Result<CublasLt> load_cublaslt(std::string_view path);

}  // namespace tenon::cuda_aoti::kernels
