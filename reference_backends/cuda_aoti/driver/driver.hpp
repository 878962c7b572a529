// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/core/result.hpp"

namespace tenon::cuda_aoti {

// Types and functions of the CUDA driver, declared here because they are few and stable (cuda.h of
// CUDA 11.8 to 13): the plugin is built, and works, without the toolkit. Handles are pointers to
// opaque types.
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUexternalMemory = struct CUextMemory_st*;

inline constexpr CUresult CUDA_SUCCESS = 0;
inline constexpr CUresult CUDA_ERROR_INVALID_VALUE = 1;
inline constexpr CUresult CUDA_ERROR_OUT_OF_MEMORY = 2;
inline constexpr CUresult CUDA_ERROR_NO_DEVICE = 100;
inline constexpr CUresult CUDA_ERROR_INVALID_DEVICE = 101;
inline constexpr CUresult CUDA_ERROR_NOT_READY = 600;
inline constexpr CUresult CUDA_ERROR_NO_BINARY_FOR_GPU = 209;
inline constexpr CUresult CUDA_ERROR_INVALID_PTX = 218;
inline constexpr CUresult CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222;
inline constexpr unsigned CU_STREAM_DEFAULT = 0;
inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
inline constexpr int CU_STREAM_CAPTURE_STATUS_NONE = 0;
inline constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;
inline constexpr int CU_MEM_ALLOCATION_TYPE_PINNED = 1;
inline constexpr int CU_MEM_LOCATION_TYPE_DEVICE = 1;
inline constexpr int CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4;
inline constexpr int CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97;
inline constexpr int CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81;
inline constexpr int CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
inline constexpr int CU_STREAM_CAPTURE_MODE_RELAXED = 2;
inline constexpr int CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD = 1;
inline constexpr unsigned external_memory_dedicated = 1;  ///< A macro of cuda.h.
inline constexpr int CU_MEMORYTYPE_HOST = 1;
inline constexpr int CU_MEMORYTYPE_DEVICE = 2;
inline constexpr int CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2;
inline constexpr int CU_POINTER_ATTRIBUTE_IS_MANAGED = 8;
inline constexpr int CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;

/// Handles of the default streams: CU_STREAM_LEGACY, which is also the null stream, and
/// CU_STREAM_PER_THREAD.
inline const auto legacy_stream = reinterpret_cast<CUstream>(std::uintptr_t{1});
inline const auto per_thread_stream = reinterpret_cast<CUstream>(std::uintptr_t{2});

/// Layout of CUmemPoolProps_v1.
struct CUmemPoolProps {
  int allocType;
  int handleTypes;
  int locationType;
  int locationId;
  void* win32SecurityAttributes;
  std::size_t maxSize;
  unsigned char reserved[56];
};

/// Layout of CUDA_MEMCPY2D_v2.
struct CUDA_MEMCPY2D {
  std::size_t srcXInBytes;
  std::size_t srcY;
  int srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  void* srcArray;
  std::size_t srcPitch;
  std::size_t dstXInBytes;
  std::size_t dstY;
  int dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  void* dstArray;
  std::size_t dstPitch;
  std::size_t WidthInBytes;
  std::size_t Height;
};

/// Layout of CUDA_EXTERNAL_MEMORY_HANDLE_DESC_v1.
struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
  int type;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
    const void* nvSciBufObject;
  } handle;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};

/// Layout of CUDA_EXTERNAL_MEMORY_BUFFER_DESC_v1.
struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC {
  unsigned long long offset;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};

// Member, name in libcuda.so.1, parameters. The _v2 names are unchanged since CUDA 4.
#define TENON_CUDA_DRIVER_FUNCTIONS(X)                                                            \
  X(cuInit, cuInit, (unsigned flags))                                                             \
  X(cuGetErrorName, cuGetErrorName, (CUresult, const char**))                                     \
  X(cuGetErrorString, cuGetErrorString, (CUresult, const char**))                                 \
  X(cuDriverGetVersion, cuDriverGetVersion, (int*))                                               \
  X(cuDeviceGetCount, cuDeviceGetCount, (int*))                                                   \
  X(cuDeviceGet, cuDeviceGet, (CUdevice*, int index))                                             \
  X(cuDeviceGetName, cuDeviceGetName, (char* name, int size, CUdevice))                           \
  X(cuDeviceGetUuid, cuDeviceGetUuid_v2, (std::byte * uuid, CUdevice))                            \
  X(cuDeviceTotalMem, cuDeviceTotalMem_v2, (std::size_t*, CUdevice))                              \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, (int*, int attribute, CUdevice))                  \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext*, CUdevice))                   \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice))                          \
  X(cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext))                                           \
  X(cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext*))                                            \
  X(cuCtxGetCurrent, cuCtxGetCurrent, (CUcontext*))                                               \
  X(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext))                                                \
  X(cuCtxGetDevice, cuCtxGetDevice, (CUdevice*))                                                  \
  X(cuCtxSynchronize, cuCtxSynchronize, ())                                                       \
  X(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr*, std::size_t))                                       \
  X(cuMemFree, cuMemFree_v2, (CUdeviceptr))                                                       \
  X(cuMemGetInfo, cuMemGetInfo_v2, (std::size_t* free, std::size_t* total))                       \
  X(cuMemPoolCreate, cuMemPoolCreate, (CUmemoryPool*, const CUmemPoolProps*))                     \
  X(cuMemPoolDestroy, cuMemPoolDestroy, (CUmemoryPool))                                           \
  X(cuMemPoolSetAttribute, cuMemPoolSetAttribute, (CUmemoryPool, int attribute, void*))           \
  X(cuMemPoolTrimTo, cuMemPoolTrimTo, (CUmemoryPool, std::size_t kept))                           \
  X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync,                                             \
    (CUdeviceptr*, std::size_t, CUmemoryPool, CUstream))                                          \
  X(cuMemFreeAsync, cuMemFreeAsync, (CUdeviceptr, CUstream))                                      \
  X(cuMemHostAlloc, cuMemHostAlloc, (void**, std::size_t, unsigned flags))                        \
  X(cuMemFreeHost, cuMemFreeHost, (void*))                                                        \
  X(cuMemcpyAsync, cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, std::size_t, CUstream))      \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                      \
    (CUdeviceptr to, const void* from, std::size_t, CUstream))                                    \
  X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, std::size_t, CUstream)) \
  X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                                      \
    (CUdeviceptr to, CUdeviceptr from, std::size_t, CUstream))                                    \
  X(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D*, CUstream))                        \
  X(cuMemsetD8Async, cuMemsetD8Async, (CUdeviceptr, unsigned char, std::size_t, CUstream))        \
  X(cuImportExternalMemory, cuImportExternalMemory,                                               \
    (CUexternalMemory*, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC*))                                 \
  X(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer,                             \
    (CUdeviceptr*, CUexternalMemory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC*))                    \
  X(cuDestroyExternalMemory, cuDestroyExternalMemory, (CUexternalMemory))                         \
  X(cuPointerGetAttribute, cuPointerGetAttribute, (void* out, int attribute, CUdeviceptr))        \
  X(cuStreamCreate, cuStreamCreate, (CUstream*, unsigned flags))                                  \
  X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, (CUstream*, unsigned flags, int))     \
  X(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, (int* least, int* greatest))        \
  X(cuStreamDestroy, cuStreamDestroy_v2, (CUstream))                                              \
  X(cuStreamSynchronize, cuStreamSynchronize, (CUstream))                                         \
  X(cuStreamWaitEvent, cuStreamWaitEvent, (CUstream, CUevent, unsigned flags))                    \
  X(cuStreamIsCapturing, cuStreamIsCapturing, (CUstream, int* status))                            \
  X(cuStreamBeginCapture, cuStreamBeginCapture_v2, (CUstream, int mode))                          \
  X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (int* mode))            \
  X(cuStreamEndCapture, cuStreamEndCapture, (CUstream, CUgraph*))                                 \
  X(cuEventCreate, cuEventCreate, (CUevent*, unsigned flags))                                     \
  X(cuEventDestroy, cuEventDestroy_v2, (CUevent))                                                 \
  X(cuEventQuery, cuEventQuery, (CUevent))                                                        \
  X(cuEventRecord, cuEventRecord, (CUevent, CUstream))                                            \
  X(cuEventSynchronize, cuEventSynchronize, (CUevent))                                            \
  X(cuGraphInstantiate, cuGraphInstantiateWithFlags,                                              \
    (CUgraphExec*, CUgraph, unsigned long long flags))                                            \
  X(cuGraphLaunch, cuGraphLaunch, (CUgraphExec, CUstream))                                        \
  X(cuGraphExecDestroy, cuGraphExecDestroy, (CUgraphExec))                                        \
  X(cuGraphDestroy, cuGraphDestroy, (CUgraph))                                                    \
  X(cuModuleLoadData, cuModuleLoadData, (CUmodule*, const void* image))                           \
  X(cuModuleUnload, cuModuleUnload, (CUmodule))                                                   \
  X(cuModuleGetFunction, cuModuleGetFunction, (CUfunction*, CUmodule, const char* name))          \
  X(cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction, int attribute, int value))               \
  X(cuLaunchKernelEx, cuLaunchKernelEx,                                                           \
    (const void* configuration, CUfunction, void** parameters, void** extra))                     \
  X(cuLaunchKernel, cuLaunchKernel,                                                               \
    (CUfunction, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,             \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream, void** parameters,      \
     void** extra))

/// The functions of the CUDA driver that this plugin calls.
struct Driver {
#define TENON_CUDA_MEMBER(member, symbol, parameters) CUresult(*member) parameters = nullptr;
  TENON_CUDA_DRIVER_FUNCTIONS(TENON_CUDA_MEMBER)
#undef TENON_CUDA_MEMBER

  /// A failed call as an error: "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory". Code
  /// that the driver or the device cannot run is DelegateInvalidCompatibility. After a failure that
  /// leaves the process without a usable context the text says so.
  [[nodiscard]] Status check(std::string_view call, CUresult code) const;
};

/// Calls a function of the driver and turns its result into a Status.
#define TENON_CUDA(driver, function, ...) (driver).check(#function, (driver).function(__VA_ARGS__))

/// The driver, loaded and initialised at the first call and never unloaded, because it does not
/// support that. A failure is not kept: the next call tries again.
///
/// errors: NotFound without a driver; NotSupported when it is too old; the errors of `cuInit`.
/// threads: any
[[nodiscard]] Result<const Driver*> load_driver();

/// A function of the driver ("cuLaunchKernelEx") or of the CUDA runtime ("cudaMemsetAsync") for a
/// model, or null. The runtime is loaded for the first function that only it has.
/// threads: any
[[nodiscard]] const void* find_in_cuda_libraries(std::string_view name);

}  // namespace tenon::cuda_aoti
