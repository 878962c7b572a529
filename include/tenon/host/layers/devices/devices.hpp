// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/abi/extensions/devices.h"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/plugin/backend.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A device that a backend can use on this machine.
struct BackendDevice {
  tenon_dl_device device{TENON_DL_CPU, 0};
  std::string name;
  std::string description;
  std::uint64_t memory_bytes = 0;  ///< 0 when unknown.
  std::string identity;            ///< Empty when unknown (abi/extensions/devices.h).
  bool shares_addresses = false;   ///< Its addresses mean the same to every plugin.
};

/// The devices of a backend, in its order; none when it has no extension "tenon.devices/1".
///
/// threads: any. errors: the backend's own; MemoryAllocationFailed.
[[nodiscard]] Result<std::vector<BackendDevice>> list_devices(const LoadedBackend& backend);

/// Lets methods have memory on devices, and copies between the CPU and a device ("et_copy::..."
/// operators). `all_layers` adds it. Without it the load of a method with memory on a device fails.
///
/// The load of such a method fails with NotFound when no backend of its delegates, and none of
/// `MethodOptions::backends`, serves a device that its memory is planned on; with NotSupported when
/// a plugin would get addresses on a device that it does not share (abi/extensions/devices.h).
class Devices final : public MethodLayer {
 public:
  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;
};

}}}  // namespace tenon::TENON_RELEASE::host
