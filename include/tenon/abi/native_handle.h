// SPDX-License-Identifier: MIT
//
// The kinds of native handles: what a stream, an event, a fence or memory of another owner is,
// where it crosses the boundary. A kind is a NUL-terminated text; two kinds are the same when their
// bytes are. A vendor's own kind begins with the vendor's name and a dot ("acme.queue"), and so
// needs no entry here. The meaning of a kind never changes.

#ifndef TENON_ABI_NATIVE_HANDLE_H
#define TENON_ABI_NATIVE_HANDLE_H

#include <stdint.h>

// Streams (abi/extensions/streams.h).
#define TENON_KIND_CUDA_STREAM "cuda.stream"  ///< `CUstream`, which is also `cudaStream_t`.
#define TENON_KIND_METAL_COMMAND_QUEUE "metal.command_queue"    ///< `MTLCommandQueue`.
#define TENON_KIND_OPENCL_COMMAND_QUEUE "opencl.command_queue"  ///< `cl_command_queue`.

// Events (abi/extensions/events.h).
#define TENON_KIND_CUDA_EVENT "cuda.event"      ///< `CUevent`, which is also `cudaEvent_t`.
#define TENON_KIND_METAL_EVENT "metal.event"    ///< Address of a `tenon_metal_event`.
#define TENON_KIND_OPENCL_EVENT "opencl.event"  ///< `cl_event`.

// Fences (abi/draft/external_memory.h).
#define TENON_KIND_SYNC_FILE "sync_file"  ///< Descriptor of a sync_file: only to wait for.
#define TENON_KIND_EVENTFD "eventfd"      ///< Descriptor of an `eventfd`: signalled while not 0.
#define TENON_KIND_VULKAN_SEMAPHORE_FD "vulkan.semaphore_fd"  ///< Descriptor of a `VkSemaphore`.
#define TENON_KIND_VULKAN_SEMAPHORE_WIN32 "vulkan.semaphore_win32"  ///< Its `HANDLE` in Windows.

// Memory (abi/draft/external_memory.h).
#define TENON_KIND_MEMFD "memfd"          ///< Descriptor of `memfd_create`.
#define TENON_KIND_DMA_BUF "dma_buf"      ///< Descriptor of a dma-buf of Linux.
#define TENON_KIND_OPAQUE_FD "opaque_fd"  ///< Descriptor that a driver exported (Vulkan, CUDA).
#define TENON_KIND_OPAQUE_WIN32 "opaque_win32"  ///< `HANDLE` of Windows that a driver exported.
#define TENON_KIND_CUDA_IPC_MEMORY "cuda.ipc_memory"  ///< Address of a `CUipcMemHandle`, 64 bytes.
#define TENON_KIND_OPENCL_MEM "opencl.mem"            ///< `cl_mem`.
#define TENON_KIND_HARDWARE_BUFFER "android.hardware_buffer"  ///< `AHardwareBuffer*`.
#define TENON_KIND_IO_SURFACE "apple.io_surface"              ///< `IOSurfaceRef`.
#define TENON_KIND_HOST_MEMORY "host_memory"  ///< Address in this process; stays until released.

/// The handle of an event of Metal: complete when the shared event has this value, or a larger one.
typedef struct tenon_metal_event {
  void* shared_event;  ///< `MTLSharedEvent`.
  void* reserved;      ///< NULL
  uint64_t value;      ///< Of its `signaledValue`.
} tenon_metal_event;

#endif  // TENON_ABI_NATIVE_HANDLE_H
