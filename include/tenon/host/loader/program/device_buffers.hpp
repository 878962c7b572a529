// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/abi/version.h"
#include "tenon/host/schema/forward.hpp"

/// Devices, and the memory on them that a method needs. Plans come from a program that was
/// verified.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The name of a device in messages: "CPU", "CUDA device 0".
[[nodiscard]] std::string device_name(tenon_dl_device device);

[[nodiscard]] constexpr bool is_cpu(tenon_dl_device device) noexcept {
  return device.device_type == TENON_DL_CPU;
}

/// Whether both have the same type and number, as tensors of one plugin have them. The CPU is one
/// device, whatever its index.
[[nodiscard]] constexpr bool is_same_device(tenon_dl_device a, tenon_dl_device b) noexcept {
  return a.device_type == b.device_type && (is_cpu(a) || a.device_id == b.device_id);
}

/// A buffer that a plan puts on a device.
struct DeviceBuffer {
  std::uint32_t index = 0;  ///< Its memory_id, 1 or more.
  std::uint64_t nbytes = 0;
  tenon_dl_device device{TENON_DL_CPU, 0};

  /// "planned buffer 2 of 384 bytes on CUDA device 0"
  [[nodiscard]] std::string text() const;
};

/// Planned buffers that are on a device, in the order of the plan.
[[nodiscard]] std::vector<DeviceBuffer> find_device_buffers(const schema::ExecutionPlan& plan);

/// Devices of inputs and outputs whose memory the application gives.
[[nodiscard]] std::vector<tenon_dl_device> find_devices_of_unplanned(
    const schema::ExecutionPlan& plan);

/// Ids of the backends that the delegates need, each once, in the order of the delegates. That is
/// the order in which they are asked for memory on a device.
[[nodiscard]] std::vector<std::string_view> find_backend_ids(const schema::ExecutionPlan& plan);

}}}  // namespace tenon::TENON_RELEASE::host
