// SPDX-License-Identifier: MIT
#include "shims/runtime_shims.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/device.hpp"
#include "tenon/aoti/shims/call.hpp"
#include "tenon/aoti/shims/shim_table.hpp"

namespace tenon::cuda_aoti {

namespace {

using cudaError_t = CUresult;

/// Result of `cudaGetLastError`.
constinit thread_local cudaError_t last_error = CUDA_SUCCESS;

/// Addresses without memory. A model that takes its weights from a blob allocates a block for all
/// of them, copies them there and makes tensors on it. The tensors are made on the shared weights
/// instead (aoti::ConstantAdoption), so the block needs no memory.
class Reservations {
 public:
  Reservations() = default;
  Reservations(const Reservations&) = delete;
  Reservations& operator=(const Reservations&) = delete;
  ~Reservations() {
    for (const auto& [address, nbytes] : ranges_) ::munmap(address, nbytes);
  }

  /// Null when the system has no addresses left. Throws std::bad_alloc.
  void* add(std::size_t nbytes) {
    ranges_.reserve(ranges_.size() + 1);
    void* address =
        ::mmap(nullptr, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    ranges_.emplace_back(static_cast<std::byte*>(address), nbytes);
    return address;
  }
  [[nodiscard]] bool holds(const void* address) const noexcept {
    return find(address) != ranges_.end();
  }
  bool remove(const void* address) noexcept {
    const auto found = find(address);
    if (found == ranges_.end()) return false;
    ::munmap(found->first, found->second);
    ranges_.erase(found);
    return true;
  }

 private:
  using Range = std::pair<std::byte*, std::size_t>;
  [[nodiscard]] std::vector<Range>::const_iterator find(const void* address) const noexcept {
    const auto* place = static_cast<const std::byte*>(address);
    return std::ranges::find_if(ranges_, [&](const Range& range) {
      return std::greater_equal{}(place, range.first) &&
             std::less{}(place, range.first + range.second);
    });
  }
  std::vector<Range> ranges_;
};

/// The pool of the calling model, or null on a thread that runs none.
aoti::TensorPool* calling_pool() noexcept { return aoti::detail::current_pool; }

/// Outcome of a shim: the driver's function that it called last, and its result.
struct Outcome {
  Outcome(CUresult result) noexcept : code(result) {}
  Outcome(std::string_view function, CUresult result) noexcept : call(function), code(result) {}
  std::string_view call{};  ///< Empty when none was called.
  CUresult code;
};

/// Calls a function of the driver and records its name.
#define TENON_DRIVER(driver, function, ...) Outcome(#function, (driver).function(__VA_ARGS__))

/// Runs a function of the driver for a model that called `name`. A failure is recorded for
/// `cudaGetLastError`, and in the error that the model's caller gets, which names both functions.
template <class Call>
cudaError_t run(std::string_view name, Call&& call) noexcept {
  try {
    const auto driver = load_driver();
    if (!driver.ok()) {
      last_error = CUDA_ERROR_NO_DEVICE;
      return last_error;
    }
    const Outcome outcome = std::forward<Call>(call)(**driver);
    if (outcome.code == CUDA_SUCCESS) return outcome.code;
    last_error = outcome.code;
    if (calling_pool()) {
      const bool is_the_same = outcome.call.empty() || outcome.call == name;
      const std::string what = is_the_same ? std::string(name) : concat(name, ": ", outcome.call);
      calling_pool()->fail(std::string((*driver)->check(what, outcome.code).text()));
    }
    return outcome.code;
  } catch (...) {
    last_error = CUDA_ERROR_OUT_OF_MEMORY;
    return last_error;
  }
}

cudaError_t cudaMalloc(void** out, std::size_t nbytes) noexcept {
  return run("cudaMalloc", [&](const Driver& driver) -> Outcome {
    *out = nullptr;
    if (nbytes == 0) return CUDA_SUCCESS;
    if (calling_pool() && calling_pool()->adoption()) {
      *out = calling_pool()->cache<Reservations>().add(nbytes);
      return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUdeviceptr block = 0;
    const Outcome outcome = TENON_DRIVER(driver, cuMemAlloc, &block, nbytes);
    if (outcome.code == CUDA_SUCCESS) {
      *out = reinterpret_cast<void*>(static_cast<std::uintptr_t>(block));
    }
    return outcome;
  });
}

cudaError_t cudaFree(void* block) noexcept {
  return run("cudaFree", [&](const Driver& driver) -> Outcome {
    if (!block) return CUDA_SUCCESS;
    if (calling_pool() && calling_pool()->cache<Reservations>().remove(block)) return CUDA_SUCCESS;
    return TENON_DRIVER(driver, cuMemFree, to_device_pointer(block));
  });
}

/// True for a copy of weights to addresses without memory.
bool is_left_out(const void* to) {
  return calling_pool() && calling_pool()->adoption() &&
         calling_pool()->cache<Reservations>().holds(to);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t nbytes, int,
                            CUstream stream) noexcept {
  return run("cudaMemcpyAsync", [&](const Driver& driver) -> Outcome {
    if (nbytes == 0 || is_left_out(to)) return CUDA_SUCCESS;
    return TENON_DRIVER(driver, cuMemcpyAsync, to_device_pointer(to), to_device_pointer(from),
                        nbytes, stream);
  });
}

/// Waits also where the runtime would not: streams of this plugin do not wait for the default one.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t nbytes, int) noexcept {
  return run("cudaMemcpy", [&](const Driver& driver) -> Outcome {
    if (nbytes == 0 || is_left_out(to)) return CUDA_SUCCESS;
    const Outcome copied = TENON_DRIVER(driver, cuMemcpyAsync, to_device_pointer(to),
                                        to_device_pointer(from), nbytes, nullptr);
    return copied.code != CUDA_SUCCESS ? copied
                                       : TENON_DRIVER(driver, cuStreamSynchronize, nullptr);
  });
}

cudaError_t cudaEventCreateWithFlags(CUevent* out, unsigned flags) noexcept {
  return run("cudaEventCreateWithFlags",
             [&](const Driver& driver) { return TENON_DRIVER(driver, cuEventCreate, out, flags); });
}
cudaError_t cudaEventCreate(CUevent* out) noexcept {
  return run("cudaEventCreate",
             [&](const Driver& driver) { return TENON_DRIVER(driver, cuEventCreate, out, 0); });
}
cudaError_t cudaEventDestroy(CUevent event) noexcept {
  return run("cudaEventDestroy",
             [&](const Driver& driver) { return TENON_DRIVER(driver, cuEventDestroy, event); });
}
cudaError_t cudaEventRecord(CUevent event, CUstream stream) noexcept {
  return run("cudaEventRecord", [&](const Driver& driver) {
    return TENON_DRIVER(driver, cuEventRecord, event, stream);
  });
}
cudaError_t cudaEventSynchronize(CUevent event) noexcept {
  return run("cudaEventSynchronize",
             [&](const Driver& driver) { return TENON_DRIVER(driver, cuEventSynchronize, event); });
}
/// CUDA_ERROR_NOT_READY is an answer, not a failure.
cudaError_t cudaEventQuery(CUevent event) noexcept {
  CUresult answer = CUDA_SUCCESS;
  const cudaError_t failed = run("cudaEventQuery", [&](const Driver& driver) -> Outcome {
    const Outcome outcome = TENON_DRIVER(driver, cuEventQuery, event);
    answer = outcome.code;
    return answer == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : outcome;
  });
  return failed != CUDA_SUCCESS ? failed : answer;
}
cudaError_t cudaStreamCreateWithFlags(CUstream* out, unsigned flags) noexcept {
  return run("cudaStreamCreateWithFlags", [&](const Driver& driver) {
    return TENON_DRIVER(driver, cuStreamCreate, out, flags);
  });
}
cudaError_t cudaStreamSynchronize(CUstream stream) noexcept {
  return run("cudaStreamSynchronize", [&](const Driver& driver) {
    return TENON_DRIVER(driver, cuStreamSynchronize, stream);
  });
}

cudaError_t cudaGetDevice(int* out) noexcept {
  return run("cudaGetDevice",
             [&](const Driver& driver) { return TENON_DRIVER(driver, cuCtxGetDevice, out); });
}

/// A model has one device, the one that it was created for. The thread's context is restored when
/// the call into the model ends (DeviceMemoryApi::leave).
cudaError_t cudaSetDevice(int index) noexcept {
  return run("cudaSetDevice", [&](const Driver& driver) -> Outcome {
    if (!calling_pool()) return CUDA_ERROR_INVALID_DEVICE;
    const CudaDevice& device = *model_context(calling_pool()->memory()).device;
    if (device.index() != index) return CUDA_ERROR_INVALID_DEVICE;
    return TENON_DRIVER(driver, cuCtxSetCurrent, device.context());
  });
}

/// Layout of cudaPointerAttributes (driver_types.h of CUDA 11 to 13).
struct cudaPointerAttributes {
  int type;
  int device;
  void* devicePointer;
  void* hostPointer;
  long reserved[8];
};

/// Memory that CUDA does not know has type 0, as in the runtime since CUDA 11.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* address) noexcept {
  return run("cudaPointerGetAttributes", [&](const Driver& driver) -> Outcome {
    constexpr int managed_memory = 3;
    *out = {};
    out->device = -2;
    const CUdeviceptr place = to_device_pointer(address);
    int type = 0;
    int device = 0;
    unsigned managed = 0;
    if (driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, place) !=
        CUDA_SUCCESS) {
      out->hostPointer = const_cast<void*>(address);
      return CUDA_SUCCESS;
    }
    static_cast<void>(
        driver.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, place));
    static_cast<void>(
        driver.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, place));
    out->type = managed != 0 ? managed_memory : type;
    out->device = device;
    out->devicePointer = const_cast<void*>(address);
    if (type == CU_MEMORYTYPE_HOST || managed != 0) out->hostPointer = const_cast<void*>(address);
    return CUDA_SUCCESS;
  });
}

const char* cudaGetErrorString(cudaError_t code) noexcept {
  const char* text = nullptr;
  const auto driver = load_driver();
  if (driver.ok()) static_cast<void>((*driver)->cuGetErrorString(code, &text));
  return text ? text : "unknown CUDA error";
}

cudaError_t cudaGetLastError() noexcept { return std::exchange(last_error, CUDA_SUCCESS); }

CUresult cuModuleLoadData(CUmodule* out, const void* image) noexcept {
  return run("cuModuleLoadData", [&](const Driver& driver) {
    return TENON_DRIVER(driver, cuModuleLoadData, out, image);
  });
}
CUresult cuModuleUnload(CUmodule module) noexcept {
  return run("cuModuleUnload",
             [&](const Driver& driver) { return TENON_DRIVER(driver, cuModuleUnload, module); });
}
CUresult cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) noexcept {
  return run("cuModuleGetFunction", [&](const Driver& driver) {
    return TENON_DRIVER(driver, cuModuleGetFunction, out, module, name);
  });
}
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) noexcept {
  return run("cuFuncSetAttribute", [&](const Driver& driver) {
    return TENON_DRIVER(driver, cuFuncSetAttribute, function, attribute, value);
  });
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** parameters, void** extra) noexcept {
  return run("cuLaunchKernel", [&](const Driver& driver) {
    return TENON_DRIVER(driver, cuLaunchKernel, function, grid_x, grid_y, grid_z, block_x, block_y,
                        block_z, shared_bytes, stream, parameters, extra);
  });
}
CUresult cuLaunchKernelEx(const void* configuration, CUfunction function, void** parameters,
                          void** extra) noexcept {
  return run("cuLaunchKernelEx", [&](const Driver& driver) {
    return TENON_DRIVER(driver, cuLaunchKernelEx, configuration, function, parameters, extra);
  });
}

}  // namespace

std::span<const aoti::Shim> runtime_shims() {
  static const aoti::Shim list[] = {
      // One a line.
      TENON_AOTI_ENTRY(cudaMalloc, )                 //
      TENON_AOTI_ENTRY(cudaFree, )                   //
      TENON_AOTI_ENTRY(cudaMemcpy, )                 //
      TENON_AOTI_ENTRY(cudaMemcpyAsync, )            //
      TENON_AOTI_ENTRY(cudaEventCreate, )            //
      TENON_AOTI_ENTRY(cudaEventCreateWithFlags, )   //
      TENON_AOTI_ENTRY(cudaEventDestroy, )           //
      TENON_AOTI_ENTRY(cudaEventQuery, )             //
      TENON_AOTI_ENTRY(cudaEventRecord, )            //
      TENON_AOTI_ENTRY(cudaEventSynchronize, )       //
      TENON_AOTI_ENTRY(cudaStreamCreateWithFlags, )  //
      TENON_AOTI_ENTRY(cudaStreamSynchronize, )      //
      TENON_AOTI_ENTRY(cudaGetDevice, )              //
      TENON_AOTI_ENTRY(cudaSetDevice, )              //
      TENON_AOTI_ENTRY(cudaPointerGetAttributes, )   //
      TENON_AOTI_ENTRY(cudaGetErrorString, )         //
      TENON_AOTI_ENTRY(cudaGetLastError, )           //
      TENON_AOTI_ENTRY(cuModuleLoadData, )           //
      TENON_AOTI_ENTRY(cuModuleUnload, )             //
      TENON_AOTI_ENTRY(cuModuleGetFunction, )        //
      TENON_AOTI_ENTRY(cuFuncSetAttribute, )         //
      TENON_AOTI_ENTRY(cuLaunchKernel, )             //
      TENON_AOTI_ENTRY(cuLaunchKernelEx, )           //
  };
  return list;
}

}  // namespace tenon::cuda_aoti
