// SPDX-License-Identifier: MIT
//
// What PyTorch and Triton ask of CUDA while they compile a model, on a machine without a GPU. Built
// twice by export_cuda.py: as libcudart.so.13, and with EXPORT_CUDA_DRIVER as libcuda.so.1. All
// functions that are not here succeed and do nothing; export_cuda.py writes those.
//
// It reports an H100, keeps the memory of the device in the host's memory, and launches nothing. So
// what is compiled is real, what is tuned by measuring is arbitrary, and no number that comes out
// of it means anything.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Compute capability without the point.
#if !defined(EXPORT_CUDA_CAPABILITY)
#define EXPORT_CUDA_CAPABILITY 90
#endif
constexpr int major_capability = EXPORT_CUDA_CAPABILITY / 10;
constexpr int minor_capability = EXPORT_CUDA_CAPABILITY % 10;
constexpr int num_multiprocessors = 132;
constexpr int threads_of_block = 1024;
constexpr int threads_of_multiprocessor = 2048;
constexpr int registers = 65536;
constexpr int shared_of_block = 48 << 10;
constexpr int shared_of_block_at_most = 227 << 10;
constexpr int shared_of_multiprocessor = 228 << 10;
constexpr int version = 13020;

/// Attributes have the same numbers in the runtime and in the driver.
int attribute(int number) {
  switch (number) {
    case cudaDevAttrComputeCapabilityMajor:
      return major_capability;
    case cudaDevAttrComputeCapabilityMinor:
      return minor_capability;
    case cudaDevAttrMultiProcessorCount:
      return num_multiprocessors;
    case cudaDevAttrMaxThreadsPerBlock:
      return threads_of_block;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return threads_of_multiprocessor;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return registers;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return shared_of_block;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return shared_of_block_at_most;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return shared_of_multiprocessor;
    case cudaDevAttrWarpSize:
      return 32;
    case cudaDevAttrClockRate:
      return 1980000;
    case cudaDevAttrMemoryClockRate:
      return 2619000;
    case cudaDevAttrGlobalMemoryBusWidth:
      return 5120;
    default:
      return 0;
  }
}

/// Distinct values for things that only have to exist.
template <class Handle>
Handle next_handle() {
  static std::uintptr_t last = 0;
  return reinterpret_cast<Handle>(last += 64);
}

}  // namespace

#if defined(EXPORT_CUDA_DRIVER)

EXPORT int cuDriverGetVersion(int* out) {
  *out = version;
  return 0;
}
EXPORT int cuDeviceGetCount(int* out) {
  *out = 1;
  return 0;
}
EXPORT int cuDeviceGet(int* out, int) {
  *out = 0;
  return 0;
}
EXPORT int cuDeviceGetAttribute(int* out, int number, int) {
  *out = attribute(number);
  return 0;
}
EXPORT int cuCtxGetCurrent(void** out) {
  static int context;
  *out = &context;
  return 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void** out, int) { return cuCtxGetCurrent(out); }
EXPORT int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = 1;
  return 0;
}
EXPORT int cuCtxGetDevice(int* out) { return cuDeviceGet(out, 0); }
EXPORT int cuModuleLoadData(void** out, const void*) {
  *out = next_handle<void*>();
  return 0;
}
EXPORT int cuModuleLoad(void** out, const char*) { return cuModuleLoadData(out, nullptr); }
EXPORT int cuModuleGetFunction(void** out, void*, const char*) {
  *out = next_handle<void*>();
  return 0;
}
EXPORT int cuFuncGetAttribute(int* out, int number, void*) {
  // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK and CU_FUNC_ATTRIBUTE_NUM_REGS.
  *out = number == 0 ? threads_of_block : number == 4 ? 32 : 0;
  return 0;
}
EXPORT int cuGetErrorString(int, const char** out) {
  *out = "a stub without errors";
  return 0;
}
EXPORT int cuPointerGetAttribute(void* out, int number, std::uint64_t address) {
  // CU_POINTER_ATTRIBUTE_DEVICE_POINTER and CU_POINTER_ATTRIBUTE_HOST_POINTER.
  if (number == 3 || number == 4) std::memcpy(out, &address, sizeof address);
  return 0;
}
EXPORT int cuStreamIsCapturing(void*, int* out) {
  *out = 0;
  return 0;
}

#else

namespace {

/// Blocks by their ends.
std::map<const std::byte*, const std::byte*> blocks;
std::mutex blocks_mutex;

bool is_on_device(const void* address) {
  const std::lock_guard lock(blocks_mutex);
  const auto block = blocks.upper_bound(static_cast<const std::byte*>(address));
  return block != blocks.end() && block->second <= address;
}

}  // namespace

EXPORT cudaError_t cudaMallocHost(void** out, std::size_t nbytes) {
  *out = std::calloc((nbytes + 4095) / 4096 + 1, 4096);
  return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}
EXPORT cudaError_t cudaHostAlloc(void** out, std::size_t nbytes, unsigned) {
  return cudaMallocHost(out, nbytes);
}
EXPORT cudaError_t cudaMalloc(void** out, std::size_t nbytes) {
  const cudaError_t failed = cudaMallocHost(out, nbytes);
  if (failed != cudaSuccess) return failed;
  const std::lock_guard lock(blocks_mutex);
  const auto* begin = static_cast<const std::byte*>(*out);
  blocks[begin + (nbytes == 0 ? 1 : nbytes)] = begin;
  return cudaSuccess;
}
EXPORT cudaError_t cudaMallocAsync(void** out, std::size_t nbytes, cudaStream_t) {
  return cudaMalloc(out, nbytes);
}
EXPORT cudaError_t cudaFree(void* block) {
  const std::lock_guard lock(blocks_mutex);
  std::erase_if(blocks, [&](const auto& entry) { return entry.second == block; });
  std::free(block);
  return cudaSuccess;
}
EXPORT cudaError_t cudaFreeAsync(void* block, cudaStream_t) { return cudaFree(block); }
EXPORT cudaError_t cudaFreeHost(void* block) {
  std::free(block);
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemcpy(void* to, const void* from, std::size_t nbytes, cudaMemcpyKind) {
  std::memmove(to, from, nbytes);
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t nbytes,
                                   cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, nbytes, kind);
}
EXPORT cudaError_t cudaMemset(void* to, int value, std::size_t nbytes) {
  std::memset(to, value, nbytes);
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemsetAsync(void* to, int value, std::size_t nbytes, cudaStream_t) {
  return cudaMemset(to, value, nbytes);
}
EXPORT cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = std::size_t{80} << 30;
  *free = *total - (std::size_t{4} << 30);
  return cudaSuccess;
}
EXPORT cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* address) {
  *out = {};
  out->type = is_on_device(address) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  out->device = is_on_device(address) ? 0 : -2;
  if (is_on_device(address)) out->devicePointer = const_cast<void*>(address);
  return cudaSuccess;
}

EXPORT cudaError_t cudaGetDeviceCount(int* out) {
  *out = 1;
  return cudaSuccess;
}
EXPORT cudaError_t cudaGetDevice(int* out) {
  *out = 0;
  return cudaSuccess;
}
EXPORT cudaError_t cudaDriverGetVersion(int* out) {
  *out = version;
  return cudaSuccess;
}
EXPORT cudaError_t cudaRuntimeGetVersion(int* out) { return cudaDriverGetVersion(out); }
EXPORT cudaError_t cudaDeviceGetAttribute(int* out, cudaDeviceAttr number, int) {
  *out = attribute(number);
  return cudaSuccess;
}
EXPORT cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int) {
  *out = {};
  std::snprintf(out->name, sizeof out->name, "NVIDIA H100 (stub for exporting)");
  out->major = major_capability;
  out->minor = minor_capability;
  out->multiProcessorCount = num_multiprocessors;
  out->totalGlobalMem = std::size_t{80} << 30;
  out->sharedMemPerBlock = shared_of_block;
  out->sharedMemPerBlockOptin = shared_of_block_at_most;
  out->sharedMemPerMultiprocessor = shared_of_multiprocessor;
  out->regsPerBlock = registers;
  out->regsPerMultiprocessor = registers;
  out->warpSize = 32;
  out->maxThreadsPerBlock = threads_of_block;
  out->maxThreadsPerMultiProcessor = threads_of_multiprocessor;
  out->l2CacheSize = 50 << 20;
  out->memoryBusWidth = 5120;
  out->unifiedAddressing = 1;
  return cudaSuccess;
}
EXPORT const char* cudaGetErrorString(cudaError_t) { return "a stub without errors"; }
EXPORT const char* cudaGetErrorName(cudaError_t) { return "cudaSuccess"; }
EXPORT cudaError_t cudaDeviceGetPCIBusId(char* out, int size, int) {
  std::snprintf(out, static_cast<std::size_t>(size), "0000:00:00.0");
  return cudaSuccess;
}
EXPORT cudaError_t cudaDeviceCanAccessPeer(int* out, int, int) {
  *out = 0;
  return cudaSuccess;
}

EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned, int) {
  *out = next_handle<cudaStream_t>();
  return cudaSuccess;
}
EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
  return cudaStreamCreateWithPriority(out, flags, 0);
}
EXPORT cudaError_t cudaStreamCreate(cudaStream_t* out) { return cudaStreamCreateWithFlags(out, 0); }
EXPORT cudaError_t cudaStreamGetPriority(cudaStream_t, int* out) {
  *out = 0;
  return cudaSuccess;
}
EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* out) {
  *out = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
EXPORT cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus* out,
                                            unsigned long long*, cudaGraph_t*,
                                            const cudaGraphNode_t**, const cudaGraphEdgeData**,
                                            std::size_t*) {
  *out = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned) {
  *out = next_handle<cudaEvent_t>();
  return cudaSuccess;
}
EXPORT cudaError_t cudaEventCreate(cudaEvent_t* out) { return cudaEventCreateWithFlags(out, 0); }
EXPORT cudaError_t cudaEventElapsedTime(float* out, cudaEvent_t, cudaEvent_t) {
  *out = 0.01f;
  return cudaSuccess;
}

EXPORT cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void*) {
  *out = {};
  out->maxThreadsPerBlock = threads_of_block;
  out->numRegs = 32;
  out->binaryVersion = 10 * major_capability + minor_capability;
  out->ptxVersion = out->binaryVersion;
  return cudaSuccess;
}
EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* out, const void*, int,
                                                                 std::size_t) {
  *out = 2;
  return cudaSuccess;
}
EXPORT cudaError_t cudaGetSymbolAddress(void** out, const void*) {
  static std::byte symbol[1 << 16];
  *out = symbol;
  return cudaSuccess;
}
EXPORT cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** out, unsigned,
                                                    unsigned long long,
                                                    cudaDriverEntryPointQueryResult* answer) {
  *out = reinterpret_cast<void*>(+[] { return 0; });
  if (answer) *answer = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
EXPORT void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}

#endif
