// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "driver/capture.hpp"
#include "driver/device.hpp"
#include "tenon/core/application/external_memory.hpp"

namespace tenon::cuda_aoti {

/// Memory that another interface of the same GPU exported, such as Vulkan or CUDA's virtual memory,
/// as memory of a device.
class ImportedMemory {
 public:
  /// Imports from an opaque descriptor, of which the driver gets a duplicate that it keeps. It
  /// cannot say how large the object is: that is `memory.object_size`.
  ///
  /// errors: InvalidArgument (no size), NotSupported (memory to be read alone: the driver maps for
  ///         reading and writing), and those of the driver.
  [[nodiscard]] static Result<ImportedMemory> import(std::shared_ptr<CudaDevice> device,
                                                     const ExternalMemory& memory) {
    if (memory.object_size == 0) {
      return error(Error::InvalidArgument, "expected the size of the object, found 0");
    }
    if (!memory.is_written) {
      return error(Error::NotSupported,
                   "the CUDA driver has no mapping that can only be read; import the memory for "
                   "writing, too");
    }
    const ContextScope scope(*device);
    TENON_RETURN_IF_ERROR(scope.status());
    const int duplicate = ::fcntl(memory.descriptor, F_DUPFD_CLOEXEC, 0);
    if (duplicate < 0) {
      return error(Error::InvalidArgument, "descriptor ", memory.descriptor, ": ",
                   std::generic_category().message(errno));
    }
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC from{};
    from.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    from.handle.fd = duplicate;
    from.size = memory.object_size;
    from.flags = memory.is_dedicated ? external_memory_dedicated : 0;
    ImportedMemory out(device);
    const Driver& driver = out.device_->driver();
    if (Status imported = TENON_CUDA(driver, cuImportExternalMemory, &out.memory_, &from);
        !imported.ok()) {
      ::close(duplicate);  // The driver owns it after a success alone.
      return imported;
    }
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC range{};
    range.offset = memory.offset;
    range.size = memory.nbytes;
    TENON_RETURN_IF_ERROR(
        TENON_CUDA(driver, cuExternalMemoryGetMappedBuffer, &out.address_, out.memory_, &range));
    return out;
  }

  ImportedMemory(ImportedMemory&& other) noexcept
      : device_(std::move(other.device_)),
        memory_(std::exchange(other.memory_, nullptr)),
        address_(std::exchange(other.address_, 0)) {}
  ImportedMemory& operator=(ImportedMemory&&) = delete;
  ~ImportedMemory() {
    if (!memory_) return;
    const ContextScope scope(*device_);
    const RelaxedCapture relaxed(device_->driver());
    if (address_ != 0) static_cast<void>(device_->driver().cuMemFree(address_));
    static_cast<void>(device_->driver().cuDestroyExternalMemory(memory_));
  }

  [[nodiscard]] void* data() const noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address_));
  }

 private:
  explicit ImportedMemory(std::shared_ptr<CudaDevice> device) noexcept
      : device_(std::move(device)) {}

  std::shared_ptr<CudaDevice> device_;
  CUexternalMemory memory_ = nullptr;
  CUdeviceptr address_ = 0;
};

}  // namespace tenon::cuda_aoti
