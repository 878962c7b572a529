// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <iterator>
#include <string>

#include "tenon/core/x86_features.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// The features of the processor, in the form of Linux' /proc/cpuinfo: a line "flags : sse2 avx2
/// ...". Read from CPUID; features whose registers the system does not keep are left out. Empty on
/// other processors than x86.
[[nodiscard]] inline std::string cpuinfo() {
  const X86FeatureSet found = read_x86_features();
  if (found.none()) return {};
  std::string out = "flags :";
  for (std::size_t i = 0; i < std::size(x86_features); ++i) {
    if (found.test(i)) out.append(" ").append(x86_features[i].name);
  }
  return out + "\n";
}

}}}  // namespace tenon::TENON_RELEASE::host::platform
