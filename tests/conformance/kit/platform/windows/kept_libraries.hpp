// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/windows/api.hpp"

// After <windows.h>.
#include <psapi.h>

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// The path of a library or program in memory; empty when `module` is neither.
[[nodiscard]] inline std::string module_path(::HMODULE module) {
  std::wstring path(32768, L'\0');  // The longest that Windows has.
  const ::DWORD length =
      ::GetModuleFileNameW(module, path.data(), static_cast<::DWORD>(path.size()));
  return host::platform::to_utf8(path.data(), static_cast<int>(length));
}

/// The paths of the libraries in this process.
[[nodiscard]] inline std::vector<std::string> loaded_libraries() {
  std::vector<::HMODULE> modules(1024);
  ::DWORD size = 0;
  const auto room = static_cast<::DWORD>(modules.size() * sizeof(::HMODULE));
  if (!::K32EnumProcessModules(::GetCurrentProcess(), modules.data(), room, &size)) return {};
  modules.resize(std::min(modules.size(), size / sizeof(::HMODULE)));
  std::vector<std::string> names;
  for (const ::HMODULE module : modules) names.push_back(module_path(module));
  return names;
}

/// One more user of a library that is loaded; null when it is not.
[[nodiscard]] inline void* keep_library(const std::string& path) noexcept {
  ::HMODULE module = nullptr;
  ::GetModuleHandleExW(0, host::path_of(path).c_str(), &module);
  return module;
}

inline void release_library(void* library) noexcept {
  ::FreeLibrary(static_cast<::HMODULE>(library));
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
