// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE {

/// The features of arm64 processors by the words that Linux gives each process (`AT_HWCAP` and
/// `AT_HWCAP2` of `getauxval`): the name of each bit as in /proc/cpuinfo, the lowest bit first.
/// A bit beyond them is of a newer kernel.
inline constexpr std::string_view arm64_hwcap_names =
    "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma "
    "lrcpc dcpop sha3 sm3 sm4 asimddp sha512 sve asimdfhm dit uscat ilrcpc flagm ssbs sb paca "
    "pacg gcs";
inline constexpr std::string_view arm64_hwcap2_names =
    "dcpodp sve2 sveaes svepmull svebitperm svesha3 svesm4 flagm2 frint svei8mm svef32mm "
    "svef64mm svebf16 i8mm bf16 dgh rng bti mte ecv afp rpres mte3 sme smei16i64 smef64f64 "
    "smei8i32 smef16f32 smeb16f32 smef32f32 smefa64 wfxt ebf16 sveebf16 cssc rprfm sve2p1 sme2 "
    "sme2p1 smei16i32 smebi32i32 smeb16b16 smef16f16 mops hbc sveb16b16 lrcpc3 lse128 fpmr lut "
    "faminmax f8cvt f8fma f8dp4 f8dp2 f8e4m3 f8e5m2 smelutv2 smef8f16 smef8f32 smesf8fma "
    "smesf8dp4 smesf8dp2";

/// Whether the bit of `feature` is set in `word`, whose bits have the names in `names`.
[[nodiscard]] constexpr bool has_named_bit(std::uint64_t word, std::string_view names,
                                           std::string_view feature) noexcept {
  for (; !names.empty(); word >>= 1) {
    const std::size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == feature) return (word & 1) != 0;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

/// Whether an arm64 processor with these words has `feature`. False for an unknown name.
[[nodiscard]] constexpr bool arm64_has(std::string_view feature, std::uint64_t hwcap,
                                       std::uint64_t hwcap2) noexcept {
  return has_named_bit(hwcap, arm64_hwcap_names, feature) ||
         has_named_bit(hwcap2, arm64_hwcap2_names, feature);
}

}}  // namespace tenon::TENON_RELEASE
