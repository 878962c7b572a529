// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <tenon/tenon.hpp>
#include <vector>

namespace tenon::cuda_aoti {

/// Fails unless the driver starts and has a device.
[[nodiscard]] Status check_available();

/// The devices of this machine.
/// errors: the driver's.
[[nodiscard]] Result<std::vector<DeviceInfo>> list_devices();

/// The number in "cuda" or "cuda:1", as ExecuTorch's exporter writes the spec `target_device`.
/// errors: DelegateInvalidCompatibility.
[[nodiscard]] Result<std::int32_t> parse_target_device(std::string_view text);

}  // namespace tenon::cuda_aoti
