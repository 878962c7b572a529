// SPDX-License-Identifier: MIT
//
// A library with the functions of OpenCL that the plugin calls. Each passes its call on to
// libOpenCL.so.1, and counts it. What it can do besides is in watch.hpp.

#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <vector>

#include "driver/api.hpp"
#include "watch.hpp"

namespace opencl_backend {
namespace {

void* find_real(const char* name) {
  static void* const library = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  return library ? ::dlsym(library, name) : nullptr;
}

enum Function {
#define WATCH_FUNCTION(name, result, parameters) name,
  OPENCL_BACKEND_FUNCTIONS(WATCH_FUNCTION) OPENCL_BACKEND_COMMAND_BUFFER_FUNCTIONS(WATCH_FUNCTION)
      num_functions
};
struct Slot {
  const char* name = nullptr;
  std::atomic<long> count = 0;
  std::atomic<int> code = 0;
};
Slot slots[] = {
#define WATCH_SLOT(name, result, parameters) {"cl" #name},
    OPENCL_BACKEND_FUNCTIONS(WATCH_SLOT) OPENCL_BACKEND_COMMAND_BUFFER_FUNCTIONS(WATCH_SLOT)};

std::atomic<bool> are_extensions_hidden = false;
std::atomic<bool> are_sources_broken = false;
std::atomic<bool> is_measuring = false;

struct Measured {
  const void* queue;
  cl_event event;
};
std::mutex measured_mutex;
std::vector<Measured> measured;

/// A parameter that a failing call writes its code to.
template <class T>
void write_code(T, int) {}
void write_code(cl_int* to, int code) {
  if (to) *to = code;
}

template <Function id, class Type>
struct Watched;
template <Function id, class R, class... Parameters>
struct Watched<id, R(Parameters...)> {
  static inline R (*real)(Parameters...) = nullptr;

  static R call(Parameters... parameters) {
    ++slots[id].count;
    if (const int code = slots[id].code) {
      if constexpr (std::is_same_v<R, cl_int>) {
        return code;
      } else {
        (write_code(parameters, code), ...);
        return R{};
      }
    }
    return forward(parameters...);
  }

 private:
  static R forward(Parameters... parameters) {
    if constexpr (id == CreateCommandQueue) {
      return with_measured_queue(parameters...);
    } else if constexpr (id == EnqueueNDRangeKernel) {
      return measure(parameters...);
    } else if constexpr (id == CreateProgramWithSource) {
      return with_source(parameters...);
    } else if constexpr (id == GetExtensionFunctionAddressForPlatform) {
      return find_extension(parameters...);
    } else {
      return real(parameters...);
    }
  }

  static R with_measured_queue(cl_context context, cl_device_id device, cl_bitfield properties,
                               cl_int* code) {
    constexpr cl_bitfield profiling = 1 << 1;
    return real(context, device, properties | (is_measuring ? profiling : 0), code);
  }

  static R measure(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                   const std::size_t* offset, const std::size_t* global, const std::size_t* local,
                   cl_uint num_waits, const cl_event* waits, cl_event* event) {
    if (!is_measuring || event) {
      return real(queue, kernel, dimensions, offset, global, local, num_waits, waits, event);
    }
    cl_event own = nullptr;
    const R out = real(queue, kernel, dimensions, offset, global, local, num_waits, waits, &own);
    if (out == CL_SUCCESS) {
      const std::lock_guard lock(measured_mutex);
      measured.push_back({queue, own});
    }
    return out;
  }

  static R with_source(cl_context context, cl_uint count, const char** sources,
                       const std::size_t* sizes, cl_int* code) {
    const char* broken = "kernel void broken(global float* x) { x[0] = no_such_name; }";
    if (are_sources_broken) return real(context, 1, &broken, nullptr, code);
    return real(context, count, sources, sizes, code);
  }

  static R find_extension(cl_platform_id platform, const char* name);
};

#define WATCH_TYPE(name, result, parameters) using name##Type = result parameters;
OPENCL_BACKEND_FUNCTIONS(WATCH_TYPE)
OPENCL_BACKEND_COMMAND_BUFFER_FUNCTIONS(WATCH_TYPE)

template <Function id, class R, class... Parameters>
R Watched<id, R(Parameters...)>::find_extension(cl_platform_id platform, const char* name) {
  if (are_extensions_hidden) return nullptr;
  void* const found = real(platform, name);
  if (!found) return nullptr;
#define WATCH_EXTENSION(function, result, parameters)      \
  if (std::string_view(name) == "cl" #function) {          \
    using Call = Watched<function, function##Type>;        \
    Call::real = reinterpret_cast<function##Type*>(found); \
    return reinterpret_cast<void*>(&Call::call);           \
  }
  OPENCL_BACKEND_COMMAND_BUFFER_FUNCTIONS(WATCH_EXTENSION)
  return found;
}

Slot* slot(const char* name) {
  for (Slot& one : slots) {
    if (std::string_view(one.name) == name) return &one;
  }
  return nullptr;
}

std::size_t take_kernels(WatchedKernel* to, std::size_t most) {
  using Profile = cl_int (*)(cl_event, cl_uint, std::size_t, void*, std::size_t*);
  const auto profile = reinterpret_cast<Profile>(find_real("clGetEventProfilingInfo"));
  const auto release = reinterpret_cast<cl_int (*)(cl_event)>(find_real("clReleaseEvent"));
  constexpr cl_uint start_of_command = 0x1282;
  constexpr cl_uint end_of_command = 0x1283;
  const std::lock_guard lock(measured_mutex);
  const std::size_t count = measured.size();
  for (std::size_t i = 0; i < count; ++i) {
    WatchedKernel one{measured[i].queue, 0, 0};
    profile(measured[i].event, start_of_command, sizeof one.start, &one.start, nullptr);
    profile(measured[i].event, end_of_command, sizeof one.end, &one.end, nullptr);
    release(measured[i].event);
    if (i < most) to[i] = one;
  }
  measured.clear();
  return count;
}

constexpr OpenClWatch table = {
    [](const char* name) {
      const Slot* const found = slot(name);
      return found ? found->count.load() : -1;
    },
    [](const char* name, int code) {
      if (Slot* const found = slot(name)) found->code = code;
    },
    [](bool hidden) { are_extensions_hidden = hidden; },
    [](bool broken) { are_sources_broken = broken; },
    [](bool measured_now) { is_measuring = measured_now; },
    &take_kernels,
    &find_real,
};

}  // namespace

// A symbol's address is chosen when it is looked up, so that parameters need no names here.
#define WATCH_EXPORT(function, result, parameters)                                                 \
  extern "C" {                                                                                     \
  [[gnu::visibility("hidden")]] function##Type* resolve_##function() {                             \
    using Call = Watched<function, function##Type>;                                                \
    Call::real = reinterpret_cast<function##Type*>(find_real("cl" #function));                     \
    return &Call::call;                                                                            \
  }                                                                                                \
  [[gnu::visibility("default"), gnu::ifunc("resolve_" #function)]] result cl##function parameters; \
  }
OPENCL_BACKEND_FUNCTIONS(WATCH_EXPORT)

extern "C" [[gnu::visibility("default")]] const OpenClWatch* opencl_watch() { return &table; }

}  // namespace opencl_backend
