// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "driver.hpp"
#include "tenon/aoti/device_memory.hpp"

namespace tenon::cuda_aoti {

class Stream;

/// One CUDA device with its primary context, which is also that of the CUDA runtime and of libtorch
/// in the same process. Shared by everything in this plugin that uses the device; the context is
/// given back with the last user.
///
/// Threads: any.
class Device {
 public:
  /// errors: those of `load_driver`; InvalidArgument when there is no device of that number.
  [[nodiscard]] static Result<std::shared_ptr<Device>> open(std::int32_t index);
  Device(const Driver& driver, std::int32_t index, CUdevice device, CUcontext context) noexcept
      : driver_(driver), index_(index), device_(device), context_(context) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  [[nodiscard]] const Driver& driver() const noexcept { return driver_; }
  [[nodiscard]] std::int32_t index() const noexcept { return index_; }
  [[nodiscard]] CUcontext context() const noexcept { return context_; }

  /// Its compute capability without the point: 90 for 9.0.
  [[nodiscard]] Result<unsigned> capability() const;

  /// The one stream of this device for those that share one; it goes with its last user.
  [[nodiscard]] static Result<std::shared_ptr<Stream>> shared_stream(
      const std::shared_ptr<Device>& device);

  /// A kernel of this plugin (kernels::functions). The first call loads all of them into the
  /// device's context, which must be current; they stay until this object goes.
  /// threads: any
  [[nodiscard]] Result<CUfunction> kernel(std::string_view name);

  /// Delegates that enqueue on streams of the application, which nobody else may know.
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

/// While it lives the device's context is current on this thread, unless that failed.
class ContextScope {
 public:
  explicit ContextScope(const Device& device)
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
  const Device& device_;
  Status status_;
};

/// A stream of this plugin. It does not wait for the default stream, nor that for it.
class Stream {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Stream>> create(std::shared_ptr<Device> device);
  Stream(std::shared_ptr<Device> device, CUstream stream) noexcept
      : device_(std::move(device)), stream_(stream) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  [[nodiscard]] CUstream get() const noexcept { return stream_; }

 private:
  std::shared_ptr<Device> device_;
  CUstream stream_;
};

/// What a delegate's instances work with; the context of their `aoti::DeviceMemory`.
struct ModelContext {
  std::shared_ptr<Device> device;
  std::shared_ptr<Stream> stream;
};

/// Memory of `device` with all that the shared layer asks of one, on `stream`.
[[nodiscard]] aoti::DeviceMemory device_memory(std::shared_ptr<Device> device,
                                               std::shared_ptr<Stream> stream);

/// The context of a pool's memory.
[[nodiscard]] inline const ModelContext& model_context(const aoti::DeviceMemory& memory) noexcept {
  return *static_cast<const ModelContext*>(memory.context.get());
}

/// Enqueues a copy between two layouts: rows that lie in one piece on both sides, as many at once
/// as one call of the driver takes. A layout without such rows costs a call for each column.
[[nodiscard]] Status copy_strided_on(const Driver& driver, CUstream stream,
                                     const aoti::StridedCopy& copy);

inline CUdeviceptr to_device_pointer(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace tenon::cuda_aoti
