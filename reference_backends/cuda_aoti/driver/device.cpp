// SPDX-License-Identifier: MIT
#include "driver/device.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/kernels.hpp"
#include "verdict.hpp"

namespace tenon::cuda_aoti {

Result<std::shared_ptr<CudaDevice>> CudaDevice::open(std::int32_t index) {
  static std::mutex mutex;
  static std::vector<std::weak_ptr<CudaDevice>> open_devices;
  TENON_TRY(const Driver* const driver, load_driver());
  TENON_RETURN_IF_ERROR(check_device_index(*driver, index));
  const std::lock_guard lock(mutex);
  const auto place = static_cast<std::size_t>(index);
  if (open_devices.size() <= place) open_devices.resize(place + 1);
  if (auto device = open_devices[place].lock()) return device;
  CUdevice device = 0;
  CUcontext context = nullptr;
  TENON_RETURN_IF_ERROR(TENON_CUDA(*driver, cuDeviceGet, &device, index));
  TENON_RETURN_IF_ERROR(TENON_CUDA(*driver, cuDevicePrimaryCtxRetain, &context, device));
  auto made = std::make_shared<CudaDevice>(*driver, index, device, context);
  TENON_RETURN_IF_ERROR(made->create_memory_pool());
  TENON_RETURN_IF_ERROR(made->read_attributes());
  open_devices[place] = made;
  return made;
}

Status CudaDevice::create_memory_pool() {
  int is_supported = 0;
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver_, cuDeviceGetAttribute, &is_supported,
                                   CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device_));
  if (is_supported == 0) return ok();
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.locationType = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.locationId = device_;
  return TENON_CUDA(driver_, cuMemPoolCreate, &memory_pool_, &properties);
}

Status CudaDevice::read_attributes() {
  int multiprocessors = 0;
  int shared_bytes = 0;
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver_, cuDeviceGetAttribute, &multiprocessors,
                                   CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_));
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver_, cuDeviceGetAttribute, &shared_bytes,
                                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
                                   device_));
  tiles_at_once_ = kernels::tiles_at_once(multiprocessors, shared_bytes);
  return ok();
}

Status CudaDevice::raise_release_threshold(std::uint64_t nbytes) {
  const std::lock_guard lock(mutex_);
  if (!memory_pool_ || nbytes <= release_threshold_) return ok();
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver_, cuMemPoolSetAttribute, memory_pool_,
                                   CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &nbytes));
  release_threshold_ = nbytes;
  return ok();
}

CudaDevice::~CudaDevice() {
  for (const Kernels& module : kernels_) {
    if (!module.handle) continue;
    const ContextScope scope(*this);
    static_cast<void>(driver_.cuModuleUnload(module.handle));
  }
  if (memory_pool_) static_cast<void>(driver_.cuMemPoolDestroy(memory_pool_));
  static_cast<void>(driver_.cuDevicePrimaryCtxRelease(device_));
}

Result<unsigned> capability_of(const Driver& driver, std::int32_t index) {
  CUdevice device = 0;
  int major = 0;
  int minor = 0;
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuDeviceGet, &device, index));
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuDeviceGetAttribute, &major,
                                   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuDeviceGetAttribute, &minor,
                                   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  return static_cast<unsigned>(10 * major + minor);
}

Result<std::uint64_t> shared_memory_of(const Driver& driver, std::int32_t index) {
  CUdevice device = 0;
  int out = 0;
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuDeviceGet, &device, index));
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuDeviceGetAttribute, &out,
                                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device));
  return static_cast<std::uint64_t>(out);
}

Status check_device_index(const Driver& driver, std::int32_t index) {
  int count = 0;
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuDeviceGetCount, &count));
  if (index >= 0 && index < count) return ok();
  return error(Error::InvalidArgument, "CUDA device ", index, ": this machine has ", count,
               count == 1 ? " CUDA device" : " CUDA devices", ", counted from 0");
}

Status CudaDevice::load(kernels::Module module, Kernels& to) {
  const std::lock_guard lock(mutex_);
  if (!to.handle) {
    TENON_TRY(const void* const image, own_kernels_for(module, driver_, index_));
    TENON_RETURN_IF_ERROR(TENON_CUDA(driver_, cuModuleLoadData, &to.handle, image));
  }
  const auto names = kernels::functions(module);
  std::vector<CUfunction> found(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    TENON_RETURN_IF_ERROR(TENON_CUDA(driver_, cuModuleGetFunction, &found[i], to.handle, names[i]));
  }
  if (to.functions.empty()) to.functions = std::move(found);
  to.is_loaded.store(true, std::memory_order_release);
  return ok();
}

Result<CUfunction> CudaDevice::kernel(std::string_view name) {
  for (const kernels::Module module : kernels::all_modules) {
    const auto names = kernels::functions(module);
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) continue;
    Kernels& of = kernels_[static_cast<std::size_t>(module)];
    if (!of.is_loaded.load(std::memory_order_acquire)) TENON_RETURN_IF_ERROR(load(module, of));
    return of.functions[static_cast<std::size_t>(found - names.begin())];
  }
  return error(Error::Internal, "there is no kernel '", name, "'");
}

Result<std::shared_ptr<Stream>> CudaDevice::shared_stream(
    const std::shared_ptr<CudaDevice>& device) {
  const std::lock_guard lock(device->mutex_);
  if (auto stream = device->shared_stream_.lock()) return stream;
  TENON_TRY(auto stream, Stream::create(device, Stream::Kind::ordinary));
  device->shared_stream_ = stream;
  return stream;
}

Result<std::shared_ptr<Stream>> Stream::create(std::shared_ptr<CudaDevice> device, Kind kind,
                                               Priority priority) {
  const ContextScope scope(*device);
  TENON_RETURN_IF_ERROR(scope.status());
  CUstream stream = nullptr;
  const unsigned flags = kind == Kind::for_graphs ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
  if (priority == Priority::Any) {
    TENON_RETURN_IF_ERROR(TENON_CUDA(device->driver(), cuStreamCreate, &stream, flags));
  } else {
    // Lower numbers come first; both are 0 where the device has no priorities.
    int least = 0, greatest = 0;
    TENON_RETURN_IF_ERROR(
        TENON_CUDA(device->driver(), cuCtxGetStreamPriorityRange, &least, &greatest));
    const int number = priority == Priority::Low    ? least
                       : priority == Priority::High ? greatest
                                                    : (least + greatest) / 2;
    TENON_RETURN_IF_ERROR(
        TENON_CUDA(device->driver(), cuStreamCreateWithPriority, &stream, flags, number));
  }
  return std::make_shared<Stream>(device, stream, kind);
}

Stream::~Stream() {
  const ContextScope scope(*device_);
  static_cast<void>(device_->driver().cuStreamDestroy(stream_));
}

}  // namespace tenon::cuda_aoti
