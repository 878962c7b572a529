// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "driver/driver.hpp"
#include "tenon/aoti/tensors/device_memory_api.hpp"

namespace tenon::cuda_aoti {

class Stream;

/// One CUDA device with its primary context, which is also that of the CUDA runtime and of libtorch
/// in the same process. Shared by everything in this plugin that uses the device; the context is
/// released with the last user.
///
/// Threads: any.
class CudaDevice {
 public:
  /// errors: those of `load_driver`; InvalidArgument when no device has that number.
  [[nodiscard]] static Result<std::shared_ptr<CudaDevice>> open(std::int32_t index);
  CudaDevice(const Driver& driver, std::int32_t index, CUdevice device, CUcontext context) noexcept
      : driver_(driver), index_(index), device_(device), context_(context) {}
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice();

  [[nodiscard]] const Driver& driver() const noexcept { return driver_; }
  [[nodiscard]] std::int32_t index() const noexcept { return index_; }
  [[nodiscard]] CUcontext context() const noexcept { return context_; }

  /// Its compute capability without the point: 90 for 9.0.
  [[nodiscard]] Result<unsigned> capability() const;

  /// The stream of this device that delegates share; destroyed with its last user.
  [[nodiscard]] static Result<std::shared_ptr<Stream>> shared_stream(
      const std::shared_ptr<CudaDevice>& device);

  /// A kernel of this plugin (kernels::functions). The first call loads all of them into the
  /// device's context, which must be current; they are unloaded on destruction.
  /// threads: any
  [[nodiscard]] Result<CUfunction> kernel(std::string_view name);

  /// Number of delegates that enqueue on streams of the application, which this plugin does not
  /// track.
  std::atomic<int> num_caller_streams = 0;

 private:
  const Driver& driver_;
  std::int32_t index_;
  CUdevice device_;
  CUcontext context_;
  std::mutex mutex_;
  std::weak_ptr<Stream> shared_stream_;
  CUmodule kernels_ = nullptr;
  std::vector<CUfunction> functions_;  ///< In the order of their names.
  std::atomic<bool> has_kernels_ = false;
};

/// Makes the device's context current on this thread for the lifetime of this object, unless that
/// fails.
class ContextScope {
 public:
  explicit ContextScope(const CudaDevice& device)
      : device_(device), status_(TENON_CUDA(device.driver(), cuCtxPushCurrent, device.context())) {}
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope() {
    CUcontext popped = nullptr;
    if (status_.ok()) static_cast<void>(device_.driver().cuCtxPopCurrent(&popped));
  }
  [[nodiscard]] Status status() const {
    return status_.ok() ? ok() : error(status_.error(), status_.text());
  }

 private:
  const CudaDevice& device_;
  Status status_;
};

/// A stream of this plugin. It and the default stream do not wait for each other.
class Stream {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Stream>> create(std::shared_ptr<CudaDevice> device);
  Stream(std::shared_ptr<CudaDevice> device, CUstream stream) noexcept
      : device_(std::move(device)), stream_(stream) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  [[nodiscard]] CUstream get() const noexcept { return stream_; }

 private:
  std::shared_ptr<CudaDevice> device_;
  CUstream stream_;
};

/// Device and stream of a delegate's instances; the context of their `aoti::DeviceMemoryApi`.
struct ModelContext {
  std::shared_ptr<CudaDevice> device;
  std::shared_ptr<Stream> stream;
};

/// The memory functions of `device`, on `stream`, for the shared layer.
[[nodiscard]] aoti::DeviceMemoryApi device_memory(std::shared_ptr<CudaDevice> device,
                                                  std::shared_ptr<Stream> stream);

/// The context of a pool's memory.
[[nodiscard]] inline const ModelContext& model_context(
    const aoti::DeviceMemoryApi& memory) noexcept {
  return *static_cast<const ModelContext*>(memory.context.get());
}

/// Enqueues a copy between two layouts: rows that are adjacent on both sides, as many as one call
/// of the driver can copy. A layout without such rows costs a call for each column.
[[nodiscard]] Status copy_strided_on(const Driver& driver, CUstream stream,
                                     const aoti::StridedCopy& copy);

inline CUdeviceptr to_device_pointer(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace tenon::cuda_aoti
