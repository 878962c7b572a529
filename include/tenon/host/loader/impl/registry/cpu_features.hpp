// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/arm64_features.hpp"
#include "tenon/core/x86_features.hpp"
#include "tenon/host/loader/registry/cpu_features.hpp"
#if defined(_WIN32)
#include "tenon/host/platform/impl/windows/cpuinfo.hpp"
#else
#include "tenon/host/platform/impl/posix/cpuinfo.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Between words; a text that was recorded elsewhere may have carriage returns.
inline constexpr std::string_view blanks = " \t\r";

inline void append_words(std::string_view text, std::string_view separators,
                         std::vector<std::string>& out) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    if (end != begin) out.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// The words of `bit_names` whose bits are set, the lowest bit first.
inline void append_bits(std::uint64_t bits, std::string_view bit_names,
                        std::vector<std::string>& out) {
  std::vector<std::string> words;
  append_words(bit_names, " ", words);
  for (std::size_t bit = 0; bit < words.size(); ++bit) {
    if ((bits >> bit & 1) != 0) out.push_back(std::move(words[bit]));
  }
}

/// "rv64imafdc_zba_zbb" as "i", "m", ... "zba", "zbb".
inline void append_riscv(std::string_view isa, std::vector<std::string>& out) {
  constexpr std::string_view separators = "_ \t\r";
  isa.remove_prefix(std::min(isa.find_first_not_of(separators), isa.size()));
  if (!isa.starts_with("rv32") && !isa.starts_with("rv64")) return;
  constexpr std::size_t prefix = 4;
  const std::size_t end = std::min(isa.find_first_of(separators), isa.size());
  for (const char letter : isa.substr(prefix, end - prefix)) out.emplace_back(1, letter);
  append_words(isa.substr(end), separators, out);
}

/// Appends the levels of the x86-64 psABI above the first all of whose features are in `names`.
inline void append_x86_levels(std::vector<std::string>& names) {
  X86FeatureSet found = x86_features_of_level(1);
  for (const std::string& name : names) {
    if (const auto feature = find_x86_feature(name)) found.set(*feature);
  }
  const unsigned highest = x86_level_of_processor(found);
  for (unsigned level = 2; level <= highest; ++level) names.emplace_back(x86_levels[level - 1]);
}

/// The features of the first processor in the text of Linux' /proc/cpuinfo, of any machine.
[[nodiscard]] inline std::vector<std::string> names_in_cpuinfo(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < text.size() && names.empty();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view key = line.substr(0, colon);
    key = key.substr(0, key.find_last_not_of(" \t") + 1);
    const std::string_view value = line.substr(colon + 1);
    if (key == "flags") {
      append_words(value, blanks, names);
      append_x86_levels(names);
    } else if (key == "Features") {
      append_words(value, blanks, names);
    } else if (key == "isa") {
      append_riscv(value, names);
    }
  }
  return names;
}

/// The features of an arm64 machine by the words that Linux gives each process (`AT_HWCAP` and
/// `AT_HWCAP2` of `getauxval`). They are there without /proc. Under an emulator they describe the
/// emulated machine, where /proc/cpuinfo describes the real one. A newer kernel's bit has no name
/// here and is passed over.
[[nodiscard]] inline std::vector<std::string> arm64_names(std::uint64_t hwcap,
                                                          std::uint64_t hwcap2) {
  std::vector<std::string> names;
  append_bits(hwcap, arm64_hwcap_names, names);
  append_bits(hwcap2, arm64_hwcap2_names, names);
  return names;
}

/// The features of a 32-bit ARM machine by these words, whose bits have other meanings there.
[[nodiscard]] inline std::vector<std::string> arm_names(std::uint64_t hwcap, std::uint64_t hwcap2) {
  std::vector<std::string> names;
  append_bits(
      hwcap,
      "swp half thumb 26bit fastmult fpa vfp edsp java iwmmxt crunch thumbee neon vfpv3 vfpv3d16 "
      "tls vfpv4 idiva idivt vfpd32 lpae evtstrm fphp asimdhp asimddp asimdfhm asimdbf16 i8mm",
      names);
  append_bits(hwcap2, "aes pmull sha1 sha2 crc32 sb ssbs", names);
  return names;
}

/// The features of this machine, as the system orders them.
[[nodiscard]] inline std::vector<std::string> names_of_this_machine() {
#if defined(__linux__) && defined(__aarch64__)
  return arm64_names(platform::hwcap(), platform::hwcap2());
#elif defined(__linux__) && defined(__arm__)
  return arm_names(platform::hwcap(), platform::hwcap2());
#else
  return names_in_cpuinfo(platform::cpuinfo());
#endif
}

}  // namespace detail

/// Reads the features of the first processor in the text of Linux' /proc/cpuinfo, of any machine.
[[nodiscard]] inline CpuFeatures parse_cpuinfo(std::string_view text) {
  return CpuFeatures(detail::names_in_cpuinfo(text));
}

/// The features of an arm64 machine, as `detail::arm64_names`.
[[nodiscard]] inline CpuFeatures arm64_features(std::uint64_t hwcap, std::uint64_t hwcap2) {
  return CpuFeatures(detail::arm64_names(hwcap, hwcap2));
}

/// `CpuFeatures` of a 32-bit ARM machine.
[[nodiscard]] inline CpuFeatures arm_features(std::uint64_t hwcap, std::uint64_t hwcap2) {
  return CpuFeatures(detail::arm_names(hwcap, hwcap2));
}

}}}  // namespace tenon::TENON_RELEASE::host
