// SPDX-License-Identifier: MIT
//
// The declarations of the CUDA driver that the plugin has, against cuda.h. Compiled only where
// there is one; nothing here runs.
#include <cuda.h>
// Its macros would rename the members below.
#undef cuCtxPopCurrent
#undef cuCtxPushCurrent
#undef cuDevicePrimaryCtxRelease
#undef cuDeviceGetUuid
#undef cuDeviceTotalMem
#undef cuEventDestroy
#undef cuGraphInstantiate
#undef cuMemAlloc
#undef cuMemFree
#undef cuMemHostAlloc
#undef cuMemcpy2DAsync
#undef cuMemcpyDtoDAsync
#undef cuMemcpyDtoHAsync
#undef cuMemcpyHtoDAsync
#undef cuStreamBeginCapture
#undef cuStreamDestroy

#include <cstddef>
#include <type_traits>

#include "alike.hpp"
#include "driver/driver.hpp"

namespace ours = tenon::cuda_aoti;

namespace tenon::cuda_aoti { namespace {

using header_checks::is_called_alike;

#define TENON_CHECK_FUNCTION(member, symbol, parameters)                          \
  static_assert(is_called_alike<ours::CUresult(*) parameters, decltype(&symbol)>, \
                #symbol " has other parameters in cuda.h");
TENON_CUDA_DRIVER_FUNCTIONS(TENON_CHECK_FUNCTION)

}}  // namespace tenon::cuda_aoti

TENON_CHECK_NUMBER(CUDA_SUCCESS);
TENON_CHECK_NUMBER(CUDA_ERROR_INVALID_VALUE);
TENON_CHECK_NUMBER(CUDA_ERROR_OUT_OF_MEMORY);
TENON_CHECK_NUMBER(CUDA_ERROR_NO_DEVICE);
TENON_CHECK_NUMBER(CUDA_ERROR_INVALID_DEVICE);
TENON_CHECK_NUMBER(CUDA_ERROR_NO_BINARY_FOR_GPU);
TENON_CHECK_NUMBER(CUDA_ERROR_INVALID_PTX);
TENON_CHECK_NUMBER(CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
TENON_CHECK_NUMBER(CUDA_ERROR_NOT_READY);
TENON_CHECK_NUMBER(CU_STREAM_DEFAULT);
TENON_CHECK_NUMBER(CU_STREAM_NON_BLOCKING);
TENON_CHECK_NUMBER(CU_STREAM_CAPTURE_MODE_RELAXED);
TENON_CHECK_NUMBER(CU_STREAM_CAPTURE_STATUS_NONE);
TENON_CHECK_NUMBER(CU_EVENT_DISABLE_TIMING);
TENON_CHECK_NUMBER(CU_MEMORYTYPE_HOST);
TENON_CHECK_NUMBER(CU_MEMORYTYPE_DEVICE);
TENON_CHECK_NUMBER(CU_MEM_ALLOCATION_TYPE_PINNED);
TENON_CHECK_NUMBER(CU_MEM_LOCATION_TYPE_DEVICE);
TENON_CHECK_NUMBER(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
TENON_CHECK_NUMBER(CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
TENON_CHECK_NUMBER(CU_POINTER_ATTRIBUTE_IS_MANAGED);
TENON_CHECK_NUMBER(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
TENON_CHECK_NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
TENON_CHECK_NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
TENON_CHECK_NUMBER(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
TENON_CHECK_NUMBER(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
TENON_CHECK_NUMBER(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
TENON_CHECK_NUMBER(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
TENON_CHECK_NUMBER(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);

#define TENON_CHECK_MEMBER(ours_type, our_member, theirs, member) \
  static_assert(offsetof(ours::ours_type, our_member) == offsetof(::theirs, member))
TENON_CHECK_MEMBER(CUmemPoolProps, allocType, CUmemPoolProps_v1, allocType);
TENON_CHECK_MEMBER(CUmemPoolProps, handleTypes, CUmemPoolProps_v1, handleTypes);
TENON_CHECK_MEMBER(CUmemPoolProps, locationType, CUmemPoolProps_v1, location.type);
TENON_CHECK_MEMBER(CUmemPoolProps, locationId, CUmemPoolProps_v1, location.id);
static_assert(sizeof(ours::CUmemPoolProps) == sizeof(::CUmemPoolProps_v1));
TENON_CHECK_MEMBER(CUDA_MEMCPY2D, srcMemoryType, CUDA_MEMCPY2D_v2, srcMemoryType);
TENON_CHECK_MEMBER(CUDA_MEMCPY2D, srcDevice, CUDA_MEMCPY2D_v2, srcDevice);
TENON_CHECK_MEMBER(CUDA_MEMCPY2D, srcPitch, CUDA_MEMCPY2D_v2, srcPitch);
TENON_CHECK_MEMBER(CUDA_MEMCPY2D, dstMemoryType, CUDA_MEMCPY2D_v2, dstMemoryType);
TENON_CHECK_MEMBER(CUDA_MEMCPY2D, dstDevice, CUDA_MEMCPY2D_v2, dstDevice);
TENON_CHECK_MEMBER(CUDA_MEMCPY2D, dstPitch, CUDA_MEMCPY2D_v2, dstPitch);
TENON_CHECK_MEMBER(CUDA_MEMCPY2D, WidthInBytes, CUDA_MEMCPY2D_v2, WidthInBytes);
TENON_CHECK_MEMBER(CUDA_MEMCPY2D, Height, CUDA_MEMCPY2D_v2, Height);
static_assert(sizeof(ours::CUDA_MEMCPY2D) == sizeof(::CUDA_MEMCPY2D_v2));
TENON_CHECK_NUMBER(CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD);
static_assert(ours::external_memory_dedicated == CUDA_EXTERNAL_MEMORY_DEDICATED);
TENON_CHECK_MEMBER(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle.fd, CUDA_EXTERNAL_MEMORY_HANDLE_DESC_v1,
                   handle.fd);
TENON_CHECK_MEMBER(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size, CUDA_EXTERNAL_MEMORY_HANDLE_DESC_v1,
                   size);
TENON_CHECK_MEMBER(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, flags, CUDA_EXTERNAL_MEMORY_HANDLE_DESC_v1,
                   flags);
static_assert(sizeof(ours::CUDA_EXTERNAL_MEMORY_HANDLE_DESC) ==
              sizeof(::CUDA_EXTERNAL_MEMORY_HANDLE_DESC_v1));
TENON_CHECK_MEMBER(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, offset, CUDA_EXTERNAL_MEMORY_BUFFER_DESC_v1,
                   offset);
TENON_CHECK_MEMBER(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size, CUDA_EXTERNAL_MEMORY_BUFFER_DESC_v1,
                   size);
static_assert(sizeof(ours::CUDA_EXTERNAL_MEMORY_BUFFER_DESC) ==
              sizeof(::CUDA_EXTERNAL_MEMORY_BUFFER_DESC_v1));
