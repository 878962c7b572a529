// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/schema/forward.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The devices of one method, and memory there. The layer devices has it. One thread at a time, but
/// for copies and questions.
class DeviceSpace {
 public:
  /// Whether the method has memory on `device`, which is not the CPU.
  [[nodiscard]] virtual bool has(tenon_dl_device device) const noexcept = 0;

  /// Whether `copy` takes bytes that are on `from` to memory on `to`, a device that it has.
  [[nodiscard]] virtual bool can_copy(tenon_dl_device to, tenon_dl_device from) const noexcept = 0;

  /// `nbytes` bytes, 1 or more, on a device that it has, aligned to `alignment`, a power of two; to
  /// be given to `free`. Fails with the backend's error.
  [[nodiscard]] virtual Result<void*> allocate(tenon_dl_device device, std::uint64_t nbytes,
                                               std::uint64_t alignment) = 0;
  virtual void free(tenon_dl_device device, void* block) noexcept = 0;

  /// Copies, complete on return. At least one of the two is the CPU, or `can_copy` returned true.
  /// Fails with the backend's error.
  [[nodiscard]] virtual Status copy(tenon_dl_device to_device, void* to,
                                    tenon_dl_device from_device, const void* from,
                                    std::uint64_t nbytes) const = 0;

 protected:
  ~DeviceSpace() = default;
};

inline constexpr tenon_dl_device cpu_device{TENON_DL_CPU, 0};

/// For a method that was loaded without the layer devices.
///
/// errors: NotSupported when its memory is planned on a device, or the application has to give an
///         input or output there.
[[nodiscard]] inline Status check_needs_no_device(const Program& program,
                                                  const schema::ExecutionPlan& plan) {
  // Found when the program was opened, as most programs have none.
  if (!program.names_devices()) [[likely]]
    return ok();
  std::string what;
  if (const auto planned = find_device_buffers(plan); !planned.empty()) {
    what = planned.front().text();
  } else if (const auto given = find_devices_of_unplanned(plan); !given.empty()) {
    what = concat("an input or output on ", device_name(given.front()));
  } else {
    return ok();
  }
  return error(Error::NotSupported, what,
               " needs the layer devices: list host::Devices() of "
               "<tenon/host/layers/devices/devices.hpp> in MethodOptions::layers, or load the "
               "method with a registry");
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
