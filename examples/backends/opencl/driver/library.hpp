// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <tenon/tenon.hpp>

#include "driver/api.hpp"

namespace opencl_backend {

/// "CL_OUT_OF_RESOURCES", or "OpenCL error -9999".
[[nodiscard]] std::string name_of_error(cl_int code);

/// Success, or the failure of a call of OpenCL with the name of its code. `what` says what was to
/// be done ("create a queue"). Codes of exhausted memory are MemoryAllocationFailed.
[[nodiscard]] tenon::Status check(cl_int code, std::string_view what,
                                  tenon::Error error = tenon::Error::Internal);

/// The ICD loader, which the system's loader finds at its first call.
inline constexpr const char* default_library = "libOpenCL.so.1";

/// Loads the ICD loader, or another library with the functions of OpenCL. An ICD loader loads the
/// drivers of the machine at its first call.
///
/// It stays in memory until the process ends, also when a plugin is closed: drivers keep threads,
/// and functions that run at the end of the process, in code that the loader would unmap.
///
/// errors: NotFound with what to install, NotSupported when a function is missing
[[nodiscard]] tenon::Result<Api> load_api(const std::string& library);

}  // namespace opencl_backend
