// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "driver/caller_streams.hpp"
#include "driver/driver.hpp"
#include "driver/modules.hpp"
#include "driver/upload.hpp"
#include "kernels/kernels.hpp"
#include "tenon/aoti/tensors/device_memory_api.hpp"
#include "tenon/core/application/scheduling.hpp"

namespace tenon::cuda_aoti {

namespace kernels {
class CublasLtHandle;
}
class Stream;

/// Compute capability of a device without the point: 90 for 9.0. Needs no context.
[[nodiscard]] Result<unsigned> capability_of(const Driver& driver, std::int32_t index);

/// errors: InvalidArgument when no device has that number.
[[nodiscard]] Status check_device_index(const Driver& driver, std::int32_t index);

/// One CUDA device with its primary context, which is also that of the CUDA runtime and of libtorch
/// in the same process. Shared by everything in this plugin that uses the device; the context is
/// released with the last user.
///
/// Threads: any.
class CudaDevice {
 public:
  /// errors: as `load_driver`; InvalidArgument when no device has that number.
  [[nodiscard]] static Result<std::shared_ptr<CudaDevice>> open(std::int32_t index);
  CudaDevice(const Driver& driver, std::int32_t index, CUdevice device, CUcontext context) noexcept
      : driver_(driver), index_(index), device_(device), context_(context) {}
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice();

  [[nodiscard]] const Driver& driver() const noexcept { return driver_; }
  [[nodiscard]] std::int32_t index() const noexcept { return index_; }
  [[nodiscard]] CUcontext context() const noexcept { return context_; }

  /// Memory that tensors are allocated from in the order of a stream; null where the device has no
  /// such pools. The pool is the plugin's own, so its settings differ from the application's pools.
  [[nodiscard]] CUmemoryPool memory_pool() const noexcept { return memory_pool_; }

  /// Tiles of a product that the device computes at once (kernels::tiles_at_once).
  [[nodiscard]] std::int64_t tiles_at_once() const noexcept { return tiles_at_once_; }

  /// Bytes of free memory that the pool keeps when something waits: the largest number that was
  /// given, 0 at first, as in the driver.
  [[nodiscard]] Status raise_release_threshold(std::uint64_t nbytes);

  /// The stream of this device that delegates share; destroyed with its last user.
  [[nodiscard]] static Result<std::shared_ptr<Stream>> shared_stream(
      const std::shared_ptr<CudaDevice>& device);

  /// A kernel of this plugin (kernels::functions). The first call for one of a module loads that
  /// into the device's context, which must be current; it is unloaded on destruction.
  /// threads: any
  [[nodiscard]] Result<CUfunction> kernel(std::string_view name);

  CallerStreams caller_streams;

 private:
  Status create_memory_pool();
  Status read_attributes();

  const Driver& driver_;
  std::int32_t index_;
  CUdevice device_;
  CUcontext context_;
  std::mutex mutex_;
  std::weak_ptr<Stream> shared_stream_;
  CUmemoryPool memory_pool_ = nullptr;
  std::uint64_t release_threshold_ = 0;
  std::int64_t tiles_at_once_ = 0;
  /// A module of kernels::all_modules.
  struct Kernels {
    CUmodule handle = nullptr;
    std::vector<CUfunction> functions;  ///< In the order of their names.
    std::atomic<bool> is_loaded = false;
  };
  Status load(kernels::Module module, Kernels& to);
  std::array<Kernels, std::size(kernels::all_modules)> kernels_;
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

/// A stream of this plugin.
class Stream {
 public:
  enum class Kind {
    /// It and the legacy default stream wait for each other, so that an application may enqueue
    /// there without streams of its own (as in ExecuTorch, whose streams are such).
    ordinary,
    /// It and the default stream do not wait for each other: nothing can be enqueued on the legacy
    /// default stream of a context while a stream that waits for it is captured.
    for_graphs,
  };
  /// With a priority of the range that the device has: `Low` is the least, which streams without
  /// one have as well, `High` the greatest.
  [[nodiscard]] static Result<std::shared_ptr<Stream>> create(std::shared_ptr<CudaDevice> device,
                                                              Kind kind,
                                                              Priority priority = Priority::Any);
  Stream(std::shared_ptr<CudaDevice> device, CUstream stream, Kind kind) noexcept
      : device_(std::move(device)), stream_(stream), kind_(kind) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  [[nodiscard]] CUstream get() const noexcept { return stream_; }
  [[nodiscard]] Kind kind() const noexcept { return kind_; }

 private:
  std::shared_ptr<CudaDevice> device_;
  CUstream stream_;
  Kind kind_;
};

/// Device and stream of a delegate's instances; the context of their `aoti::DeviceMemoryApi`.
struct ModelContext {
  ModelContext(std::shared_ptr<CudaDevice> of_device, std::shared_ptr<Stream> on_stream,
               std::unique_ptr<Staging> with_staging, std::shared_ptr<LoadedModules> with_modules,
               std::shared_ptr<const kernels::CublasLtHandle> with_cublaslt,
               std::optional<std::uint64_t> with_seed) noexcept
      : device(std::move(of_device)),
        stream(std::move(on_stream)),
        staging(std::move(with_staging)),
        modules(std::move(with_modules)),
        cublaslt(std::move(with_cublaslt)),
        seed(with_seed) {}
  ModelContext(const ModelContext&) = delete;
  ModelContext& operator=(const ModelContext&) = delete;
  ~ModelContext();

  std::shared_ptr<CudaDevice> device;
  std::shared_ptr<Stream> stream;
  std::unique_ptr<Staging> staging;
  std::shared_ptr<LoadedModules> modules;                   ///< Of all instances of the model.
  std::shared_ptr<const kernels::CublasLtHandle> cublaslt;  ///< For large products; may be null.
  std::optional<std::uint64_t> seed;  ///< Of random numbers; empty for another one each time.
};

/// The memory functions of `device`, on `stream`, for the shared layer. Tensors are allocated in
/// the order of the stream where the device can do that, except for graphs. `cublaslt` may be null.
/// `modules` are the model's; null for none. `seed` is the seed of its random numbers.
[[nodiscard]] aoti::DeviceMemoryApi device_memory(
    std::shared_ptr<CudaDevice> device, std::shared_ptr<Stream> stream,
    std::shared_ptr<const kernels::CublasLtHandle> cublaslt = nullptr,
    std::shared_ptr<LoadedModules> modules = nullptr, std::optional<std::uint64_t> seed = {});
/// Bytes of shared memory that a block can have on a device. Needs no context.
[[nodiscard]] Result<std::uint64_t> shared_memory_of(const Driver& driver, std::int32_t index);

/// The context of a pool's memory.
[[nodiscard]] inline const ModelContext& model_context(
    const aoti::DeviceMemoryApi& memory) noexcept {
  return *static_cast<const ModelContext*>(memory.context.get());
}

inline CUdeviceptr to_device_pointer(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace tenon::cuda_aoti
