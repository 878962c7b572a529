// SPDX-License-Identifier: MIT
//
// The part of OpenCL 1.2 that the plugin calls, declared after Khronos' CL/cl.h, whose names these
// are. No headers of OpenCL are needed to build: `Library` finds the functions by name.
#pragma once

#include <cstddef>
#include <cstdint>

namespace opencl_backend {

struct cl_platform_of;
struct cl_device_of;
struct cl_context_of;
struct cl_queue_of;
struct cl_mem_of;
struct cl_program_of;
struct cl_kernel_of;
struct cl_event_of;
struct cl_command_buffer_of;

using cl_platform_id = cl_platform_of*;
using cl_device_id = cl_device_of*;
using cl_context = cl_context_of*;
using cl_command_queue = cl_queue_of*;
using cl_mem = cl_mem_of*;
using cl_program = cl_program_of*;
using cl_kernel = cl_kernel_of*;
using cl_event = cl_event_of*;
using cl_command_buffer_khr = cl_command_buffer_of*;

using cl_int = std::int32_t;
using cl_uint = std::uint32_t;
using cl_ulong = std::uint64_t;
using cl_bitfield = std::uint64_t;

inline constexpr cl_int CL_SUCCESS = 0;
inline constexpr cl_int CL_DEVICE_NOT_FOUND = -1;
inline constexpr cl_int CL_MEM_OBJECT_ALLOCATION_FAILURE = -4;
inline constexpr cl_int CL_OUT_OF_RESOURCES = -5;
inline constexpr cl_int CL_OUT_OF_HOST_MEMORY = -6;
inline constexpr cl_int CL_INVALID_BUFFER_SIZE = -61;
inline constexpr cl_int CL_PLATFORM_NOT_FOUND_KHR = -1001;

inline constexpr cl_bitfield CL_DEVICE_TYPE_ALL = 0xFFFFFFFF;
inline constexpr cl_bitfield CL_DEVICE_TYPE_CPU = 1 << 1;
inline constexpr cl_bitfield CL_DEVICE_TYPE_CUSTOM = 1 << 4;
inline constexpr cl_uint CL_FALSE = 0;
inline constexpr cl_uint CL_TRUE = 1;

inline constexpr cl_uint CL_PLATFORM_VERSION = 0x0901;
inline constexpr cl_uint CL_PLATFORM_NAME = 0x0902;
inline constexpr cl_uint CL_DEVICE_TYPE = 0x1000;
inline constexpr cl_uint CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004;
inline constexpr cl_uint CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010;
inline constexpr cl_uint CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F;
inline constexpr cl_uint CL_DEVICE_ENDIAN_LITTLE = 0x1026;
inline constexpr cl_uint CL_DEVICE_AVAILABLE = 0x1027;
inline constexpr cl_uint CL_DEVICE_COMPILER_AVAILABLE = 0x1028;
inline constexpr cl_uint CL_DEVICE_NAME = 0x102B;
inline constexpr cl_uint CL_DRIVER_VERSION = 0x102D;
inline constexpr cl_uint CL_DEVICE_EXTENSIONS_WITH_VERSION = 0x1060;
inline constexpr cl_uint CL_DEVICE_UUID_KHR = 0x106A;
inline constexpr cl_uint CL_DEVICE_PCI_BUS_INFO_KHR = 0x410F;
inline constexpr cl_uint CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR = 0x12A9;
inline constexpr cl_uint CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR = 0x12AA;
inline constexpr cl_uint CL_QUEUE_CONTEXT = 0x1090;
inline constexpr cl_uint CL_QUEUE_PROPERTIES = 0x1093;
inline constexpr cl_uint CL_PROGRAM_BINARY_SIZES = 0x1165;
inline constexpr cl_uint CL_PROGRAM_BINARIES = 0x1166;
inline constexpr cl_uint CL_PROGRAM_BUILD_LOG = 0x1183;
inline constexpr cl_uint CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3;
inline constexpr cl_uint CL_EVENT_CONTEXT = 0x11D4;
inline constexpr cl_int CL_COMPLETE = 0;

inline constexpr cl_bitfield CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE = 1 << 0;
inline constexpr cl_bitfield CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR = 1 << 2;
inline constexpr cl_bitfield CL_COMMAND_BUFFER_FLAGS_KHR = 0x1293;
inline constexpr cl_bitfield CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR = 1 << 0;

inline constexpr cl_bitfield CL_MEM_READ_WRITE = 1 << 0;
inline constexpr cl_bitfield CL_MEM_READ_ONLY = 1 << 2;
inline constexpr cl_bitfield CL_MEM_USE_HOST_PTR = 1 << 3;
inline constexpr cl_bitfield CL_MEM_COPY_HOST_PTR = 1 << 5;
inline constexpr cl_bitfield CL_MAP_READ = 1 << 0;
inline constexpr cl_bitfield CL_MAP_WRITE = 1 << 1;

/// An extension of a device, and its version.
struct cl_name_version {
  cl_uint version;  ///< From the highest bit: 10 bits, 10 bits and 12 bits for 1.2.3.
  char name[64];
};

/// The place of a device on the bus (cl_khr_pci_bus_info).
struct cl_device_pci_bus_info_khr {
  cl_uint pci_domain;
  cl_uint pci_bus;
  cl_uint pci_device;
  cl_uint pci_function;
};

/// One line for each function: name without "cl", result, parameters.
#define OPENCL_BACKEND_FUNCTIONS(X)                                                                \
  X(GetPlatformIDs, cl_int, (cl_uint, cl_platform_id*, cl_uint*))                                  \
  X(GetPlatformInfo, cl_int, (cl_platform_id, cl_uint, std::size_t, void*, std::size_t*))          \
  X(GetDeviceIDs, cl_int, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id*, cl_uint*))         \
  X(GetDeviceInfo, cl_int, (cl_device_id, cl_uint, std::size_t, void*, std::size_t*))              \
  X(CreateContext, cl_context,                                                                     \
    (const std::intptr_t*, cl_uint, const cl_device_id*,                                           \
     void (*)(const char*, const void*, std::size_t, void*), void*, cl_int*))                      \
  X(ReleaseContext, cl_int, (cl_context))                                                          \
  X(CreateCommandQueue, cl_command_queue, (cl_context, cl_device_id, cl_bitfield, cl_int*))        \
  X(RetainCommandQueue, cl_int, (cl_command_queue))                                                \
  X(ReleaseCommandQueue, cl_int, (cl_command_queue))                                               \
  X(GetCommandQueueInfo, cl_int, (cl_command_queue, cl_uint, std::size_t, void*, std::size_t*))    \
  X(CreateBuffer, cl_mem, (cl_context, cl_bitfield, std::size_t, void*, cl_int*))                  \
  X(ReleaseMemObject, cl_int, (cl_mem))                                                            \
  X(CreateProgramWithSource, cl_program,                                                           \
    (cl_context, cl_uint, const char**, const std::size_t*, cl_int*))                              \
  X(CreateProgramWithBinary, cl_program,                                                           \
    (cl_context, cl_uint, const cl_device_id*, const std::size_t*, const unsigned char**, cl_int*, \
     cl_int*))                                                                                     \
  X(BuildProgram, cl_int,                                                                          \
    (cl_program, cl_uint, const cl_device_id*, const char*, void (*)(cl_program, void*), void*))   \
  X(GetProgramInfo, cl_int, (cl_program, cl_uint, std::size_t, void*, std::size_t*))               \
  X(GetProgramBuildInfo, cl_int,                                                                   \
    (cl_program, cl_device_id, cl_uint, std::size_t, void*, std::size_t*))                         \
  X(ReleaseProgram, cl_int, (cl_program))                                                          \
  X(CreateKernel, cl_kernel, (cl_program, const char*, cl_int*))                                   \
  X(ReleaseKernel, cl_int, (cl_kernel))                                                            \
  X(SetKernelArg, cl_int, (cl_kernel, cl_uint, std::size_t, const void*))                          \
  X(EnqueueNDRangeKernel, cl_int,                                                                  \
    (cl_command_queue, cl_kernel, cl_uint, const std::size_t*, const std::size_t*,                 \
     const std::size_t*, cl_uint, const cl_event*, cl_event*))                                     \
  X(EnqueueWriteBuffer, cl_int,                                                                    \
    (cl_command_queue, cl_mem, cl_uint, std::size_t, std::size_t, const void*, cl_uint,            \
     const cl_event*, cl_event*))                                                                  \
  X(EnqueueReadBuffer, cl_int,                                                                     \
    (cl_command_queue, cl_mem, cl_uint, std::size_t, std::size_t, void*, cl_uint, const cl_event*, \
     cl_event*))                                                                                   \
  X(EnqueueMapBuffer, void*,                                                                       \
    (cl_command_queue, cl_mem, cl_uint, cl_bitfield, std::size_t, std::size_t, cl_uint,            \
     const cl_event*, cl_event*, cl_int*))                                                         \
  X(EnqueueUnmapMemObject, cl_int,                                                                 \
    (cl_command_queue, cl_mem, void*, cl_uint, const cl_event*, cl_event*))                        \
  X(EnqueueMarkerWithWaitList, cl_int, (cl_command_queue, cl_uint, const cl_event*, cl_event*))    \
  X(EnqueueBarrierWithWaitList, cl_int, (cl_command_queue, cl_uint, const cl_event*, cl_event*))   \
  X(Flush, cl_int, (cl_command_queue))                                                             \
  X(Finish, cl_int, (cl_command_queue))                                                            \
  X(WaitForEvents, cl_int, (cl_uint, const cl_event*))                                             \
  X(GetEventInfo, cl_int, (cl_event, cl_uint, std::size_t, void*, std::size_t*))                   \
  X(CreateUserEvent, cl_event, (cl_context, cl_int*))                                              \
  X(SetUserEventStatus, cl_int, (cl_event, cl_int))                                                \
  X(RetainEvent, cl_int, (cl_event))                                                               \
  X(ReleaseEvent, cl_int, (cl_event))                                                              \
  X(GetExtensionFunctionAddressForPlatform, void*, (cl_platform_id, const char*))

/// The functions of `cl_khr_command_buffer`, version 0.9, that the plugin calls. Handles of
/// commands and numbers of their points in time are not asked for: null is passed for them.
#define OPENCL_BACKEND_COMMAND_BUFFER_FUNCTIONS(X)                                                 \
  X(CreateCommandBufferKHR, cl_command_buffer_khr,                                                 \
    (cl_uint, const cl_command_queue*, const cl_bitfield*, cl_int*))                               \
  X(FinalizeCommandBufferKHR, cl_int, (cl_command_buffer_khr))                                     \
  X(ReleaseCommandBufferKHR, cl_int, (cl_command_buffer_khr))                                      \
  X(EnqueueCommandBufferKHR, cl_int,                                                               \
    (cl_uint, cl_command_queue*, cl_command_buffer_khr, cl_uint, const cl_event*, cl_event*))      \
  X(CommandNDRangeKernelKHR, cl_int,                                                               \
    (cl_command_buffer_khr, cl_command_queue, const void*, cl_kernel, cl_uint, const std::size_t*, \
     const std::size_t*, const std::size_t*, cl_uint, const cl_uint*, cl_uint*, void**))

/// The functions of one library. All are set once `Library` was loaded.
struct Api {
#define OPENCL_BACKEND_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  OPENCL_BACKEND_FUNCTIONS(OPENCL_BACKEND_MEMBER)
};

/// The functions of the extension. All are set, or none.
struct CommandBufferApi {
  OPENCL_BACKEND_COMMAND_BUFFER_FUNCTIONS(OPENCL_BACKEND_MEMBER)
#undef OPENCL_BACKEND_MEMBER
};

}  // namespace opencl_backend
