// SPDX-License-Identifier: MIT
//
// load_and_unload PLUGIN COUNT: loads a plugin, opens its first backend and unloads it, COUNT
// times. Fails when the DLL stays in memory, or when handles or memory grow. For Windows.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tenon/host/all_layers.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/platform/path_text.hpp"

// After <windows.h>.
#include <psapi.h>

#include <cstdio>

namespace {

namespace host = tenon::host;

struct Use {
  std::size_t bytes = 0;
  ::DWORD handles = 0;

  static Use now() {
    Use out;
    ::PROCESS_MEMORY_COUNTERS memory{};
    ::GetProcessMemoryInfo(::GetCurrentProcess(), &memory, sizeof memory);
    ::GetProcessHandleCount(::GetCurrentProcess(), &out.handles);  // 0 under Wine 8.
    out.bytes = memory.PagefileUsage;
    return out;
  }
};

tenon::Status load_once(const std::filesystem::path& path) {
  TENON_TRY(const auto plugin, host::Plugin::load(path, host::all_layers()));
  TENON_TRY(const auto backend, plugin->backend(plugin->record().backends.front().id));
  if (!::GetModuleHandleW(path.filename().c_str())) {
    return tenon::error(tenon::Error::Internal, "the DLL is not among the modules while in use");
  }
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::filesystem::path path = host::path_of(argv[1]);
  const int count = std::atoi(argv[2]);
  Use warm;
  for (int i = 0; i < count; ++i) {
    if (i == 100) warm = Use::now();
    const tenon::Status done = load_once(path);
    if (!done.ok()) {
      std::printf("load %d: %s\n", i, std::string(done.text()).c_str());
      return 1;
    }
    if (::GetModuleHandleW(path.filename().c_str())) {
      std::printf("load %d: the DLL is in memory after it was unloaded\n", i);
      return 1;
    }
  }
  const Use last = Use::now();
  std::printf(
      "%d loads: %zu bytes and %lu handles after 100, %zu bytes and %lu handles at the end\n",
      count, warm.bytes, warm.handles, last.bytes, last.handles);
  if (warm.bytes == 0) return 1;  // Nothing was measured.
  return last.handles <= warm.handles && last.bytes <= warm.bytes + 64 * 1024 ? 0 : 1;
}
