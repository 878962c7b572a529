// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "harness.hpp"

/// Yardsticks: the bare steps of a runtime, written by hand, without a check that is not needed.
namespace tenon::bench::floor {

/// One call of the `execute` of a plugin's first backend through its table, and a check of the
/// status.
[[nodiscard]] Work call(const std::string& plugin);

/// open, fstat, mmap of the whole file, a read of its first byte, munmap, close.
[[nodiscard]] Work map_file(const std::string& path);

/// dlopen, dlsym, dlclose.
[[nodiscard]] Work open_library(const std::string& path);

}  // namespace tenon::bench::floor
