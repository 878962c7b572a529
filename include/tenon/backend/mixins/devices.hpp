// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/extensions/devices.h"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/result.hpp"

namespace tenon::inline TENON_RELEASE {

/// One device that a backend can use.
struct DeviceInfo {
  tenon_dl_device device{TENON_DL_CPU, 0};
  std::string name;
  std::string description;
  std::uint64_t memory_bytes = 0;  ///< 0 when unknown.
};

/// Mixin: the backend lists its devices. The author adds
/// `Result<std::vector<DeviceInfo>> devices()`.
template <class Derived>
class WithDevices {};

namespace detail {

template <class B>
concept HasDevices = requires(B& backend) {
  { backend.devices() } -> std::same_as<Result<std::vector<DeviceInfo>>>;
};

template <class B>
struct DevicesExtension {
  static constexpr std::string_view id = TENON_EXTENSION_DEVICES;

  static consteval bool check() {
    if constexpr (!HasDevices<B>) {
      static_assert(always_false<B>,
                    "tenon: WithDevices needs a public "
                    "`tenon::Result<std::vector<tenon::DeviceInfo>> devices()`");
    }
    return HasDevices<B>;
  }

  static tenon_status list_devices(tenon_backend* backend, tenon_device_sink sink,
                                   void* sink_context) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      TENON_TRY(const std::vector<DeviceInfo> devices, self<B>(backend).devices());
      for (const DeviceInfo& device : devices) {
        tenon_device_info info{};
        info.struct_size = sizeof info;
        info.device = device.device;
        info.name = device.name.c_str();
        info.description = device.description.c_str();
        info.memory_bytes = device.memory_bytes;
        sink(sink_context, &info);
      }
      return ok();
    });
  }

  static constexpr tenon_devices_v1 table = {sizeof(tenon_devices_v1), 0, &list_devices};
};

template <>
struct MixinOf<tenon_devices_v1> : Mixin<WithDevices, DevicesExtension> {};

}  // namespace detail
}  // namespace tenon::inline TENON_RELEASE
