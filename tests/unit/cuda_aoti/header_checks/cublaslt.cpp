// SPDX-License-Identifier: MIT
//
// The declarations of cuBLASLt that the plugin has, against cublasLt.h. Compiled only where there
// is one; nothing here runs.
#include <cublasLt.h>

#include "alike.hpp"
#include "kernels/cublaslt.hpp"

namespace ours = tenon::cuda_aoti::kernels;

namespace tenon::cuda_aoti::kernels { namespace {

using header_checks::is_called_alike;

#define TENON_CHECK_FUNCTION(type, name, parameters)                    \
  static_assert(is_called_alike<type(*) parameters, decltype(&::name)>, \
                #name " has another result or parameters in cublasLt.h");
TENON_CUBLASLT_FUNCTIONS(TENON_CHECK_FUNCTION)

}}  // namespace tenon::cuda_aoti::kernels

TENON_CHECK_NUMBER(CUBLAS_STATUS_SUCCESS);
TENON_CHECK_NUMBER(CUBLAS_STATUS_ALLOC_FAILED);
TENON_CHECK_NUMBER(CUBLAS_STATUS_NOT_SUPPORTED);
TENON_CHECK_NUMBER(CUBLAS_COMPUTE_32F);
TENON_CHECK_NUMBER(CUBLAS_OP_T);
TENON_CHECK_NUMBER(CUDA_R_32F);
TENON_CHECK_NUMBER(CUDA_R_16BF);
TENON_CHECK_NUMBER(CUBLASLT_MATMUL_DESC_TRANSA);
TENON_CHECK_NUMBER(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
TENON_CHECK_NUMBER(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
TENON_CHECK_NUMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
TENON_CHECK_NUMBER(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);

#define TENON_CHECK_MEMBER(type, member) \
  static_assert(offsetof(ours::type, member) == offsetof(::type, member))
TENON_CHECK_MEMBER(cublasLtMatmulHeuristicResult_t, algo);
TENON_CHECK_MEMBER(cublasLtMatmulHeuristicResult_t, workspaceSize);
TENON_CHECK_MEMBER(cublasLtMatmulHeuristicResult_t, state);
TENON_CHECK_MEMBER(cublasLtMatmulHeuristicResult_t, wavesCount);
static_assert(sizeof(ours::cublasLtMatmulHeuristicResult_t) ==
              sizeof(::cublasLtMatmulHeuristicResult_t));
static_assert(sizeof(ours::cublasLtMatmulAlgo_t) == sizeof(::cublasLtMatmulAlgo_t));
