// SPDX-License-Identifier: MIT
//
// The process in which the plugin behind an isolated plugin runs. docs/hosts/isolation.md describes
// it. Started by the isolated plugin alone, with the descriptors that supervisor.hpp names.
#include <cstdio>
#include <span>
#include <string_view>

#include "serve.hpp"
#include "supervisor.hpp"
#include "tenon/abi/version.h"

int main(int argc, char** argv) {
  const std::string_view what = argc >= 2 ? argv[1] : "";
  // The profile, and permissions.
  if (what == "--supervise" && argc >= 3) {
    const std::span<char* const> permissions(argv + 3, argv + argc);
    return tenon::isolated::supervise({argv[2], permissions}, &tenon::isolated::serve);
  }
  if (what == "--version") {
    std::puts("tenon-worker " TENON_VERSION_STRING);
    return 0;
  }
  std::fputs(
      "tenon-worker runs a plugin for an isolated plugin, which starts it; tenon-isolate makes "
      "one.\n",
      what == "--help" ? stdout : stderr);
  return what == "--help" ? 0 : 2;
}
