// SPDX-License-Identifier: MIT
#include "gpu.hpp"

#include <dlfcn.h>
namespace gpu_test {
namespace {

using DriverResult = int;
using Address = unsigned long long;

/// CUDA_MEMCPY2D.
struct Copy2D {
  std::size_t from_x, from_y;
  int from_type;
  const void* from_host;
  Address from;
  void* from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  int to_type;
  void* to_host;
  Address to;
  void* to_array;
  std::size_t to_pitch;
  std::size_t width, height;
};

// The functions of cuda.h that are called here. Only with the real driver: the stand-in computes no
// numbers.
#define GPU_TEST_FUNCTIONS(X)                                                                     \
  X(cuInit, (unsigned))                                                                           \
  X(cuGetErrorName, (DriverResult, const char**))                                                 \
  X(cuDeviceGetCount, (int*))                                                                     \
  X(cuDeviceGet, (int*, int))                                                                     \
  X(cuDeviceGetName, (char*, int, int))                                                           \
  X(cuDeviceGetAttribute, (int*, int, int))                                                       \
  X(cuDevicePrimaryCtxRetain, (void**, int))                                                      \
  X(cuCtxSetCurrent, (void*))                                                                     \
  X(cuCtxSynchronize, ())                                                                         \
  X(cuModuleLoadData, (void**, const void*))                                                      \
  X(cuModuleGetFunction, (void**, void*, const char*))                                            \
  X(cuMemAlloc_v2, (Address*, std::size_t))                                                       \
  X(cuMemFree_v2, (Address))                                                                      \
  X(cuMemcpyHtoD_v2, (Address, const void*, std::size_t))                                         \
  X(cuMemcpyDtoH_v2, (void*, Address, std::size_t))                                               \
  X(cuStreamCreate, (void**, unsigned))                                                           \
  X(cuStreamBeginCapture_v2, (void*, int))                                                        \
  X(cuStreamEndCapture, (void*, void**))                                                          \
  X(cuGraphInstantiateWithFlags, (void**, void*, unsigned long long))                             \
  X(cuGraphLaunch, (void*, void*))                                                                \
  X(cuGraphExecDestroy, (void*))                                                                  \
  X(cuEventCreate, (void**, unsigned))                                                            \
  X(cuEventDestroy_v2, (void*))                                                                   \
  X(cuEventRecord, (void*, void*))                                                                \
  X(cuEventSynchronize, (void*))                                                                  \
  X(cuEventElapsedTime, (float*, void*, void*))                                                   \
  X(cuMemcpyDtoDAsync_v2, (Address, Address, std::size_t, void*))                                 \
  X(cuMemcpy2DAsync_v2, (const Copy2D*, void*))                                                   \
  X(cuGraphDestroy, (void*))                                                                      \
  X(cuLaunchKernel, (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                     void*, void**, void**))

struct Driver {
#define MEMBER(name, parameters) DriverResult(*name) parameters = nullptr;
  GPU_TEST_FUNCTIONS(MEMBER)
#undef MEMBER
};
Driver driver;

std::string text_of(const char* call, DriverResult result) {
  const char* name = nullptr;
  driver.cuGetErrorName(result, &name);
  return std::string(call) + ": " + (name ? name : "?") + " (" + std::to_string(result) + ")";
}

void check(const char* call, DriverResult result) {
  if (result != 0) give_up(text_of(call, result));
}
#define CHECK_CALL(name, ...) check(#name, driver.name(__VA_ARGS__))

constexpr int capability_major = 75;
constexpr int capability_minor = 76;
constexpr int num_multiprocessors = 16;
constexpr int shared_bytes_of_multiprocessor = 81;

}  // namespace

Gpu& gpu() {
  static Gpu one;
  return one;
}

std::string Gpu::open() {
  if (kernels::fatbin().empty()) return "built without nvcc, so there are no kernels";
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::string("no CUDA driver: ") + dlerror();
#define LOAD(function, parameters)                                                          \
  driver.function = reinterpret_cast<decltype(driver.function)>(dlsym(library, #function)); \
  if (driver.function == nullptr) return std::string("too old a CUDA driver: no ") + #function;
  GPU_TEST_FUNCTIONS(LOAD)
#undef LOAD
  if (const DriverResult result = driver.cuInit(0); result != 0) return text_of("cuInit", result);
  int count = 0;
  CHECK_CALL(cuDeviceGetCount, &count);
  if (count == 0) return "the CUDA driver has no device";
  int device = 0;
  CHECK_CALL(cuDeviceGet, &device, 0);
  int major = 0, minor = 0;
  CHECK_CALL(cuDeviceGetAttribute, &major, capability_major, device);
  CHECK_CALL(cuDeviceGetAttribute, &minor, capability_minor, device);
  char name[256] = {};
  CHECK_CALL(cuDeviceGetName, name, static_cast<int>(sizeof name), device);
  name_ = std::string(name) + ", sm_" + std::to_string(major) + std::to_string(minor);
  int multiprocessors = 0, shared_bytes = 0;
  CHECK_CALL(cuDeviceGetAttribute, &multiprocessors, num_multiprocessors, device);
  CHECK_CALL(cuDeviceGetAttribute, &shared_bytes, shared_bytes_of_multiprocessor, device);
  tiles_at_once_ = kernels::tiles_at_once(multiprocessors, shared_bytes);
  if (major < 8) return name_ + ": the kernels need sm_80 or later";
  void* context = nullptr;
  CHECK_CALL(cuDevicePrimaryCtxRetain, &context, device);
  CHECK_CALL(cuCtxSetCurrent, context);
  for (const kernels::Module each : kernels::all_modules) {
    void* module = nullptr;
    // The binaries are not for all devices and drivers.
    if (driver.cuModuleLoadData(&module, kernels::fatbin(each).data()) != 0) {
      CHECK_CALL(cuModuleLoadData, &module, kernels::ptx(each).data());
    }
    for (const char* function : kernels::functions(each)) {
      CHECK_CALL(cuModuleGetFunction, &functions_[function], module, function);
    }
  }
  CHECK_CALL(cuStreamCreate, &stream_, 1u);
  return {};
}

std::optional<std::string> Gpu::cublaslt() const { return cublaslt_; }

std::uint64_t Gpu::allocate(std::size_t nbytes) const {
  Address address = 0;
  CHECK_CALL(cuMemAlloc_v2, &address, nbytes);
  return address;
}

void Gpu::free(std::uint64_t address) const { CHECK_CALL(cuMemFree_v2, address); }

void Gpu::upload(std::uint64_t to, const void* from, std::size_t nbytes) const {
  CHECK_CALL(cuMemcpyHtoD_v2, to, from, nbytes);
  // It returns before bytes of pageable memory have arrived (CUDA Driver API, "API synchronization
  // behavior"), and streams that are created as non-blocking do not wait for it.
  synchronize();
}

void Gpu::download(void* to, std::uint64_t from, std::size_t nbytes) const {
  synchronize();
  CHECK_CALL(cuMemcpyDtoH_v2, to, from, nbytes);
}

void Gpu::synchronize() const { CHECK_CALL(cuCtxSynchronize); }

kernels::Launcher Gpu::launcher() {
  return {[](void* context, const kernels::Launch& what) {
            return static_cast<Gpu*>(context)->launch(what);
          },
          this};
}

tenon::Status Gpu::launch(const kernels::Launch& what) {
  const DriverResult result =
      driver.cuLaunchKernel(functions_.at(what.function), what.grid[0], what.grid[1], what.grid[2],
                            what.block[0], what.block[1], what.block[2], 0, stream_,
                            const_cast<void**>(what.parameters.data()), nullptr);
  if (result == 0) return tenon::ok();
  return tenon::error(tenon::Error::Internal, text_of(what.function, result));
}

tenon::Status Gpu::copy(std::uint64_t to, std::uint64_t from, std::size_t nbytes) const {
  const DriverResult result = driver.cuMemcpyDtoDAsync_v2(to, from, nbytes, stream_);
  if (result == 0) return tenon::ok();
  return tenon::error(tenon::Error::Internal, text_of("cuMemcpyDtoDAsync", result));
}

tenon::Status Gpu::copy_rows(std::uint64_t to, std::size_t to_pitch, std::uint64_t from,
                             std::size_t from_pitch, std::size_t width, std::size_t height) const {
  constexpr int device_memory = 2;
  Copy2D copy{};
  copy.from_type = copy.to_type = device_memory;
  copy.from = from;
  copy.from_pitch = from_pitch;
  copy.to = to;
  copy.to_pitch = to_pitch;
  copy.width = width;
  copy.height = height;
  const DriverResult result = driver.cuMemcpy2DAsync_v2(&copy, stream_);
  if (result == 0) return tenon::ok();
  return tenon::error(tenon::Error::Internal, text_of("cuMemcpy2DAsync", result));
}

tenon::Result<double> Gpu::time(const std::function<tenon::Status()>& body) const {
  constexpr int relaxed = 2, warm = 2, rounds = 5;
  // A library loads its kernels at the first call, which may not be captured.
  TENON_RETURN_IF_ERROR(body());
  synchronize();
  CHECK_CALL(cuStreamBeginCapture_v2, stream_, relaxed);
  const tenon::Status status = body();
  void* graph = nullptr;
  CHECK_CALL(cuStreamEndCapture, stream_, &graph);
  if (!status.ok()) return tenon::error(status.error(), status.text());
  void* executable = nullptr;
  CHECK_CALL(cuGraphInstantiateWithFlags, &executable, graph, 0ull);
  void *begin = nullptr, *end = nullptr;
  CHECK_CALL(cuEventCreate, &begin, 0u);
  CHECK_CALL(cuEventCreate, &end, 0u);
  double best = 0;
  for (int i = 0; i < warm + rounds; ++i) {
    CHECK_CALL(cuEventRecord, begin, stream_);
    CHECK_CALL(cuGraphLaunch, executable, stream_);
    CHECK_CALL(cuEventRecord, end, stream_);
    CHECK_CALL(cuEventSynchronize, end);
    float milliseconds = 0;
    CHECK_CALL(cuEventElapsedTime, &milliseconds, begin, end);
    const double seconds = double{milliseconds} / 1000;
    if (i >= warm && (i == warm || seconds < best)) best = seconds;
  }
  CHECK_CALL(cuEventDestroy_v2, begin);
  CHECK_CALL(cuEventDestroy_v2, end);
  CHECK_CALL(cuGraphExecDestroy, executable);
  CHECK_CALL(cuGraphDestroy, graph);
  return best;
}

void Gpu::begin_capture() {
  constexpr int relaxed = 2;
  CHECK_CALL(cuStreamBeginCapture_v2, stream_, relaxed);
}

void Gpu::end_capture(int times) {
  void* graph = nullptr;
  CHECK_CALL(cuStreamEndCapture, stream_, &graph);
  void* executable = nullptr;
  CHECK_CALL(cuGraphInstantiateWithFlags, &executable, graph, 0ull);
  for (int i = 0; i < times; ++i) CHECK_CALL(cuGraphLaunch, executable, stream_);
  synchronize();
  CHECK_CALL(cuGraphExecDestroy, executable);
  CHECK_CALL(cuGraphDestroy, graph);
}

}  // namespace gpu_test
