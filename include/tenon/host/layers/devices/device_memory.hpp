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
#include "tenon/core/application/native_handle.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Whether a backend whose streams are of `kind`, or null, takes `stream`; none is taken by each.
///
/// errors: InvalidArgument (a stream of another kind), NotSupported (the backend has no kind)
[[nodiscard]] Status check_stream(std::string_view backend_id, const char* kind,
                                  NativeStream stream);

/// Memory of one device through the backend that serves it (extension "tenon.device_memory/1").
/// Keeps the backend and its plugin. Immutable; any thread may use it. The copies allocate nothing
/// unless they fail, but for a copy between devices that uses the host's memory.
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

  /// Whether the backend itself copies from device to device. Otherwise `copy_on` uses the
  /// host's memory.
  [[nodiscard]] bool has_copy_on() const noexcept { return table_.copy_on != nullptr; }
  /// Whether `device` is this one or another that the backend listed when this was made.
  [[nodiscard]] bool is_of_backend(tenon_dl_device device) const noexcept;

  /// Whether `other` may get addresses of this memory: it is of the same plugin, or both list the
  /// device with the same identity and addresses that are shared (abi/extensions/devices.h).
  ///
  /// errors: NotSupported when it may not; whatever listing its devices fails with.
  [[nodiscard]] Status check_shared_with(const LoadedBackend& other) const;

  /// Copies to `to` in memory of this device from `from` in memory of `from_device`, which is this
  /// one or another of the same backend. On `stream`, a stream of this device as in
  /// `Method::set_stream`, the copy may be complete only when the stream is; with null it is on
  /// return. The two ranges must not overlap. Without `has_copy_on` the bytes go through the host's
  /// memory, at most 4 MiB at a time.
  ///
  /// errors: InvalidArgument (a stream of another kind than the backend's), NotSupported (a stream
  ///         where the backend takes none, or has no copies of its own), MemoryAllocationFailed,
  ///         and the backend's.
  [[nodiscard]] Status copy_on(NativeStream stream, void* to, tenon_dl_device from_device,
                               const void* from, std::uint64_t nbytes) const;

 private:
  DeviceMemory(BackendRef backend, BackendDevice device, const tenon_device_memory_v1& table,
               const char* stream_kind, std::vector<tenon_dl_device> listed)
      : backend_(std::move(backend)),
        device_(device.device),
        table_(table),
        stream_kind_(stream_kind),
        identity_(device.shares_addresses ? std::move(device.identity) : std::string()),
        listed_(std::move(listed)) {}

  [[nodiscard]] Status copy_by_host(void* to, tenon_dl_device from_device, const void* from,
                                    std::uint64_t nbytes) const;
  [[nodiscard]] Status check(tenon_status status, std::string_view function) const;

  BackendRef backend_;
  tenon_dl_device device_;
  tenon_device_memory_v1 table_;
  const char* stream_kind_;  ///< Of the backend's streams; null without.
  std::string identity_;     ///< Of the device; empty when its addresses are not shared.
  std::vector<tenon_dl_device> listed_;
};

/// Any callable that returns the backend of an id. Refers to it; for arguments.
class BackendLookup {
 public:
  template <class Lookup>
  BackendLookup(const Lookup& look_up) noexcept
      : context_(&look_up), call_([](const void* context, std::string_view id) {
          return Result<BackendRef>((*static_cast<const Lookup*>(context))(id));
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
[[nodiscard]] Result<DeviceMemory> find_device_memory(tenon_dl_device device,
                                                      std::span<const std::string_view> ids,
                                                      BackendLookup look_up);

/// The devices that one method has memory on. Filled while the method is loaded; the addresses of
/// its elements stay the same.
class DeviceMemories {
 public:
  void add(DeviceMemory memory) {
    all_.push_back(std::make_unique<const DeviceMemory>(std::move(memory)));
  }

  /// The memory of `device`, or null.
  [[nodiscard]] const DeviceMemory* find(tenon_dl_device device) const noexcept {
    for (const auto& memory : all_) {
      if (is_same_device(memory->device(), device)) return memory.get();
    }
    return nullptr;
  }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

 private:
  std::vector<std::unique_ptr<const DeviceMemory>> all_;
};

}}}  // namespace tenon::TENON_RELEASE::host
