// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/device_memory.h"
#include "tenon/abi/tensor.h"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/registry/backend_ref.hpp"

namespace tenon::host {

/// The name of a device in messages: "CPU", "CUDA device 0".
[[nodiscard]] TENON_API std::string device_name(tenon_dl_device device);

[[nodiscard]] constexpr bool is_cpu(tenon_dl_device device) noexcept {
  return device.device_type == TENON_DL_CPU;
}

/// The CPU is one device, whatever its index.
[[nodiscard]] constexpr bool is_same_device(tenon_dl_device a, tenon_dl_device b) noexcept {
  return a.device_type == b.device_type && (is_cpu(a) || a.device_id == b.device_id);
}

/// Memory of one device through the backend that serves it (extension "tenon.device_memory/1").
/// Keeps the backend and its plugin. Immutable; any thread may use it. The copies allocate nothing
/// unless they fail.
class DeviceMemory {
 public:
  /// Asks whether `backend` is available, lists `device` and has memory there.
  ///
  /// errors: NotFound (not available; another device), NotSupported (no such extension), and
  ///         whatever listing its devices fails with.
  [[nodiscard]] static Result<DeviceMemory> of(BackendRef backend, tenon_dl_device device);

  [[nodiscard]] tenon_dl_device device() const noexcept { return device_; }
  [[nodiscard]] const LoadedBackend& backend() const noexcept { return *backend_; }

  /// `nbytes` bytes, 1 or more, aligned to `alignment`, a power of two; to be given to `free`.
  /// Fails with the backend's error, or with Internal for an address that breaks TN-DEV-5.
  [[nodiscard]] Result<void*> allocate(std::uint64_t nbytes, std::uint64_t alignment) const;

  void free(void* block) const noexcept;

  /// Copies, complete on return. Fail with the backend's error.
  [[nodiscard]] Status copy_to_device(void* to, const void* from, std::uint64_t nbytes) const;
  [[nodiscard]] Status copy_to_host(void* to, const void* from, std::uint64_t nbytes) const;

 private:
  DeviceMemory(BackendRef backend, tenon_dl_device device, const tenon_device_memory_v1& table)
      : backend_(std::move(backend)), device_(device), table_(table) {}

  [[nodiscard]] Status check(tenon_status status, std::string_view function) const;

  BackendRef backend_;
  tenon_dl_device device_;
  tenon_device_memory_v1 table_;
};

/// Any callable that returns the backend of an id. Refers to it; for arguments.
class BackendLookUp {
 public:
  template <class LookUp>
  BackendLookUp(const LookUp& look_up) noexcept
      : context_(&look_up), call_([](const void* context, std::string_view id) {
          return Result<BackendRef>((*static_cast<const LookUp*>(context))(id));
        }) {}

  [[nodiscard]] Result<BackendRef> operator()(std::string_view id) const {
    return call_(context_, id);
  }

 private:
  const void* context_;
  Result<BackendRef> (*call_)(const void* context, std::string_view id);
};

/// The memory of `device` through the first of the backends named by `ids` that serves it. NotFound
/// when none does, with the reasons of the first eight.
[[nodiscard]] TENON_API Result<DeviceMemory> find_device_memory(
    tenon_dl_device device, std::span<const std::string_view> ids, BackendLookUp look_up);

/// The devices that one method has memory on. Filled while the method is loaded; the addresses of
/// its elements stay the same.
class DeviceMemories {
 public:
  TENON_COLD void add(DeviceMemory memory) {
    all_.push_back(std::make_unique<const DeviceMemory>(std::move(memory)));
  }

  /// The memory of `device`, or null.
  [[nodiscard]] const DeviceMemory* find(tenon_dl_device device) const noexcept {
    for (const auto& memory : all_) {
      if (is_same_device(memory->device(), device)) return memory.get();
    }
    return nullptr;
  }

 private:
  std::vector<std::unique_ptr<const DeviceMemory>> all_;
};

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include "tenon/host/plugin/devices.hpp"
#include "tenon/host/plugin/last_error.hpp"

namespace tenon::host {

TENON_API std::string device_name(tenon_dl_device device) {
  switch (device.device_type) {
    case TENON_DL_CPU:
      return "CPU";
    case TENON_DL_CUDA:
      return concat("CUDA device ", device.device_id);
    case TENON_DL_METAL:
      return concat("Metal device ", device.device_id);
    default:
      return concat("DLPack device ", device.device_type, ":", device.device_id);
  }
}

TENON_API Result<DeviceMemory> DeviceMemory::of(BackendRef backend, tenon_dl_device device) {
  TENON_RETURN_IF_ERROR(backend->is_available());
  const auto table = backend->extension<tenon_device_memory_v1>(TENON_EXTENSION_DEVICE_MEMORY);
  if (!table || !table->allocate || !table->free || !table->copy_to_device ||
      !table->copy_to_host) {
    return error(Error::NotSupported, "backend ", backend->id(),
                 " has no memory on devices (extension " TENON_EXTENSION_DEVICE_MEMORY ")");
  }
  TENON_TRY(const std::vector<BackendDevice> devices, list_devices(*backend));
  std::string others;
  for (const BackendDevice& listed : devices) {
    if (is_same_device(listed.device, device)) {
      return DeviceMemory(std::move(backend), device, *table);
    }
    others += concat(others.empty() ? "" : ", ", device_name(listed.device));
  }
  return error(Error::NotFound, "backend ", backend->id(), " finds ",
               others.empty() ? std::string_view("no device on this machine") : others);
}

TENON_API Result<void*> DeviceMemory::allocate(std::uint64_t nbytes,
                                               std::uint64_t alignment) const {
  void* block = nullptr;
  TENON_RETURN_IF_ERROR(
      check(table_.allocate(backend_->raw(), device_, nbytes, alignment, &block), "allocate"));
  if (block && (reinterpret_cast<std::uintptr_t>(block) & (alignment - 1)) == 0) return block;
  const std::string found = block ? "an address that is not aligned" : "no address";
  free(block);
  return error(Error::Internal, "backend ", backend_->id(), ": allocate(", nbytes, " bytes, ",
               alignment, ") succeeded with ", found, " (TN-DEV-5)");
}

TENON_API void DeviceMemory::free(void* block) const noexcept {
  if (block) table_.free(backend_->raw(), device_, block);
}

TENON_API Status DeviceMemory::copy_to_device(void* to, const void* from,
                                              std::uint64_t nbytes) const {
  if (nbytes == 0) return ok();
  return check(table_.copy_to_device(backend_->raw(), device_, to, from, nbytes), "copy_to_device");
}

TENON_API Status DeviceMemory::copy_to_host(void* to, const void* from,
                                            std::uint64_t nbytes) const {
  if (nbytes == 0) return ok();
  return check(table_.copy_to_host(backend_->raw(), device_, to, from, nbytes), "copy_to_host");
}

TENON_API Status DeviceMemory::check(tenon_status status, std::string_view function) const {
  if (status == TENON_STATUS_OK) [[likely]]
    return ok();
  return take_last_error(backend_->host(), status)
      .with_context(concat("backend ", backend_->id(), ": ", function));
}

TENON_API Result<DeviceMemory> find_device_memory(tenon_dl_device device,
                                                  std::span<const std::string_view> ids,
                                                  BackendLookUp look_up) {
  constexpr std::size_t max_reasons = 8;
  std::string reasons;
  std::size_t num_reasons = 0;
  const auto note = [&](std::string_view id, std::string_view reason) {
    if (++num_reasons > max_reasons) return;
    // The other lines of a failed look-up (search paths, near names) are left out.
    reasons += concat(reasons.empty() ? "" : "; ", id, ": ", reason.substr(0, reason.find('\n')));
  };
  for (const std::string_view id : ids) {
    auto backend = look_up(id);
    if (!backend.ok()) {
      note(id, backend.text());
      continue;
    }
    auto memory = DeviceMemory::of(*std::move(backend), device);
    if (memory.ok()) return memory;
    note(id, memory.text());
  }
  if (ids.empty()) reasons = "the method uses no backend";
  if (num_reasons > max_reasons) {
    reasons += concat("; and ", num_reasons - max_reasons, " more backends do not");
  }
  return error(Error::NotFound, "no backend serves ", device_name(device), ": ", reasons);
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
