// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <tenon/core/result.hpp>

#include "driver/api.hpp"

namespace opencl_backend {

struct DeviceRecord;

/// `cl_khr_command_buffer` of a device: commands that are recorded, and enqueued as one.
struct CommandBuffers {
  CommandBufferApi api;
  bool simultaneous = false;  ///< One may be enqueued again before its last run is done.
};

/// errors: NotSupported with what is missing
[[nodiscard]] tenon::Result<CommandBuffers> find_command_buffers(const Api& api,
                                                                 const DeviceRecord& record);

/// Whether runs are recorded, and why or why not.
struct Replay {
  bool is_used = false;
  bool at_once = false;  ///< Also a run whose sizes and places no earlier run had.
  std::string reason;
};

/// Reads option `command_buffer` for a device: `on`, `off`, or `auto`, which uses them where they
/// are, for runs that come again.
///
/// errors: InvalidArgument for another text; NotSupported when `on` cannot be
[[nodiscard]] tenon::Result<Replay> choose_replay(const tenon::Result<CommandBuffers>& found,
                                                  std::string_view option);

}  // namespace opencl_backend
