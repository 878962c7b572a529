// SPDX-License-Identifier: MIT
#include "driver/device.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "driver/capture.hpp"
#include "driver/upload.hpp"
#include "kernels/kernels.hpp"
#include "tenon/aoti/tensors/strided_copy.hpp"

namespace tenon::cuda_aoti {

namespace {

const ModelContext& as_context(void* context) noexcept {
  return *static_cast<const ModelContext*>(context);
}

Status wait_for(const ModelContext& model, CUstream stream) {
  const ContextScope scope(*model.device);
  TENON_RETURN_IF_ERROR(scope.status());
  return TENON_CUDA(model.device->driver(), cuStreamSynchronize, stream);
}

/// Whether the application captures `stream`. The model's own is never asked: only its own graph is
/// captured there.
Result<bool> is_captured(const ModelContext& model, CUstream stream) {
  if (stream == model.stream->get()) return false;
  const ContextScope scope(*model.device);
  TENON_RETURN_IF_ERROR(scope.status());
  return is_capturing(model.device->driver(), stream);
}

// The functions that free cannot report a failure.

/// In a capture only blocks of its graph can be freed in the order of the stream.
void free_on(void* context, void* stream, std::byte* block) noexcept {
  const ModelContext& model = as_context(context);
  const Driver& driver = model.device->driver();
  auto* const on = static_cast<CUstream>(stream);
  const auto captured = is_captured(model, on);
  const ContextScope scope(*model.device);
  if (captured.ok() && *captured) {
    const RelaxedCapture relaxed(driver);
    static_cast<void>(driver.cuMemFree(to_device_pointer(block)));
    return;
  }
  static_cast<void>(driver.cuMemFreeAsync(to_device_pointer(block), on));
}

/// Allocates with `call`, a CUresult(CUdeviceptr*). Where memory runs out, what the device's pool
/// keeps is given back first and the call repeated.
template <class Call>
Result<std::byte*> allocate_with(const CudaDevice& device, std::string_view name, Call call) {
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  const RelaxedCapture relaxed(device.driver());
  CUdeviceptr block = 0;
  CUresult code = call(&block);
  if (code == CUDA_ERROR_OUT_OF_MEMORY && device.memory_pool() &&
      device.driver().cuMemPoolTrimTo(device.memory_pool(), 0) == CUDA_SUCCESS) {
    code = call(&block);
  }
  TENON_RETURN_IF_ERROR(device.driver().check(name, code));
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(block));
}

Result<std::byte*> allocate(void* context, std::size_t nbytes) {
  const CudaDevice& device = *as_context(context).device;
  return allocate_with(device, "cuMemAlloc", [&](CUdeviceptr* block) {
    return device.driver().cuMemAlloc(block, std::max<std::size_t>(nbytes, 1));
  });
}

/// A block that is allocated on a stream in capture would be the graph's. In its place one is
/// allocated on the model's stream, and is there for all streams.
Result<std::byte*> allocate_on(void* context, void* stream, std::size_t nbytes) {
  const ModelContext& model = as_context(context);
  const CudaDevice& device = *model.device;
  TENON_TRY(const bool captured, is_captured(model, static_cast<CUstream>(stream)));
  auto* const on = captured ? model.stream->get() : static_cast<CUstream>(stream);
  TENON_TRY(std::byte* const out,
            allocate_with(device, "cuMemAllocFromPoolAsync", [&](CUdeviceptr* block) {
              return device.driver().cuMemAllocFromPoolAsync(
                  block, std::max<std::size_t>(nbytes, 1), device.memory_pool(), on);
            }));
  if (!captured) return out;
  Status waited = wait_for(model, on);
  if (waited.ok()) return out;
  free_on(context, on, out);
  return waited;
}

void free_block(void* context, std::byte* block) noexcept {
  const CudaDevice& device = *as_context(context).device;
  const ContextScope scope(device);
  const RelaxedCapture relaxed(device.driver());
  static_cast<void>(device.driver().cuMemFree(to_device_pointer(block)));
}

void free_host(void* context, std::byte* block) noexcept {
  const CudaDevice& device = *as_context(context).device;
  const ContextScope scope(device);
  const RelaxedCapture relaxed(device.driver());
  static_cast<void>(device.driver().cuMemFreeHost(block));
}

Result<std::byte*> allocate_host(void* context, std::size_t nbytes) {
  const CudaDevice& device = *as_context(context).device;
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  const RelaxedCapture relaxed(device.driver());
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

Status upload(void* context, void* stream, std::byte* to, Bytes from) {
  const CudaDevice& device = *as_context(context).device;
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  return as_context(context).staging->upload(device.driver(), to_device_pointer(to), from,
                                             static_cast<CUstream>(stream));
}

Result<bool> holds(void* context, void* stream, const std::byte* block, Bytes expected) {
  const CudaDevice& device = *as_context(context).device;
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  return as_context(context).staging->holds(device.driver(), to_device_pointer(block), expected,
                                            static_cast<CUstream>(stream));
}

Status end_uploads(void* context) {
  const ModelContext& model = as_context(context);
  if (model.staging->is_empty()) return ok();
  const ContextScope scope(*model.device);
  TENON_RETURN_IF_ERROR(scope.status());
  model.staging->clear(model.device->driver());
  return ok();
}

/// A copy between two layouts as calls of cuMemcpy2D: rows that are adjacent on both sides, or
/// single elements. One call copies the largest dimension; each index of the other dimensions takes
/// a call.
struct StridedPieces {
  aoti::detail::CopyPlan plan;
  std::size_t rank = 0;  ///< Of the dimensions with a call for each index.
  std::size_t width = 0;
  std::size_t height = 1;
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
  std::int64_t num_calls = 0;
};

StridedPieces pieces_of(const aoti::StridedCopy& copy) {
  StridedPieces out;
  if (std::ranges::find(copy.sizes, 0) != copy.sizes.end()) return out;
  out.plan = aoti::detail::plan_copy(copy.sizes, copy.to_strides, copy.from_strides);
  auto& plan = out.plan;
  out.rank = plan.rank;
  out.width = copy.element_size;
  if (out.rank != 0 && plan.to[out.rank - 1] == 1 && plan.from[out.rank - 1] == 1) {
    out.width *= static_cast<std::size_t>(plan.sizes[--out.rank]);
  }
  // Of the dimensions whose pitches the driver supports.
  constexpr std::size_t largest_pitch = 0x7fffffff;
  out.to_pitch = out.from_pitch = out.width;
  std::size_t rows = out.rank;
  for (std::size_t d = out.rank; d-- > 0;) {
    const std::size_t to = static_cast<std::size_t>(plan.to[d]) * copy.element_size;
    const std::size_t from = static_cast<std::size_t>(plan.from[d]) * copy.element_size;
    if (to < out.width || from < out.width || to > largest_pitch || from > largest_pitch) continue;
    if (static_cast<std::size_t>(plan.sizes[d]) <= out.height) continue;
    out.height = static_cast<std::size_t>(plan.sizes[d]);
    out.to_pitch = to;
    out.from_pitch = from;
    rows = d;
  }
  if (rows != out.rank) {
    --out.rank;
    std::swap(plan.sizes[rows], plan.sizes[out.rank]);
    std::swap(plan.to[rows], plan.to[out.rank]);
    std::swap(plan.from[rows], plan.from[out.rank]);
  }
  out.num_calls = 1;
  for (std::size_t d = 0; d < out.rank; ++d) out.num_calls *= plan.sizes[d];
  return out;
}

Status copy_pieces(const Driver& driver, CUstream stream, const aoti::StridedCopy& copy,
                   const StridedPieces& pieces) {
  if (pieces.num_calls == 0) return ok();
  const auto& plan = pieces.plan;
  std::array<std::int64_t, max_rank> index{};
  CUDA_MEMCPY2D piece{};
  piece.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  piece.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  piece.srcDevice = to_device_pointer(copy.from);
  piece.dstDevice = to_device_pointer(copy.to);
  piece.srcPitch = pieces.from_pitch;
  piece.dstPitch = pieces.to_pitch;
  piece.WidthInBytes = pieces.width;
  piece.Height = pieces.height;
  while (true) {
    if (pieces.height == 1) {
      TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuMemcpyDtoDAsync, piece.dstDevice, piece.srcDevice,
                                       pieces.width, stream));
    } else {
      TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuMemcpy2DAsync, &piece, stream));
    }
    std::size_t d = pieces.rank;
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

/// Where kernels are launched.
struct Launching {
  CudaDevice& device;
  CUstream stream;
};

Status launch_on(void* context, const kernels::Launch& what) {
  const auto& launching = *static_cast<const Launching*>(context);
  TENON_TRY(const CUfunction function, launching.device.kernel(what.function));
  return TENON_CUDA(launching.device.driver(), cuLaunchKernel, function, what.grid[0], what.grid[1],
                    what.grid[2], what.block[0], what.block[1], what.block[2], 0u, launching.stream,
                    const_cast<void**>(what.parameters.data()), nullptr);
}

/// With one launch, where a device runs this plugin's kernels; by the driver's own copies
/// elsewhere, and for adjacent bytes. The driver's copy of rows takes 1.7 to 4 times as long on an
/// H100 (docs/measurements/h100.md).
Status copy_strided(void* context, void* stream, const aoti::StridedCopy& copy) {
  CudaDevice& device = *as_context(context).device;
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  auto* const on = static_cast<CUstream>(stream);
  const auto plan = kernels::plan_copy_strided(copy);
  if (!plan.ok() && plan.error() != Error::NotSupported) return error(plan.error(), plan.text());
  if (plan.ok() && plan->is_adjacent()) {
    if (plan->numel == 0) return ok();
    return TENON_CUDA(device.driver(), cuMemcpyDtoDAsync, to_device_pointer(copy.to),
                      to_device_pointer(copy.from),
                      static_cast<std::size_t>(plan->numel * plan->element_size), on);
  }
  if (plan.ok() && !kernels::fatbin().empty()) {
    Launching launching{device, on};
    Status launched = kernels::run(*plan, {&launch_on, &launching});
    // From devices that run no kernels of the plugin.
    if (launched.error() != Error::DelegateInvalidCompatibility) return launched;
  }
  return copy_pieces(device.driver(), on, copy, pieces_of(copy));
}

Status zero(void* context, void* stream, std::byte* to, std::size_t nbytes) {
  const CudaDevice& device = *as_context(context).device;
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  return TENON_CUDA(device.driver(), cuMemsetD8Async, to_device_pointer(to),
                    static_cast<unsigned char>(0), nbytes, static_cast<CUstream>(stream));
}

/// A caller reuses its memory after a failure, too, while a copy may still be running: so a failed
/// wait is repeated once.
Status synchronize(void* context, void* stream) {
  const ModelContext& model = as_context(context);
  TENON_TRY(const bool captured, is_captured(model, static_cast<CUstream>(stream)));
  if (captured) {
    return error(Error::NotSupported,
                 "the application captures the delegate's stream: a wait for it has to come after "
                 "cuStreamEndCapture");
  }
  Status status = wait_for(model, static_cast<CUstream>(stream));
  if (!status.ok()) static_cast<void>(wait_for(model, static_cast<CUstream>(stream)));
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

ModelContext::~ModelContext() { static_cast<void>(end_uploads(this)); }

aoti::DeviceMemoryApi device_memory(std::shared_ptr<CudaDevice> device,
                                    std::shared_ptr<Stream> stream,
                                    std::shared_ptr<const kernels::CublasLtHandle> cublaslt,
                                    std::shared_ptr<LoadedModules> modules,
                                    std::optional<std::uint64_t> seed) {
  aoti::DeviceMemoryApi out;
  out.device_type = aoti::TorchDeviceType::cuda;
  out.device_index = device->index();
  out.dl_device = {TENON_DL_CUDA, device->index()};
  out.stream = stream->get();
  out.allocate = &allocate;
  out.free = &free_block;
  // A block that is allocated on a stream in capture would be the graph's.
  if (device->memory_pool() && stream->kind() != Stream::Kind::for_graphs) {
    out.allocate_on = &allocate_on;
    out.free_on = &free_on;
  }
  out.allocate_host = &allocate_host;
  out.free_host = &free_host;
  out.copy = &copy;
  out.upload = &upload;
  out.end_uploads = &end_uploads;
  out.holds = &holds;
  out.joins_constants = true;
  out.copy_strided = &copy_strided;
  out.zero = &zero;
  out.synchronize = &synchronize;
  out.enter = &enter;
  out.leave = &leave;
  if (!modules) modules = std::make_shared<LoadedModules>();
  out.context = std::make_shared<ModelContext>(std::move(device), std::move(stream),
                                               std::make_unique<Staging>(), std::move(modules),
                                               std::move(cublaslt), seed);
  return out;
}

}  // namespace tenon::cuda_aoti
