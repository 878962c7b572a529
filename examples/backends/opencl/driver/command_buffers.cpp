// SPDX-License-Identifier: MIT
#include "driver/command_buffers.hpp"

#include <algorithm>
#include <vector>

#include "driver/device.hpp"

namespace opencl_backend {

using tenon::Error;
using tenon::Result;

namespace {

constexpr std::string_view extension = "cl_khr_command_buffer";

constexpr cl_uint major_of(cl_uint version) { return version >> 22U; }
constexpr cl_uint minor_of(cl_uint version) { return version >> 12U & 0x3FFU; }

/// The extension's version on the device; 0 where it is not.
cl_uint version_of_extension(const Api& api, cl_device_id id) {
  std::size_t size = 0;
  if (api.GetDeviceInfo(id, CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, nullptr, &size) != CL_SUCCESS) {
    return 0;
  }
  std::vector<cl_name_version> all(size / sizeof(cl_name_version));
  if (api.GetDeviceInfo(id, CL_DEVICE_EXTENSIONS_WITH_VERSION, size, all.data(), nullptr) !=
      CL_SUCCESS) {
    return 0;
  }
  const auto found =
      std::ranges::find_if(all, [](const cl_name_version& one) { return one.name == extension; });
  return found == all.end() ? 0 : found->version;
}

cl_bitfield ask_bits(const Api& api, cl_device_id id, cl_uint what) {
  cl_bitfield out = 0;
  static_cast<void>(api.GetDeviceInfo(id, what, sizeof out, &out, nullptr));
  return out;
}

}  // namespace

Result<CommandBuffers> find_command_buffers(const Api& api, const DeviceRecord& record) {
  const cl_uint version = version_of_extension(api, record.id);
  if (version == 0) {
    return tenon::error(Error::NotSupported, record.name, " does not have ", extension);
  }
  // Functions change their parameters between versions below 1.0; those used here do not in 0.9.
  if (major_of(version) != 0 || minor_of(version) != 9) {
    return tenon::error(Error::NotSupported, record.name, " has ", extension, " ",
                        major_of(version), ".", minor_of(version), ": expected 0.9");
  }
  if (ask_bits(api, record.id, CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR) != 0) {
    return tenon::error(Error::NotSupported, extension, " of ", record.name,
                        " needs queues with properties that a session's queue does not have");
  }
  CommandBuffers out;
  const cl_bitfield capabilities =
      ask_bits(api, record.id, CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR);
  out.simultaneous = (capabilities & CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR) != 0;
#define OPENCL_BACKEND_FIND(name, result, parameters)                                  \
  out.api.name = reinterpret_cast<result(*) parameters>(                               \
      api.GetExtensionFunctionAddressForPlatform(record.platform_id, "cl" #name));     \
  if (!out.api.name) {                                                                 \
    return tenon::error(Error::NotSupported, record.platform,                          \
                        " has no function cl" #name ", which belongs to ", extension); \
  }
  OPENCL_BACKEND_COMMAND_BUFFER_FUNCTIONS(OPENCL_BACKEND_FIND)
#undef OPENCL_BACKEND_FIND
  return out;
}

Result<Replay> choose_replay(const Result<CommandBuffers>& found, std::string_view option) {
  if (option == "off") return Replay{.reason = "option command_buffer is off"};
  if (option != "on" && option != "auto") {
    return tenon::error(Error::InvalidArgument, "option 'command_buffer': expected on, off or ",
                        "auto, found '", option, "'");
  }
  const bool at_once = option == "on";
  if (found.ok()) return Replay{true, at_once, tenon::concat("the device has ", extension)};
  if (!at_once) return Replay{.reason = std::string(found.text())};
  return tenon::error(found.error(), "option command_buffer is on: ", found.text());
}

}  // namespace opencl_backend
