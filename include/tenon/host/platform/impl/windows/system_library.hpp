// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

inline constexpr const char* sodium_names[] = {"libsodium.dll"};

/// Windows has no place for libraries that all programs share and only administrators write to,
/// where libsodium would be.
class SystemLibrary {
 public:
  explicit SystemLibrary(std::span<const char* const>) noexcept {}

  [[nodiscard]] explicit operator bool() const noexcept { return false; }
  [[nodiscard]] std::string_view problem() const noexcept {
    return "there is no place on Windows where it is looked for";
  }
  [[nodiscard]] void* symbol(const char*) const noexcept { return nullptr; }
};

}}}  // namespace tenon::TENON_RELEASE::host::platform
