// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "tenon/abi/tensor.h"
#include "tenon/aoti/tensors/device_memory_api.hpp"
#include "tenon/core/result.hpp"

namespace tenon::cuda_aoti {

/// Memory on devices that hosts plan (extension "tenon.device_memory/1"). The stream of a device is
/// created at the first call for it, and destroyed with this object.
///
/// Threads: any.
class PlannedMemory {
 public:
  /// Opens the memory of the device with a number.
  using Open = Result<aoti::DeviceMemoryApi> (*)(std::int32_t index);

  explicit PlannedMemory(Open open) noexcept : open_(open) {}

  /// `nbytes` bytes at a multiple of `alignment`.
  /// errors: InvalidArgument for a device that is not of CUDA; the driver's.
  [[nodiscard]] Result<void*> allocate(tenon_dl_device device, std::size_t nbytes,
                                       std::size_t alignment);
  /// Frees what `allocate` returned for the same device.
  void free(tenon_dl_device device, void* block) noexcept;

  /// Returns when the bytes are there. Runs on streams of the application are waited for.
  [[nodiscard]] Status copy(tenon_dl_device device, aoti::CopyKind kind, void* to, const void* from,
                            std::size_t nbytes);
  /// Enqueues a copy between blocks of one or two devices on `stream`, which is the application's
  /// and of `to_device`. With null it returns when the bytes are there, as `copy` does.
  [[nodiscard]] Status copy_on(void* stream, tenon_dl_device to_device, void* to,
                               tenon_dl_device from_device, const void* from, std::size_t nbytes);

 private:
  Result<aoti::DeviceMemoryApi> memory_of(tenon_dl_device device);
  std::byte* take_begin(std::int32_t index, void* block) noexcept;

  Open open_;
  std::mutex mutex_;
  std::map<std::int32_t, aoti::DeviceMemoryApi> memory_;
  /// Beginnings of blocks that were aligned within larger ones, by device and address.
  std::map<std::pair<std::int32_t, std::byte*>, std::byte*> begin_of_;
};

}  // namespace tenon::cuda_aoti
