// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "device/shared_device.hpp"
#include "tenon/abi/tensor.h"
#include "tenon/core/application/external_memory.hpp"
#include "tenon/core/result.hpp"

namespace tenon::metal_aoti {

/// Fails unless `device` is the one that there is.
[[nodiscard]] inline Status check_device(tenon_dl_device device) {
  if (device.device_type == TENON_DL_METAL && device.device_id == 0) return ok();
  return error(Error::InvalidArgument, "expected DLPack device type ",
               static_cast<int>(TENON_DL_METAL), " (Metal) index 0, found type ",
               device.device_type, " index ", device.device_id);
}

/// Memory on the device that hosts plan or allocate (extension "tenon.device_memory/1"): contents
/// of buffers that the CPU and the device share, so that the CPU copies, after what runs left.
///
/// Threads: any.
class DeviceBlocks {
 public:
  [[nodiscard]] static Result<void*> allocate(tenon_dl_device device, std::size_t nbytes,
                                              std::size_t alignment) {
    TENON_RETURN_IF_ERROR(check_device(device));
    TENON_TRY(const auto shared, system_device());
    TENON_TRY(std::byte* const block, shared->allocate_for_host(nbytes, alignment));
    return static_cast<void*>(block);
  }
  static void free(void* block) noexcept {
    const auto shared = system_device();
    if (shared.ok()) (*shared)->free(static_cast<std::byte*>(block));
  }
  [[nodiscard]] static Status copy(tenon_dl_device device, void* to, const void* from,
                                   std::size_t nbytes) {
    TENON_RETURN_IF_ERROR(check_device(device));
    TENON_TRY(const auto shared, system_device());
    TENON_RETURN_IF_ERROR(shared->finish());
    std::memcpy(to, from, nbytes);
    return ok();
  }
  /// Enqueues a copy between blocks on a queue of the application.
  [[nodiscard]] static Status copy_on(void* queue, void* to, const void* from, std::size_t nbytes) {
    TENON_TRY(const auto shared, system_device());
    TENON_TRY(const auto target, shared->place(to, nbytes));
    TENON_TRY(const auto source, shared->place(from, nbytes));
    TENON_TRY(const auto callers, shared->device().use_queue(queue));
    TENON_RETURN_IF_ERROR(
        callers->copy(*target.buffer, target.offset, *source.buffer, source.offset, nbytes));
    return callers->commit();
  }
};

/// Pages of the host that the device works on where they are.
class ImportedPages {
 public:
  /// errors: InvalidArgument for a device that there is not; NotSupported for memory that Metal
  ///         takes no part of, or that is only to be read, as a buffer is for both.
  [[nodiscard]] static Result<ImportedPages> import(const ExternalMemory& memory) {
    if (memory.device.device_type != TENON_DL_CPU) {
      TENON_RETURN_IF_ERROR(check_device(memory.device));
    }
    if (!memory.is_written) {
      return error(Error::NotSupported,
                   "Metal has no buffer that can only be read; import the memory for writing, too");
    }
    TENON_TRY(auto device, system_device());
    const std::span pages(static_cast<std::byte*>(memory.handle) + memory.offset,
                          static_cast<std::size_t>(memory.nbytes));
    TENON_RETURN_IF_ERROR(device->import_from_host(pages));
    return ImportedPages(std::move(device), pages.data());
  }

  ImportedPages(ImportedPages&& other) noexcept
      : device_(std::move(other.device_)), pages_(std::exchange(other.pages_, nullptr)) {}
  ImportedPages& operator=(ImportedPages&&) = delete;
  ~ImportedPages() {
    if (pages_) device_->free(pages_);
  }

  [[nodiscard]] void* data() const noexcept { return pages_; }

 private:
  ImportedPages(std::shared_ptr<SharedDevice> device, std::byte* pages) noexcept
      : device_(std::move(device)), pages_(pages) {}

  std::shared_ptr<SharedDevice> device_;
  std::byte* pages_;
};

}  // namespace tenon::metal_aoti
