// SPDX-License-Identifier: MIT
#pragma once

#if defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__linux__) && (defined(__aarch64__) || defined(__arm__))
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

#if defined(__APPLE__)
/// In the form of Linux' /proc/cpuinfo. Asks for each name that Apple documents ("Determining
/// Instruction Set Characteristics"); a name that this system does not know is a missing feature.
[[nodiscard]] inline std::string cpuinfo() {
  std::string out = "Features :";
  for (const char* name :
       {"FEAT_FlagM",   "FEAT_FlagM2", "FEAT_FHM",     "FEAT_DotProd", "FEAT_SHA3",   "FEAT_RDM",
        "FEAT_LSE",     "FEAT_SHA256", "FEAT_SHA512",  "FEAT_SHA1",    "FEAT_AES",    "FEAT_PMULL",
        "FEAT_SPECRES", "FEAT_SB",     "FEAT_FRINTTS", "FEAT_LRCPC",   "FEAT_LRCPC2", "FEAT_FCMA",
        "FEAT_JSCVT",   "FEAT_PAuth",  "FEAT_DPB",     "FEAT_DPB2",    "FEAT_BF16",   "FEAT_I8MM",
        "FEAT_ECV",     "FEAT_LSE2",   "FEAT_CSV2",    "FEAT_CSV3",    "FEAT_DIT",    "FEAT_FP16",
        "FEAT_SSBS",    "FEAT_BTI",    "FEAT_SME",     "FEAT_SME2"}) {
    int value = 0;
    std::size_t size = sizeof value;
    const std::string key = std::string("hw.optional.arm.") + name;
    if (::sysctlbyname(key.c_str(), &value, &size, nullptr, 0) == 0 && value != 0) {
      out += std::string(" ") + name;
    }
  }
  for (const char* key :
       {"machdep.cpu.features", "machdep.cpu.leaf7_features", "machdep.cpu.extfeatures"}) {
    std::size_t size = 0;
    if (::sysctlbyname(key, nullptr, &size, nullptr, 0) != 0 || size == 0) continue;
    std::string text(size, '\0');
    if (::sysctlbyname(key, text.data(), &size, nullptr, 0) != 0) continue;
    text.resize(std::min(text.find('\0'), text.size()));
    std::ranges::transform(text, text.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    out += " " + text;
  }
  return out + "\n";
}
#else
/// The text of Linux' /proc/cpuinfo about one processor; a machine may have hundreds.
[[nodiscard]] inline std::string cpuinfo() {
  std::string text;
  const FileDescriptor file(open_to_read("/proc/cpuinfo"));
  char part[4096];
  std::size_t end = std::string::npos;
  while (end == std::string::npos) {
    const std::ptrdiff_t size = read(file.get(), part, sizeof part);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(part, static_cast<std::size_t>(size));
    end = text.find("\n\n");
  }
  return text.substr(0, end);
}
#endif

#if defined(__linux__) && (defined(__aarch64__) || defined(__arm__))
/// The features of the processor, a bit for each (asm/hwcap.h of Linux).
[[nodiscard]] inline std::uint64_t hwcap() noexcept { return ::getauxval(AT_HWCAP); }
[[nodiscard]] inline std::uint64_t hwcap2() noexcept { return ::getauxval(AT_HWCAP2); }
#endif

}}}  // namespace tenon::TENON_RELEASE::host::platform
