// SPDX-License-Identifier: MIT
#include "device_list.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <string>
#include <utility>

#include "driver/device.hpp"
#include "driver/driver.hpp"

namespace tenon::cuda_aoti {
namespace {

Result<int> count_devices(const Driver& driver) {
  int count = 0;
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuDeviceGetCount, &count));
  return count;
}

Result<DeviceInfo> describe(const Driver& driver, int index) {
  CUdevice device = 0;
  char name[256] = {};
  std::size_t nbytes = 0;
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuDeviceGet, &device, index));
  TENON_RETURN_IF_ERROR(
      TENON_CUDA(driver, cuDeviceGetName, name, static_cast<int>(sizeof name), device));
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuDeviceTotalMem, &nbytes, device));
  TENON_TRY(const unsigned sm, capability_of(driver, index));
  std::array<std::byte, 16> uuid{};
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuDeviceGetUuid, uuid.data(), device));
  return DeviceInfo{
      {TENON_DL_CUDA, index}, name, concat("compute capability ", sm / 10, ".", sm % 10), nbytes,
      uuid_identity(uuid),    true};
}

}  // namespace

Status check_available() {
  TENON_TRY(const Driver* const driver, load_driver());
  TENON_TRY(const int count, count_devices(*driver));
  if (count > 0) return ok();
  return error(Error::NotFound, "the CUDA driver has no device");
}

Result<std::vector<DeviceInfo>> list_devices() {
  TENON_TRY(const Driver* const driver, load_driver());
  TENON_TRY(const int count, count_devices(*driver));
  std::vector<DeviceInfo> out;
  for (int i = 0; i < count; ++i) {
    TENON_TRY(DeviceInfo info, describe(*driver, i));
    out.push_back(std::move(info));
  }
  return out;
}

Result<std::int32_t> parse_target_device(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view rest = lower;
  std::int32_t index = 0;
  if (rest == "cuda") return index;
  if (rest.starts_with("cuda:")) {
    const char* const end = rest.data() + rest.size();
    const auto [stop, failed] = std::from_chars(rest.data() + 5, end, index);
    if (failed == std::errc{} && stop == end && index >= 0) return index;
  }
  return error(Error::DelegateInvalidCompatibility,
               "compile spec target_device: expected 'cuda' or 'cuda:N', found '", text, "'");
}

}  // namespace tenon::cuda_aoti
