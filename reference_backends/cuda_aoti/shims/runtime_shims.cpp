// SPDX-License-Identifier: MIT
#include "shims/shim_list.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "driver/device.hpp"
#include "shims/runtime_call.hpp"
#include "verdict.hpp"

namespace tenon::cuda_aoti {

namespace {

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
cudaError_t cudaStreamDestroy(CUstream stream) noexcept {
  return run("cudaStreamDestroy",
             [&](const Driver& driver) { return TENON_DRIVER(driver, cuStreamDestroy, stream); });
}
cudaError_t cudaStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) noexcept {
  return run("cudaStreamWaitEvent", [&](const Driver& driver) {
    return TENON_DRIVER(driver, cuStreamWaitEvent, stream, event, flags);
  });
}
/// The statuses have the driver's numbers.
cudaError_t cudaStreamIsCapturing(CUstream stream, int* out) noexcept {
  return run("cudaStreamIsCapturing", [&](const Driver& driver) {
    return TENON_DRIVER(driver, cuStreamIsCapturing, stream, out);
  });
}
cudaError_t cudaStreamSynchronize(CUstream stream) noexcept {
  return run("cudaStreamSynchronize", [&](const Driver& driver) {
    return TENON_DRIVER(driver, cuStreamSynchronize, stream);
  });
}

cudaError_t cudaDeviceSynchronize() noexcept {
  return run("cudaDeviceSynchronize",
             [&](const Driver& driver) { return TENON_DRIVER(driver, cuCtxSynchronize); });
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

const char* cudaGetErrorString(cudaError_t code) noexcept {
  const char* text = nullptr;
  const auto driver = load_driver();
  if (driver.ok()) static_cast<void>((*driver)->cuGetErrorString(code, &text));
  return text ? text : "unknown CUDA error";
}

cudaError_t cudaGetLastError() noexcept { return std::exchange(last_error, CUDA_SUCCESS); }
cudaError_t cudaPeekAtLastError() noexcept { return last_error; }

/// The modules of the calling model, or null on a thread that runs none.
LoadedModules* modules() noexcept {
  return calling_pool() ? model_context(calling_pool()->memory()).modules.get() : nullptr;
}

// Instances of a model share its modules.
CUresult cuModuleLoadData(CUmodule* out, const void* image) noexcept {
  return run("cuModuleLoadData", [&](const Driver& driver) -> Outcome {
    if (modules()) return modules()->load(driver, image, out);
    return TENON_DRIVER(driver, cuModuleLoadData, out, image);
  });
}
CUresult cuModuleUnload(CUmodule module) noexcept {
  return run("cuModuleUnload", [&](const Driver& driver) -> Outcome {
    if (modules()) return modules()->unload(driver, module);
    return TENON_DRIVER(driver, cuModuleUnload, module);
  });
}
CUresult cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) noexcept {
  return run("cuModuleGetFunction", [&](const Driver& driver) -> Outcome {
    if (modules()) return modules()->find(driver, module, name, out);
    return TENON_DRIVER(driver, cuModuleGetFunction, out, module, name);
  });
}
/// A kernel that needs more shared memory than there is, and was not refused by `check_blob`.
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) noexcept {
  return run("cuFuncSetAttribute", [&](const Driver& driver) -> Outcome {
    const Outcome out = TENON_DRIVER(driver, cuFuncSetAttribute, function, attribute, value);
    if (out.code != CUDA_ERROR_INVALID_VALUE || !modules() ||
        attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
      return out;
    }
    aoti::TensorPool& pool = *calling_pool();
    const std::int32_t index = model_context(pool.memory()).device->index();
    const auto there = shared_memory_of(driver, index);
    if (!there.ok()) return out;
    const Status refused = shared_memory_refused(modules()->name_of(function),
                                                 static_cast<std::uint64_t>(value), *there, index);
    pool.fail(std::string(refused.text()), refused.error());
    return out;
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
      TENON_AOTI_ENTRY(cudaEventCreate, )            //
      TENON_AOTI_ENTRY(cudaEventCreateWithFlags, )   //
      TENON_AOTI_ENTRY(cudaEventDestroy, )           //
      TENON_AOTI_ENTRY(cudaEventQuery, )             //
      TENON_AOTI_ENTRY(cudaEventRecord, )            //
      TENON_AOTI_ENTRY(cudaEventSynchronize, )       //
      TENON_AOTI_ENTRY(cudaStreamCreateWithFlags, )  //
      TENON_AOTI_ENTRY(cudaStreamDestroy, )          //
      TENON_AOTI_ENTRY(cudaStreamIsCapturing, )      //
      TENON_AOTI_ENTRY(cudaStreamSynchronize, )      //
      TENON_AOTI_ENTRY(cudaStreamWaitEvent, )        //
      TENON_AOTI_ENTRY(cudaDeviceSynchronize, )      //
      TENON_AOTI_ENTRY(cudaGetDevice, )              //
      TENON_AOTI_ENTRY(cudaSetDevice, )              //
      TENON_AOTI_ENTRY(cudaGetErrorString, )         //
      TENON_AOTI_ENTRY(cudaGetLastError, )           //
      TENON_AOTI_ENTRY(cudaPeekAtLastError, )        //
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
