// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/aoti/shims/call.hpp"
#include "tenon/aoti/shims/shim_table.hpp"
#include "tenon/aoti/tensors/model_tensor.hpp"

// Shims that only CUDA has: the current device and stream, and memory. Names, parameters and
// meaning follow torch/csrc/inductor/aoti_torch/c/shim.h. A model works on one device and on the
// stream of its run; a guard temporarily makes another stream the current one.
#define TENON_CUDA_AOTI_SHIMS(X)                                                     \
  X(aoti_torch_create_cuda_guard, (std::int32_t device_index, CudaGuard** out))      \
  X(aoti_torch_delete_cuda_guard, (CudaGuard * guard))                               \
  X(aoti_torch_cuda_guard_set_index, (CudaGuard * guard, std::int32_t device_index)) \
  X(aoti_torch_create_cuda_stream_guard,                                             \
    (void* stream, std::int32_t device_index, CudaGuard** out))                      \
  X(aoti_torch_delete_cuda_stream_guard, (CudaGuard * guard))                        \
  X(aoti_torch_get_current_cuda_stream, (std::int32_t device_index, void** out))     \
  X(aoti_torch_cuda_caching_allocator_raw_alloc, (std::uint64_t nbytes, void** out)) \
  X(aoti_torch_cuda_caching_allocator_raw_delete, (void* block))

namespace tenon::cuda_aoti {

using aoti::ShimError;

/// The state before a guard; see cuda_shims.cpp.
struct CudaGuard;

#pragma GCC visibility push(hidden)
TENON_CUDA_AOTI_SHIMS(TENON_AOTI_DECLARE)
#pragma GCC visibility pop

}  // namespace tenon::cuda_aoti
