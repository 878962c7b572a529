// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The lines of /proc/self/maps, as `name_frames` takes them.
[[nodiscard]] inline std::vector<std::string> lines_of_maps() {
  std::vector<std::string> out;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) out.push_back(line);
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
