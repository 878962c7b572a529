// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/devices/device_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "tenon/abi/extensions/streams.h"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Status check_stream(std::string_view backend_id, const char* kind, NativeStream stream) {
  if (!stream.handle) return ok();
  if (!kind) {
    return error(Error::NotSupported, "backend ", backend_id,
                 " takes no streams of the application (extension " TENON_EXTENSION_STREAMS ")");
  }
  if (stream.kind == kind) return ok();
  return error(Error::InvalidArgument, "backend ", backend_id, ": expected a stream of kind '",
               std::string_view(kind), "', found one of kind '", stream.kind.text(), "'");
}

Result<DeviceMemory> DeviceMemory::of(BackendRef backend, tenon_dl_device device) {
  TENON_RETURN_IF_ERROR(backend->is_available());
  const auto table = backend->extension<tenon_device_memory_v1>(TENON_EXTENSION_DEVICE_MEMORY);
  if (!table || !table->allocate || !table->free || !table->copy_to_device ||
      !table->copy_to_host) {
    return error(Error::NotSupported, "backend ", backend->id(),
                 " has no memory on devices (extension " TENON_EXTENSION_DEVICE_MEMORY ")");
  }
  const auto streams = backend->extension<tenon_streams_v1>(TENON_EXTENSION_STREAMS);
  TENON_TRY(const std::vector<BackendDevice> devices, list_devices(*backend));
  std::string others;
  std::vector<tenon_dl_device> all;
  for (const BackendDevice& listed : devices) all.push_back(listed.device);
  for (const BackendDevice& listed : devices) {
    if (is_same_device(listed.device, device)) {
      return DeviceMemory(std::move(backend), listed, *table, streams ? streams->kind : nullptr,
                          std::move(all));
    }
    others += concat(others.empty() ? "" : ", ", device_name(listed.device));
  }
  return error(Error::NotFound, "backend ", backend->id(), " finds ",
               others.empty() ? std::string_view("no device on this machine") : others);
}

Result<void*> DeviceMemory::allocate(std::uint64_t nbytes, std::uint64_t alignment) const {
  void* block = nullptr;
  TENON_RETURN_IF_ERROR(
      check(table_.allocate(backend_->raw(), device_, nbytes, alignment, &block), "allocate"));
  if (block && (reinterpret_cast<std::uintptr_t>(block) & (alignment - 1)) == 0) return block;
  const std::string found = block ? "an address that is not aligned" : "no address";
  free(block);
  return error(Error::Internal, "backend ", backend_->id(), ": allocate(", nbytes, " bytes, ",
               alignment, ") succeeded with ", found, " (TN-DEV-5)");
}

void DeviceMemory::free(void* block) const noexcept {
  if (block) table_.free(backend_->raw(), device_, block);
}

Status DeviceMemory::copy_to_device(void* to, const void* from, std::uint64_t nbytes) const {
  if (nbytes == 0) return ok();
  return check(table_.copy_to_device(backend_->raw(), device_, to, from, nbytes), "copy_to_device");
}

Status DeviceMemory::copy_to_host(void* to, const void* from, std::uint64_t nbytes) const {
  if (nbytes == 0) return ok();
  return check(table_.copy_to_host(backend_->raw(), device_, to, from, nbytes), "copy_to_host");
}

Status DeviceMemory::copy_on(NativeStream stream, void* to, tenon_dl_device from_device,
                             const void* from, std::uint64_t nbytes) const {
  TENON_RETURN_IF_ERROR(check_stream(backend_->id(), stream_kind_, stream));
  if (!table_.copy_on && stream.handle) {
    return error(Error::NotSupported, "backend ", backend_->id(),
                 " does not copy from device to device, and a stream orders no copy of the host");
  }
  if (nbytes == 0) return ok();
  if (!table_.copy_on) return copy_by_host(to, from_device, from, nbytes);
  return check(
      table_.copy_on(backend_->raw(), stream.handle, device_, to, from_device, from, nbytes),
      "copy_on");
}

Status DeviceMemory::copy_by_host(void* to, tenon_dl_device from_device, const void* from,
                                  std::uint64_t nbytes) const {
  constexpr std::uint64_t most = std::uint64_t{4} << 20;
  const auto size = static_cast<std::size_t>(std::min(nbytes, most));
  const std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[size]);
  if (!bytes) {
    return error(Error::MemoryAllocationFailed, "no ", size,
                 " bytes for a copy from device to device");
  }
  for (std::uint64_t done = 0; done < nbytes; done += size) {
    const std::uint64_t now = std::min<std::uint64_t>(size, nbytes - done);
    TENON_RETURN_IF_ERROR(
        check(table_.copy_to_host(backend_->raw(), from_device, bytes.get(),
                                  static_cast<const std::byte*>(from) + done, now),
              "copy_to_host"));
    TENON_RETURN_IF_ERROR(copy_to_device(static_cast<std::byte*>(to) + done, bytes.get(), now));
  }
  return ok();
}

bool DeviceMemory::is_of_backend(tenon_dl_device device) const noexcept {
  for (const tenon_dl_device each : listed_) {
    if (is_same_device(each, device)) return true;
  }
  return false;
}

Status DeviceMemory::check_shared_with(const LoadedBackend& other) const {
  // Each plugin has a host table of its own.
  if (other.host() == backend_->host()) return ok();
  TENON_TRY(const std::vector<BackendDevice> devices, list_devices(other));
  const auto refuse = [&](std::string_view why) {
    return error(Error::NotSupported, "backend ", other.id(), " cannot use the memory of ",
                 device_name(device_), " that backend ", backend_->id(), " has: ", why);
  };
  if (identity_.empty()) return refuse("the second shares no addresses of it");
  for (const BackendDevice& listed : devices) {
    if (!is_same_device(listed.device, device_)) continue;
    if (!listed.shares_addresses || listed.identity.empty()) {
      return refuse("the first shares no addresses of it");
    }
    if (listed.identity == identity_) return ok();
    return refuse(concat("it is ", quoted(listed.identity), " to the first and ", quoted(identity_),
                         " to the second"));
  }
  return refuse("the first does not list it");
}

Status DeviceMemory::check(tenon_status status, std::string_view function) const {
  if (status == TENON_STATUS_OK) [[likely]]
    return ok();
  return take_last_error(backend_->host(), status)
      .with_context(concat("backend ", backend_->id(), ": ", function));
}

Result<DeviceMemory> find_device_memory(tenon_dl_device device,
                                        std::span<const std::string_view> ids,
                                        BackendLookup look_up) {
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

}}}  // namespace tenon::TENON_RELEASE::host
