// SPDX-License-Identifier: MIT
#include "driver/library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>

namespace opencl_backend {
namespace {

constexpr std::pair<cl_int, std::string_view> names[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-15, "CL_COMPILE_PROGRAM_FAILURE"},
    {-16, "CL_LINKER_NOT_AVAILABLE"},
    {-17, "CL_LINK_PROGRAM_FAILURE"},
    {-30, "CL_INVALID_VALUE"},
    {-31, "CL_INVALID_DEVICE_TYPE"},
    {-32, "CL_INVALID_PLATFORM"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-35, "CL_INVALID_QUEUE_PROPERTIES"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-37, "CL_INVALID_HOST_PTR"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-42, "CL_INVALID_BINARY"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-47, "CL_INVALID_KERNEL_DEFINITION"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-53, "CL_INVALID_WORK_DIMENSION"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-56, "CL_INVALID_GLOBAL_OFFSET"},
    {-57, "CL_INVALID_EVENT_WAIT_LIST"},
    {-58, "CL_INVALID_EVENT"},
    {-59, "CL_INVALID_OPERATION"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-64, "CL_INVALID_PROPERTY"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

constexpr cl_int codes_of_memory[] = {CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES,
                                      CL_OUT_OF_HOST_MEMORY, CL_INVALID_BUFFER_SIZE};

struct Closer {
  void* handle;
  ~Closer() { ::dlclose(handle); }
};

}  // namespace

std::string name_of_error(cl_int code) {
  const auto* found = std::ranges::find(names, code, &std::pair<cl_int, std::string_view>::first);
  if (found != std::end(names)) return std::string(found->second);
  return tenon::concat("OpenCL error ", code);
}

tenon::Status check(cl_int code, std::string_view what, tenon::Error error) {
  if (code == CL_SUCCESS) [[likely]]
    return tenon::ok();
  const bool of_memory = std::ranges::find(codes_of_memory, code) != std::end(codes_of_memory);
  return tenon::error(of_memory ? tenon::Error::MemoryAllocationFailed : error, "OpenCL cannot ",
                      what, ": ", name_of_error(code));
}

tenon::Result<Api> load_api(const std::string& library) {
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    const char* why = ::dlerror();
    return tenon::error(tenon::Error::NotFound, "OpenCL's loader is missing: ",
                        why ? std::string_view(why) : std::string_view(library),
                        "; install it and a driver (Debian: ocl-icd-libopencl1, and "
                        "pocl-opencl-icd for the CPU)");
  }
  const Closer closer{handle};
  Api out;
#define OPENCL_BACKEND_FIND(name, result, parameters)                                  \
  out.name = reinterpret_cast<result(*) parameters>(::dlsym(handle, "cl" #name));      \
  if (!out.name) {                                                                     \
    return tenon::error(tenon::Error::NotSupported, library,                           \
                        " has no function cl" #name ": expected OpenCL 1.2 or later"); \
  }
  OPENCL_BACKEND_FUNCTIONS(OPENCL_BACKEND_FIND)
#undef OPENCL_BACKEND_FIND
  return out;
}

}  // namespace opencl_backend
