// SPDX-License-Identifier: MIT
#include "planned_memory.hpp"

#include "driver/device.hpp"

namespace tenon::cuda_aoti {

namespace {

/// Runs on streams of this plugin are complete when they return; those on others may not be.
Status wait_for_callers(const CudaDevice& device) {
  if (device.caller_streams.empty()) return ok();
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  return device.caller_streams.synchronize(device.driver());
}

}  // namespace

Result<void*> PlannedMemory::allocate(tenon_dl_device device, std::size_t nbytes,
                                      std::size_t alignment) {
  constexpr std::size_t driver_alignment = 256;  // Of cuMemAlloc.
  TENON_TRY(const aoti::DeviceMemoryApi memory, memory_of(device));
  const std::size_t extra = alignment > driver_alignment ? alignment - driver_alignment : 0;
  if (nbytes > SIZE_MAX - extra) {
    return error(Error::MemoryAllocationFailed, "a block on a CUDA device: ", nbytes,
                 " bytes aligned to ", alignment, " are more than can be addressed");
  }
  TENON_TRY(std::byte* const block, memory.allocate(memory.context.get(), nbytes + extra));
  if (extra == 0) return static_cast<void*>(block);
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(block);
  std::byte* const aligned = block + ((address + alignment - 1) / alignment * alignment - address);
  try {
    const std::lock_guard lock(mutex_);
    if (aligned != block) begin_of_[{device.device_id, aligned}] = block;
  } catch (...) {
    memory.free(memory.context.get(), block);
    throw;  // No memory: the caller makes an error of it.
  }
  return static_cast<void*>(aligned);
}

void PlannedMemory::free(tenon_dl_device device, void* block) noexcept {
  const auto memory = memory_of(device);
  if (memory.ok()) memory->free(memory->context.get(), take_begin(device.device_id, block));
}

Status PlannedMemory::copy(tenon_dl_device device, aoti::CopyKind kind, void* to, const void* from,
                           std::size_t nbytes) {
  TENON_TRY(const aoti::DeviceMemoryApi memory, memory_of(device));
  TENON_RETURN_IF_ERROR(wait_for_callers(*model_context(memory).device));
  TENON_RETURN_IF_ERROR(memory.copy(memory.context.get(), memory.stream, kind,
                                    static_cast<std::byte*>(to),
                                    static_cast<const std::byte*>(from), nbytes));
  return memory.synchronize(memory.context.get(), memory.stream);
}

Status PlannedMemory::copy_on(void* stream, tenon_dl_device to_device, void* to,
                              tenon_dl_device from_device, const void* from, std::size_t nbytes) {
  TENON_TRY(const aoti::DeviceMemoryApi memory, memory_of(to_device));
  TENON_TRY(const aoti::DeviceMemoryApi source, memory_of(from_device));
  const CudaDevice& device = *model_context(memory).device;
  if (!stream) {
    TENON_RETURN_IF_ERROR(wait_for_callers(device));
    const CudaDevice& other = *model_context(source).device;
    if (&other != &device) TENON_RETURN_IF_ERROR(wait_for_callers(other));
  }
  const ContextScope scope(device);
  TENON_RETURN_IF_ERROR(scope.status());
  // With addresses of two devices this one copies between them, directly where they can.
  auto* const on = static_cast<CUstream>(stream ? stream : memory.stream);
  TENON_RETURN_IF_ERROR(TENON_CUDA(device.driver(), cuMemcpyAsync, to_device_pointer(to),
                                   to_device_pointer(from), nbytes, on));
  return stream ? ok() : memory.synchronize(memory.context.get(), memory.stream);
}

Result<aoti::DeviceMemoryApi> PlannedMemory::memory_of(tenon_dl_device device) {
  if (device.device_type != TENON_DL_CUDA) {
    return error(Error::InvalidArgument, "expected DLPack device type ",
                 static_cast<int>(TENON_DL_CUDA), " (CUDA), found type ", device.device_type,
                 " index ", device.device_id);
  }
  const std::lock_guard lock(mutex_);
  const auto found = memory_.find(device.device_id);
  if (found != memory_.end()) return found->second;
  TENON_TRY(aoti::DeviceMemoryApi made, open_(device.device_id));
  return memory_.emplace(device.device_id, std::move(made)).first->second;
}

/// The start of the driver's allocation that `block` was cut from. Forgets it: the caller frees the
/// allocation.
std::byte* PlannedMemory::take_begin(std::int32_t index, void* block) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = begin_of_.find({index, static_cast<std::byte*>(block)});
  if (found == begin_of_.end()) return static_cast<std::byte*>(block);
  return begin_of_.extract(found).mapped();
}

}  // namespace tenon::cuda_aoti
