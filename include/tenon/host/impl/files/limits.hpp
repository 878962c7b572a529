// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/files/limits.hpp"

#include <charconv>
#include <string>
#include <system_error>

#include "tenon/core/concat.hpp"
#include "tenon/host/files/quoted.hpp"

namespace tenon::host {

Status HostLimits::set(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  std::uint64_t HostLimits::* limit = nullptr;
  for (const auto& [each, member] : host_limit_names) {
    if (each == name) limit = member;
  }
  if (!limit) {
    std::string names;
    for (const auto& [each, member] : host_limit_names) {
      names += concat(names.empty() ? "" : ", ", each);
    }
    return error(Error::InvalidArgument, "there is no limit ", quoted(name),
                 "; there are: ", names);
  }
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  if (value == "none") {
    this->*limit = none;
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
  if (digits.empty() || read.ptr != end || read.ec != std::errc() || number > none >> shift) {
    return error(Error::InvalidArgument, "limit ", name, ": expected a number below 2^64, which ",
                 "may end with K, M, G or T, or none, found ", quoted(value));
  }
  this->*limit = number << shift;
  return ok();
}

}  // namespace tenon::host
