// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/devices/devices.hpp"

#include <cstddef>
#include <cstring>
#include <new>

#include "tenon/core/concat.hpp"
#include "tenon/host/layers/devices/impl/devices_part.hpp"
#include "tenon/host/loader/plugin/backend_api.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<std::vector<BackendDevice>> list_devices(const LoadedBackend& backend) {
  std::vector<BackendDevice> devices;
  const auto table = backend.extension<tenon_devices_v1>(TENON_EXTENSION_DEVICES);
  if (!table || !table->list_devices) return devices;
  struct Sink {
    std::vector<BackendDevice>& devices;
    bool out_of_memory = false;
  } sink{devices};
  // No exception may pass through the plugin's frames.
  const auto take = [](void* context, const tenon_device_info* device) noexcept {
    auto& out = *static_cast<Sink*>(context);
    if (!device) return;
    const auto info = complete_table<tenon_device_info>(device);
    // A plugin that forgot the terminator has none.
    const void* const end = std::memchr(info.identity, 0, sizeof info.identity);
    const std::size_t identity_size =
        end ? static_cast<std::size_t>(static_cast<const char*>(end) - info.identity) : 0;
    try {
      out.devices.push_back({info.device, info.name ? info.name : "",
                             info.description ? info.description : "", info.memory_bytes,
                             std::string(info.identity, identity_size),
                             (info.flags & TENON_DEVICE_SHARES_ADDRESSES) != 0});
    } catch (const std::bad_alloc&) {
      out.out_of_memory = true;
    }
  };
  const tenon_status status = table->list_devices(backend.raw(), take, &sink);
  if (status != TENON_STATUS_OK) {
    return take_last_error(backend.host(), status).with_context(concat("backend ", backend.id()));
  }
  if (sink.out_of_memory) {
    return error(Error::MemoryAllocationFailed, "backend ", backend.id(), ": its list of devices");
  }
  return devices;
}

Result<std::unique_ptr<detail::MethodPart>> Devices::attach(detail::LoadRequest& request) const {
  if (!detail::may_need_devices(*request.program, *request.plan)) return nullptr;
  return std::make_unique<detail::DevicesPart>();
}

}}}  // namespace tenon::TENON_RELEASE::host
