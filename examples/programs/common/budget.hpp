// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon::tool {

/// A device by its name in arguments: "cpu", "cuda", "cuda:1", "metal". InvalidArgument for others.
[[nodiscard]] inline Result<tenon_dl_device> parse_device(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  tenon_dl_device device{kind == "cpu"     ? TENON_DL_CPU
                         : kind == "cuda"  ? TENON_DL_CUDA
                         : kind == "metal" ? TENON_DL_METAL
                                           : 0,
                         0};
  bool is_valid = device.device_type != 0;
  if (colon != std::string_view::npos) {
    const std::string_view number = text.substr(colon + 1);
    const char* const end = number.data() + number.size();
    const auto read = std::from_chars(number.data(), end, device.device_id);
    is_valid = is_valid && !number.empty() && read.ptr == end && read.ec == std::errc() &&
               device.device_id >= 0;
  }
  if (is_valid) return device;
  return error(Error::InvalidArgument,
               "expected a device such as cpu, cuda, cuda:1 or metal, found ", host::quoted(text));
}

/// The budget of one device from "DEVICE=BYTES", as in "cuda:0=8G".
[[nodiscard]] inline Result<host::DeviceBytes> parse_budget(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('='));
  TENON_TRY(const tenon_dl_device device, parse_device(name));
  host::DeviceBytes out{device};
  const host::NamedLimit bytes{name, &out.nbytes};
  TENON_RETURN_IF_ERROR(host::set_limit({&bytes, 1}, text));
  return out;
}

}  // namespace tenon::tool
