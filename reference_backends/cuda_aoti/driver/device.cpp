// SPDX-License-Identifier: MIT
#include "driver/device.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "kernels/kernels.hpp"
#include "tenon/aoti/tensors/strided_copy.hpp"

namespace tenon::cuda_aoti {

namespace {

const ModelContext& as_context(void* context) noexcept {
  return *static_cast<const ModelContext*>(context);
}

Result<std::byte*> allocate(void* context, std::size_t nbytes) {
  const CudaDevice& device = *as_context(context).device;
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  CUdeviceptr block = 0;
  TENON_RETURN_IF_ERROR(
      TENON_CUDA(device.driver(), cuMemAlloc, &block, std::max<std::size_t>(nbytes, 1)));
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(block));
}

// The two functions below cannot report a failure.
void free_block(void* context, std::byte* block) noexcept {
  const CudaDevice& device = *as_context(context).device;
  const ContextScope scope(device);
  static_cast<void>(device.driver().cuMemFree(to_device_pointer(block)));
}

void free_host(void* context, std::byte* block) noexcept {
  const CudaDevice& device = *as_context(context).device;
  const ContextScope scope(device);
  static_cast<void>(device.driver().cuMemFreeHost(block));
}

Result<std::byte*> allocate_host(void* context, std::size_t nbytes) {
  const CudaDevice& device = *as_context(context).device;
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  void* block = nullptr;
  TENON_RETURN_IF_ERROR(TENON_CUDA(device.driver(), cuMemHostAlloc, &block, nbytes, 0u));
  return static_cast<std::byte*>(block);
}

Status copy(void* context, void* stream, aoti::CopyKind kind, std::byte* to, const std::byte* from,
            std::size_t nbytes) {
  const CudaDevice& device = *as_context(context).device;
  const Driver& driver = device.driver();
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  auto* const on = static_cast<CUstream>(stream);
  switch (kind) {
    case aoti::CopyKind::to_device:
      return TENON_CUDA(driver, cuMemcpyHtoDAsync, to_device_pointer(to), from, nbytes, on);
    case aoti::CopyKind::to_host:
      return TENON_CUDA(driver, cuMemcpyDtoHAsync, to, to_device_pointer(from), nbytes, on);
    case aoti::CopyKind::within_device:
      break;
  }
  return TENON_CUDA(driver, cuMemcpyDtoDAsync, to_device_pointer(to), to_device_pointer(from),
                    nbytes, on);
}

Status copy_strided(void* context, void* stream, const aoti::StridedCopy& copy) {
  const CudaDevice& device = *as_context(context).device;
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  return copy_strided_on(device.driver(), static_cast<CUstream>(stream), copy);
}

Status zero(void* context, void* stream, std::byte* to, std::size_t nbytes) {
  const CudaDevice& device = *as_context(context).device;
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  return TENON_CUDA(device.driver(), cuMemsetD8Async, to_device_pointer(to),
                    static_cast<unsigned char>(0), nbytes, static_cast<CUstream>(stream));
}

Status wait_for(const CudaDevice& device, CUstream stream) {
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  return TENON_CUDA(device.driver(), cuStreamSynchronize, stream);
}

/// A caller reuses its memory after a failure, too, while a copy may still be running: so a failed
/// wait is repeated once.
Status synchronize(void* context, void* stream) {
  const CudaDevice& device = *as_context(context).device;
  Status status = wait_for(device, static_cast<CUstream>(stream));
  if (!status.ok()) static_cast<void>(wait_for(device, static_cast<CUstream>(stream)));
  return status;
}

Status enter(void* context) {
  const CudaDevice& device = *as_context(context).device;
  return TENON_CUDA(device.driver(), cuCtxPushCurrent, device.context());
}

void leave(void* context) noexcept {
  CUcontext popped = nullptr;
  static_cast<void>(as_context(context).device->driver().cuCtxPopCurrent(&popped));
}

}  // namespace

Result<std::shared_ptr<CudaDevice>> CudaDevice::open(std::int32_t index) {
  static std::mutex mutex;
  static std::vector<std::weak_ptr<CudaDevice>> open_devices;
  TENON_TRY(const Driver* const driver, load_driver());
  int count = 0;
  TENON_RETURN_IF_ERROR(TENON_CUDA(*driver, cuDeviceGetCount, &count));
  if (index < 0 || index >= count) {
    return error(Error::InvalidArgument, "CUDA device ", index, ": this machine has ", count,
                 count == 1 ? " CUDA device" : " CUDA devices", ", counted from 0");
  }
  const std::lock_guard lock(mutex);
  const auto place = static_cast<std::size_t>(index);
  if (open_devices.size() <= place) open_devices.resize(place + 1);
  if (auto device = open_devices[place].lock()) return device;
  CUdevice device = 0;
  CUcontext context = nullptr;
  TENON_RETURN_IF_ERROR(TENON_CUDA(*driver, cuDeviceGet, &device, index));
  TENON_RETURN_IF_ERROR(TENON_CUDA(*driver, cuDevicePrimaryCtxRetain, &context, device));
  auto made = std::make_shared<CudaDevice>(*driver, index, device, context);
  open_devices[place] = made;
  return made;
}

CudaDevice::~CudaDevice() {
  if (kernels_) {
    const ContextScope scope(*this);
    static_cast<void>(driver_.cuModuleUnload(kernels_));
  }
  static_cast<void>(driver_.cuDevicePrimaryCtxRelease(device_));
}

Result<unsigned> CudaDevice::capability() const {
  int major = 0;
  int minor = 0;
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver_, cuDeviceGetAttribute, &major,
                                   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device_));
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver_, cuDeviceGetAttribute, &minor,
                                   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device_));
  return static_cast<unsigned>(10 * major + minor);
}

Result<CUfunction> CudaDevice::kernel(std::string_view name) {
  const auto names = kernels::functions();
  if (!has_kernels_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex_);
    if (!kernels_) {
      TENON_RETURN_IF_ERROR(
          TENON_CUDA(driver_, cuModuleLoadData, &kernels_, kernels::fatbin().data()));
    }
    std::vector<CUfunction> found(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      TENON_RETURN_IF_ERROR(
          TENON_CUDA(driver_, cuModuleGetFunction, &found[i], kernels_, names[i]));
    }
    if (functions_.empty()) functions_ = std::move(found);
    has_kernels_.store(true, std::memory_order_release);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return functions_[i];
  }
  return error(Error::Internal, "there is no kernel '", name, "'");
}

Result<std::shared_ptr<Stream>> CudaDevice::shared_stream(
    const std::shared_ptr<CudaDevice>& device) {
  const std::lock_guard lock(device->mutex_);
  if (auto stream = device->shared_stream_.lock()) return stream;
  TENON_TRY(auto stream, Stream::create(device));
  device->shared_stream_ = stream;
  return stream;
}

Result<std::shared_ptr<Stream>> Stream::create(std::shared_ptr<CudaDevice> device) {
  const ContextScope scope(*device);
  TENON_RETURN_IF_ERROR(scope.status());
  CUstream stream = nullptr;
  TENON_RETURN_IF_ERROR(
      TENON_CUDA(device->driver(), cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING));
  return std::make_shared<Stream>(device, stream);
}

Stream::~Stream() {
  const ContextScope scope(*device_);
  static_cast<void>(device_->driver().cuStreamDestroy(stream_));
}

aoti::DeviceMemoryApi device_memory(std::shared_ptr<CudaDevice> device,
                                    std::shared_ptr<Stream> stream) {
  aoti::DeviceMemoryApi out;
  out.device_type = aoti::TorchDeviceType::cuda;
  out.device_index = device->index();
  out.dl_device = {TENON_DL_CUDA, device->index()};
  out.stream = stream->get();
  out.allocate = &allocate;
  out.free = &free_block;
  out.allocate_host = &allocate_host;
  out.free_host = &free_host;
  out.copy = &copy;
  out.copy_strided = &copy_strided;
  out.zero = &zero;
  out.synchronize = &synchronize;
  out.enter = &enter;
  out.leave = &leave;
  out.context = std::make_shared<ModelContext>(ModelContext{std::move(device), std::move(stream)});
  return out;
}

Status copy_strided_on(const Driver& driver, CUstream stream, const aoti::StridedCopy& copy) {
  if (std::ranges::find(copy.sizes, 0) != copy.sizes.end()) return ok();
  const auto plan = aoti::detail::plan_copy(copy.sizes, copy.to_strides, copy.from_strides);
  std::size_t rank = plan.rank;
  std::size_t width = copy.element_size;
  if (rank != 0 && plan.to[rank - 1] == 1 && plan.from[rank - 1] == 1) {
    width *= static_cast<std::size_t>(plan.sizes[--rank]);
  }
  // One call copies the rows of the innermost remaining dimension, if the driver supports its
  // pitches.
  constexpr std::size_t largest_pitch = 0x7fffffff;
  std::size_t height = 1;
  std::size_t to_pitch = width;
  std::size_t from_pitch = width;
  if (rank != 0) {
    const std::size_t to = static_cast<std::size_t>(plan.to[rank - 1]) * copy.element_size;
    const std::size_t from = static_cast<std::size_t>(plan.from[rank - 1]) * copy.element_size;
    if (to >= width && from >= width && to <= largest_pitch && from <= largest_pitch) {
      height = static_cast<std::size_t>(plan.sizes[--rank]);
      to_pitch = to;
      from_pitch = from;
    }
  }
  std::array<std::int64_t, max_rank> index{};
  CUDA_MEMCPY2D piece{};
  piece.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  piece.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  piece.srcDevice = to_device_pointer(copy.from);
  piece.dstDevice = to_device_pointer(copy.to);
  piece.srcPitch = from_pitch;
  piece.dstPitch = to_pitch;
  piece.WidthInBytes = width;
  piece.Height = height;
  while (true) {
    if (height == 1) {
      TENON_RETURN_IF_ERROR(
          TENON_CUDA(driver, cuMemcpyDtoDAsync, piece.dstDevice, piece.srcDevice, width, stream));
    } else {
      TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuMemcpy2DAsync, &piece, stream));
    }
    std::size_t d = rank;
    for (; d-- > 0;) {
      const auto to = static_cast<CUdeviceptr>(plan.to[d]) * copy.element_size;
      const auto from = static_cast<CUdeviceptr>(plan.from[d]) * copy.element_size;
      piece.dstDevice += to;
      piece.srcDevice += from;
      if (++index[d] < plan.sizes[d]) break;
      piece.dstDevice -= to * static_cast<CUdeviceptr>(plan.sizes[d]);
      piece.srcDevice -= from * static_cast<CUdeviceptr>(plan.sizes[d]);
      index[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return ok();
  }
}

}  // namespace tenon::cuda_aoti
