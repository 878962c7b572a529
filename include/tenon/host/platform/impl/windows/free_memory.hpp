// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// Bytes of physical memory that are free, or nothing where the system does not say.
[[nodiscard]] inline std::optional<std::uint64_t> free_memory() {
  ::MEMORYSTATUSEX facts{};
  facts.dwLength = sizeof facts;
  if (!::GlobalMemoryStatusEx(&facts)) return std::nullopt;
  return std::uint64_t{facts.ullAvailPhys};
}

}}}  // namespace tenon::TENON_RELEASE::host::platform
