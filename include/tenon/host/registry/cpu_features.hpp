// SPDX-License-Identifier: MIT
#pragma once

#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/version.h"

namespace tenon::inline TENON_RELEASE::host {

/// The features of a CPU, by name. Plugins name those that they need in their record
/// (`cpu_features`).
///
/// Names are those of the Linux kernel, spelt as in /proc/cpuinfo: on x86-64 "avx2", "fma",
/// "avx512_vnni", "amx_int8"; on arm64 "asimd", "asimddp", "sve", "i8mm"; on RISC-V the letters and
/// names of the ISA string, "v", "zba". On x86-64 there are also the levels of the psABI,
/// "x86-64-v2" to "x86-64-v4". On macOS they are the names under sysctl hw.optional.arm
/// ("FEAT_DotProd") and, on Intel, those of machdep.cpu in lower case. Names compare exactly.
class CpuFeatures {
 public:
  explicit CpuFeatures(std::vector<std::string> names)
      : names_(std::make_move_iterator(names.begin()), std::make_move_iterator(names.end())) {}

  /// The features of this machine, read once. Empty where the system does not report them.
  [[nodiscard]] static const CpuFeatures& of_this_machine();

  [[nodiscard]] bool has(std::string_view name) const { return names_.contains(name); }

  /// Those of `wanted` that are missing, in their order.
  [[nodiscard]] std::vector<std::string> missing(std::span<const std::string> wanted) const {
    std::vector<std::string> out;
    for (const std::string& name : wanted) {
      if (!has(name)) out.push_back(name);
    }
    return out;
  }

  /// All names, sorted.
  [[nodiscard]] const std::set<std::string, std::less<>>& names() const noexcept { return names_; }

 private:
  std::set<std::string, std::less<>> names_;
};

}  // namespace tenon::inline TENON_RELEASE::host
