// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

/// The file that the code or data at `address` was loaded from, or an empty text. Asks the system
/// before the dynamic loader: a host loads plugins by names in /proc, which are no longer valid
/// once it has closed the file.
inline std::string file_of(const void* address) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                             &std::fclose);
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  char* line = nullptr;
  std::size_t room = 0;
  std::string out;
  while (maps && out.empty() && ::getline(&line, &room, maps.get()) > 0) {
    std::uintptr_t begin = 0, end = 0;
    int path = 0;
    if (std::sscanf(line, "%zx-%zx %*s %*s %*s %*s %n", &begin, &end, &path) < 2) continue;
    if (wanted < begin || wanted >= end || line[path] != '/') continue;
    out.assign(line + path, std::strcspn(line + path, "\n"));
  }
  std::free(line);
  ::Dl_info info{};
  if (out.empty() && ::dladdr(address, &info) != 0 && info.dli_fname) out = info.dli_fname;
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
