// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/device_allocator.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/executorch/adapter/last_error.hpp"
#include "tenon/executorch/error.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge {

/// Headers after ExecuTorch 1.5: an allocator copies from device to device, too, for a runtime that
/// is handed memory on a device for an input that is planned there.
template <class Allocator>
concept HasCopyBetween = requires { &Allocator::copy_device_to_device; };

/// ExecuTorch's allocator, whose `copy_device_to_device` is `copy_between` where the headers have
/// it. Where they do not, no library that is accepted calls it (layout_probe.hpp).
template <class Allocator = et::DeviceAllocator>
class AllocatorThatCopies : public Allocator {
 public:
  [[nodiscard]] virtual et::Error copy_between(void* to, et::etensor::DeviceIndex to_index,
                                               const void* from,
                                               et::etensor::DeviceIndex from_index,
                                               std::size_t nbytes) = 0;
};

template <HasCopyBetween Allocator>
class AllocatorThatCopies<Allocator> : public Allocator {
 public:
  [[nodiscard]] virtual et::Error copy_between(void* to, et::etensor::DeviceIndex to_index,
                                               const void* from,
                                               et::etensor::DeviceIndex from_index,
                                               std::size_t nbytes) = 0;
  [[nodiscard]] et::Error copy_device_to_device(void* to, et::etensor::DeviceIndex to_index,
                                                const void* from,
                                                et::etensor::DeviceIndex from_index,
                                                std::size_t nbytes) final {
    return copy_between(to, to_index, from, from_index, nbytes);
  }
};

/// The memory of a backend's CUDA devices, for ExecuTorch, which has one allocator for each type of
/// device and uses it for the memory that a program plans on a device and for its copy operators.
///
/// Any thread. Failures are in `last_error` and in the log; ExecuTorch passes on the number.
class PluginDeviceAllocator final : public AllocatorThatCopies<> {
 public:
  /// An allocator for the CUDA devices that `backend` lists and has memory on.
  ///
  /// errors: NotFound when it has none on this machine, NotSupported when it has no memory on
  ///         devices at all, and whatever listing them fails with.
  [[nodiscard]] static Result<PluginDeviceAllocator*> make(const host::BackendRef& backend) {
    if (!backend->extension<tenon_device_memory_v1>(TENON_EXTENSION_DEVICE_MEMORY)) {
      return error(Error::NotSupported, "backend ", backend->id(), " has no memory on devices");
    }
    TENON_RETURN_IF_ERROR(backend->is_available());
    TENON_TRY(const std::vector<host::BackendDevice> devices, host::list_devices(*backend));
    std::vector<host::DeviceMemory> memories;
    for (const host::BackendDevice& each : devices) {
      if (each.device.device_type != TENON_DL_CUDA) continue;
      TENON_TRY(auto memory, host::DeviceMemory::of(backend, each.device));
      memories.push_back(std::move(memory));
    }
    if (memories.empty()) {
      return error(Error::NotFound, "backend ", backend->id(), " has no CUDA device here");
    }
    return new PluginDeviceAllocator(std::move(memories));
  }

  [[nodiscard]] et::Result<void*> allocate(std::size_t nbytes, et::etensor::DeviceIndex index,
                                           std::size_t alignment) override {
    void* block = nullptr;
    const et::Error failed = guard(index, [&](const host::DeviceMemory& memory) -> Status {
      if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        return error(Error::InvalidArgument, "alignment ", alignment, " is not a power of two");
      }
      TENON_TRY(block, memory.allocate(std::max<std::size_t>(nbytes, 1), alignment));
      return ok();
    });
    if (failed != et::Error::Ok) return failed;
    return block;
  }

  void deallocate(void* block, et::etensor::DeviceIndex index) override {
    static_cast<void>(guard(index, [&](const host::DeviceMemory& memory) {
      memory.free(block);
      return ok();
    }));
  }

  [[nodiscard]] et::Error copy_host_to_device(void* to, const void* from, std::size_t nbytes,
                                              et::etensor::DeviceIndex index) override {
    return guard(index, [&](const host::DeviceMemory& memory) {
      return memory.copy_to_device(to, from, nbytes);
    });
  }

  [[nodiscard]] et::Error copy_device_to_host(void* to, const void* from, std::size_t nbytes,
                                              et::etensor::DeviceIndex index) override {
    return guard(index, [&](const host::DeviceMemory& memory) {
      return memory.copy_to_host(to, from, nbytes);
    });
  }

  /// Through the host's memory where the backend has no such copies of its own.
  [[nodiscard]] et::Error copy_between(void* to, et::etensor::DeviceIndex to_index,
                                       const void* from, et::etensor::DeviceIndex from_index,
                                       std::size_t nbytes) override {
    return guard(to_index, [&](const host::DeviceMemory& memory) -> Status {
      const tenon_dl_device source{TENON_DL_CUDA, from_index};
      if (!memory.is_of_backend(source)) {
        return error(Error::NotFound, "backend ", memory.backend().id(), " has no CUDA device ",
                     static_cast<int>(from_index));
      }
      return memory.copy_on(nullptr, to, source, from, nbytes);
    });
  }

  [[nodiscard]] et::etensor::DeviceType device_type() const override {
    return et::etensor::DeviceType::CUDA;
  }

 private:
  explicit PluginDeviceAllocator(std::vector<host::DeviceMemory> memories)
      : memories_(std::move(memories)) {}

  template <class Use>
  et::Error guard(et::etensor::DeviceIndex index, const Use& use) const noexcept {
    try {
      const auto found = std::find_if(memories_.begin(), memories_.end(), [&](const auto& each) {
        return each.device().device_id == index;
      });
      Status outcome = found == memories_.end()
                           ? error(Error::NotFound, "backend ", memories_[0].backend().id(),
                                   " has no CUDA device ", static_cast<int>(index))
                           : use(*found);
      if (outcome.ok()) return et::Error::Ok;
      const et::Error number = to_executorch(outcome.error());
      log_error(outcome.text());
      detail::last_failure() = std::move(outcome);
      return number;
    } catch (const std::bad_alloc&) {
      clear_last_error();
      return et::Error::MemoryAllocationFailed;
    }
  }

  std::vector<host::DeviceMemory> memories_;
};

}}}  // namespace tenon::TENON_RELEASE::bridge
