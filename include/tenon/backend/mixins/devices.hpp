// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tenon/abi/extensions/devices.h"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/hex.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// One device that a backend can use.
struct DeviceInfo {
  tenon_dl_device device{TENON_DL_CPU, 0};
  std::string name;
  std::string description;
  std::uint64_t memory_bytes = 0;  ///< 0 when unknown.
  /// "uuid:..." or "pci:..." in lower case (abi/extensions/devices.h); empty when unknown. At most
  /// 79 characters.
  std::string identity;
  /// Addresses of its memory mean the same to every plugin (TENON_DEVICE_SHARES_ADDRESSES).
  bool shares_addresses = false;
};

/// "uuid:4a1d0c5e-..." for `DeviceInfo::identity`.
[[nodiscard]] inline std::string uuid_identity(std::span<const std::byte, 16> uuid) {
  std::string out = "uuid:";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out.push_back('-');
    append_hex(out, uuid[i]);
  }
  return out;
}

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
        if (device.shares_addresses) info.flags |= TENON_DEVICE_SHARES_ADDRESSES;
        info.device = device.device;
        info.name = device.name.c_str();
        info.description = device.description.c_str();
        info.memory_bytes = device.memory_bytes;
        if (device.identity.size() >= sizeof info.identity) {
          return error(Error::Internal, "the identity of device ", device.device.device_id, " has ",
                       device.identity.size(), " characters, expected at most ",
                       sizeof info.identity - 1);
        }
        std::memcpy(info.identity, device.identity.data(), device.identity.size());
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
}}  // namespace tenon::TENON_RELEASE
