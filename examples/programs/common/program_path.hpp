// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <system_error>

#if defined(_WIN32)
#include "tenon/host/platform/windows/api.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE {

/// The file of this program; empty where the system does not report it.
[[nodiscard]] inline std::filesystem::path program_path() {
#if defined(_WIN32)
  wchar_t path[32768];  // The longest that Windows has.
  const ::DWORD length = ::GetModuleFileNameW(nullptr, path, static_cast<::DWORD>(std::size(path)));
  return std::filesystem::path(path, path + length);
#else
  std::error_code failure;
  return std::filesystem::read_symlink("/proc/self/exe", failure);
#endif
}

}}  // namespace tenon::TENON_RELEASE
