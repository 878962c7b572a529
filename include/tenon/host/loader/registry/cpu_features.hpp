// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The features of a CPU, by name. Plugins name those that they need in their record
/// (`cpu_features`).
///
/// The Linux kernel gives the names, spelt as in /proc/cpuinfo: on x86-64 "avx2", "fma",
/// "avx512_vnni", "amx_int8"; on arm64 "asimd", "asimddp", "sve", "i8mm"; on RISC-V the letters and
/// names of the ISA string, "v", "zba". On x86-64 there are also the levels of the psABI,
/// "x86-64-v2" to "x86-64-v4". On macOS they are the names under sysctl hw.optional.arm
/// ("FEAT_DotProd") and, on Intel, the names under machdep.cpu in lower case. Names compare
/// exactly.
class CpuFeatures {
 public:
  /// Of these names, in any order; a name may be there twice.
  explicit CpuFeatures(std::vector<std::string> names);

  /// The features of this machine, read once. Empty where the system does not report them.
  [[nodiscard]] static const CpuFeatures& of_this_machine();

  [[nodiscard]] bool has(std::string_view name) const noexcept;

  /// The features of `wanted` that are missing, in their order.
  [[nodiscard]] std::vector<std::string> missing(std::span<const std::string> wanted) const;

  /// All names, sorted, each once.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

 private:
  std::vector<std::string> names_;
};

}}}  // namespace tenon::TENON_RELEASE::host
