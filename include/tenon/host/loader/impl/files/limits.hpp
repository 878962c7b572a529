// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/files/limits.hpp"

#include <charconv>
#include <string>
#include <system_error>

#include "tenon/core/concat.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Status set_limit(std::span<const NamedLimit> limits, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  std::uint64_t* limit = nullptr;
  for (const NamedLimit& each : limits) {
    if (each.name == name) limit = each.value;
  }
  if (!limit) {
    std::string names;
    for (const NamedLimit& each : limits) {
      names += concat(names.empty() ? "" : ", ", each.name);
    }
    return error(Error::InvalidArgument, "there is no limit ", quoted(name),
                 "; there are: ", names);
  }
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  if (value == "none") {
    *limit = HostLimits::none;
    return ok();
  }
  std::string_view digits = value;
  unsigned shift = 0;
  constexpr std::string_view units = "KMGT";
  if (const std::size_t unit = digits.empty() ? units.npos : units.find(digits.back());
      unit != units.npos) {
    shift = static_cast<unsigned>(unit + 1) * 10;
    digits.remove_suffix(1);
  }
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number);
  if (digits.empty() || read.ptr != end || read.ec != std::errc() ||
      number > HostLimits::none >> shift) {
    return error(Error::InvalidArgument, "limit ", name, ": expected a number below 2^64, which ",
                 "may end with K, M, G or T, or none, found ", quoted(value));
  }
  *limit = number << shift;
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host
