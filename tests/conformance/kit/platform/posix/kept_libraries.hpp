// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#if defined(__linux__)
#include <link.h>
#endif

#include <cstddef>
#include <string>
#include <vector>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// The paths of the libraries in this process; none where the system does not report them.
[[nodiscard]] inline std::vector<std::string> loaded_libraries() {
  std::vector<std::string> names;
#if defined(__linux__)
  const auto note = [](dl_phdr_info* object, std::size_t, void* to) {
    // The plugin was loaded by a name in /proc, or by its path.
    const std::string name = object->dlpi_name;
    if (name.starts_with('/') && !name.starts_with("/proc/")) {
      static_cast<std::vector<std::string>*>(to)->push_back(name);
    }
    return 0;
  };
  ::dl_iterate_phdr(note, &names);
#endif
  return names;
}

/// One more user of a library that is loaded; null when it is not.
[[nodiscard]] inline void* keep_library(const std::string& path) noexcept {
  return ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

inline void release_library(void* library) noexcept { ::dlclose(library); }

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
