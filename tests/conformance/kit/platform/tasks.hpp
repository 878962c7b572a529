// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// How many threads and children the process has.
struct TaskCounts {
  std::int64_t threads = 0;
  std::int64_t processes = 0;
};

/// Threads and children by number; the name of each. Threads of Windows have none.
struct Tasks {
  std::map<int, std::string> threads;
  std::map<int, std::string> processes;
};

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
