// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include "driver/device.hpp"
#include "driver/kept_process.hpp"
#include "tenon/backend/mixins/devices.hpp"

namespace opencl_backend {

using tenon::Error;
using tenon::Result;

namespace {

/// An answer of a platform or a device about itself; a 0 or an empty text when there is none.
template <class T, class Call, class Object>
T ask(Call call, Object object, cl_uint what) {
  T out{};
  static_cast<void>(call(object, what, sizeof out, &out, nullptr));
  return out;
}

template <class Call, class Object>
std::string ask_text(Call call, Object object, cl_uint what) {
  std::size_t size = 0;
  if (call(object, what, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string out(size, '\0');
  static_cast<void>(call(object, what, size, out.data(), nullptr));
  while (!out.empty() && (out.back() == '\0' || out.back() == ' ')) out.pop_back();
  return out;
}

/// Whether it takes kernels as source: an accelerator with fixed functions does not.
bool is_usable(const Api& api, cl_device_id id) {
  const auto says = [&](cl_uint what) {
    return ask<cl_uint>(api.GetDeviceInfo, id, what) == CL_TRUE;
  };
  const auto type = ask<cl_bitfield>(api.GetDeviceInfo, id, CL_DEVICE_TYPE);
  return (type & CL_DEVICE_TYPE_CUSTOM) == 0 && says(CL_DEVICE_AVAILABLE) &&
         says(CL_DEVICE_COMPILER_AVAILABLE) && says(CL_DEVICE_ENDIAN_LITTLE);
}

/// By cl_khr_device_uuid or cl_khr_pci_bus_info; empty for a driver that has neither.
std::string identity_of(const Api& api, cl_device_id id) {
  std::array<std::byte, 16> uuid{};
  std::size_t size = 0;
  if (api.GetDeviceInfo(id, CL_DEVICE_UUID_KHR, sizeof uuid, uuid.data(), &size) == CL_SUCCESS &&
      size == sizeof uuid) {
    return tenon::uuid_identity(uuid);
  }
  cl_device_pci_bus_info_khr at{};
  if (api.GetDeviceInfo(id, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof at, &at, &size) != CL_SUCCESS ||
      size != sizeof at) {
    return {};
  }
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "pci:%04x:%02x:%02x.%x", at.pci_domain, at.pci_bus,
                at.pci_device, at.pci_function);
  return text.data();
}

DeviceRecord describe(const Api& api, cl_platform_id platform_id, cl_device_id id,
                      const std::string& platform) {
  const auto number = [&](cl_uint what) { return ask<cl_ulong>(api.GetDeviceInfo, id, what); };
  DeviceRecord out;
  out.platform_id = platform_id;
  out.id = id;
  out.name = ask_text(api.GetDeviceInfo, id, CL_DEVICE_NAME);
  out.platform = platform;
  out.driver_version = ask_text(api.GetDeviceInfo, id, CL_DRIVER_VERSION);
  out.memory_bytes = number(CL_DEVICE_GLOBAL_MEM_SIZE);
  out.most_bytes = number(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  out.most_items = ask<std::size_t>(api.GetDeviceInfo, id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  const auto type = ask<cl_bitfield>(api.GetDeviceInfo, id, CL_DEVICE_TYPE);
  out.is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  out.identity = identity_of(api, id);
  return out;
}

}  // namespace

tenon::Status Devices::use_library(std::string_view name) {
  const std::string_view wanted = name.empty() ? std::string_view(default_library) : name;
  const std::lock_guard lock(mutex_);
  if (is_loaded_ && wanted != library_) {
    return tenon::error(Error::InvalidState, "OpenCL's library is in use: ", library_);
  }
  library_ = wanted;
  return tenon::ok();
}

Result<const std::vector<DeviceRecord>*> Devices::list_locked() {
  if (!records_.empty()) return &records_;
  const KeptProcess kept;
  if (!is_loaded_) {
    TENON_TRY(api_, load_api(library_));
    is_loaded_ = true;
  }
  cl_uint count = 0;
  const cl_int code = api_.GetPlatformIDs(0, nullptr, &count);
  if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && count == 0)) {
    return tenon::error(Error::NotFound,
                        "OpenCL has no platform: install a driver (Debian: pocl-opencl-icd for the "
                        "CPU), which adds a file to /etc/OpenCL/vendors or $OCL_ICD_VENDORS");
  }
  TENON_RETURN_IF_ERROR(check(code, "list its platforms", Error::NotFound));
  std::vector<cl_platform_id> platforms(count);
  TENON_RETURN_IF_ERROR(
      check(api_.GetPlatformIDs(count, platforms.data(), nullptr), "list its platforms"));
  std::string names;
  for (const cl_platform_id platform : platforms) {
    const std::string name =
        tenon::concat(ask_text(api_.GetPlatformInfo, platform, CL_PLATFORM_NAME), " ",
                      ask_text(api_.GetPlatformInfo, platform, CL_PLATFORM_VERSION));
    names += tenon::concat(names.empty() ? "" : ", ", name);
    cl_uint num_devices = 0;
    // A platform without a device says CL_DEVICE_NOT_FOUND.
    if (api_.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &num_devices) != CL_SUCCESS) {
      continue;
    }
    std::vector<cl_device_id> ids(num_devices);
    TENON_RETURN_IF_ERROR(
        check(api_.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, num_devices, ids.data(), nullptr),
              tenon::concat("list the devices of ", name)));
    for (const cl_device_id id : ids) {
      if (is_usable(api_, id)) records_.push_back(describe(api_, platform, id, name));
    }
  }
  if (records_.empty()) {
    return tenon::error(Error::NotFound,
                        "OpenCL has no device that compiles kernels; platforms: ", names);
  }
  open_.resize(records_.size());
  return &records_;
}

Result<const std::vector<DeviceRecord>*> Devices::list() {
  const std::lock_guard lock(mutex_);
  return list_locked();
}

Result<std::shared_ptr<Device>> Devices::open(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  TENON_TRY(const auto* records, list_locked());
  if (number < 0 || static_cast<std::size_t>(number) >= records->size()) {
    return tenon::error(Error::InvalidArgument, "OpenCL device ", number, ": expected 0 to ",
                        records->size() - 1);
  }
  auto& device = open_[static_cast<std::size_t>(number)];
  if (!device) {
    TENON_TRY(device, Device::open(api_, (*records)[static_cast<std::size_t>(number)],
                                   static_cast<std::int32_t>(number)));
  }
  return device;
}

Result<std::shared_ptr<Device>> Devices::open(tenon_dl_device device) {
  if (device.device_type == dl_opencl) return open(std::int64_t{device.device_id});
  return tenon::error(Error::InvalidArgument, "expected a device of OpenCL (DLPack device type ",
                      dl_opencl, "), found type ", device.device_type, ", number ",
                      device.device_id);
}

bool Devices::is_known_cpu(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  return number >= 0 && static_cast<std::size_t>(number) < records_.size() &&
         records_[static_cast<std::size_t>(number)].is_cpu;
}

std::shared_ptr<Device> Devices::find(std::int32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(number);
  return number >= 0 && index < open_.size() ? open_[index] : nullptr;
}

}  // namespace opencl_backend
