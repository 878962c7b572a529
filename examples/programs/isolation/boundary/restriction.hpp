// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/host/layers/isolation/worker_settings.hpp"

/// The restriction of the process of a plugin, as it is stored in an isolated plugin and given to
/// the worker on its command line. docs/hosts/isolation-profiles.md describes the profiles.
namespace tenon::isolated {

/// The number of no restriction; the profiles follow, in their order.
inline constexpr std::uint32_t no_restriction = 0;

inline constexpr const auto& restriction_names = host::worker_profile_names;

/// "none", "open", "driver", "strict"; empty for another number.
[[nodiscard]] constexpr std::string_view restriction_name(std::uint32_t restriction) noexcept {
  return restriction < std::size(restriction_names) ? restriction_names[restriction]
                                                    : std::string_view();
}

using host::device_permission;
using host::program_permission;
using host::read_permission;
using host::write_permission;

/// The lines of `text`, without empty ones.
[[nodiscard]] inline std::vector<std::string> permissions_in(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end != 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

}  // namespace tenon::isolated
