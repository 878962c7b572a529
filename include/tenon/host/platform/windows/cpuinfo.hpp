// SPDX-License-Identifier: MIT
#pragma once

#if defined(__x86_64__) || defined(_M_X64) || defined(__i386__) || defined(_M_IX86)
#define TENON_DETAIL_HAS_CPUID 1
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

#include <array>
#include <cstdint>
#include <string>

namespace tenon::host::platform {

/// The features of the processor, in the form of Linux' /proc/cpuinfo: a line "flags : sse2 avx2
/// ...". Read from CPUID (Intel's manual, volume 2, and AMD's, volume 3, appendix E); features
/// whose registers the system does not keep are left out. Empty on other processors than x86.
[[nodiscard]] inline std::string cpuinfo() {
  std::string out;
#if defined(TENON_DETAIL_HAS_CPUID)
  enum Register : std::uint8_t { eax, ebx, ecx, edx };
  using Leaf = std::array<std::uint32_t, 4>;
  const auto leaf = [](std::uint32_t number, std::uint32_t part) {
    Leaf found{};
#if defined(_MSC_VER)
    int values[4];
    __cpuidex(values, static_cast<int>(number), static_cast<int>(part));
    for (int i = 0; i < 4; ++i) found[i] = static_cast<std::uint32_t>(values[i]);
#else
    __cpuid_count(number, part, found[eax], found[ebx], found[ecx], found[edx]);
#endif
    return found;
  };
  const std::uint32_t most = leaf(0, 0)[eax];
  const Leaf basic = leaf(1, 0);
  const Leaf further = most >= 7 ? leaf(7, 0) : Leaf{};
  const Leaf further_1 = most >= 7 && further[eax] >= 1 ? leaf(7, 1) : Leaf{};
  const Leaf extended = leaf(0x80000000, 0)[eax] >= 0x80000001 ? leaf(0x80000001, 0) : Leaf{};
  // XCR0: which registers the system saves. Bits 1, 2: SSE and AVX; 5 to 7: AVX-512; 17, 18: AMX.
  std::uint64_t saved = 0;
  if ((basic[ecx] >> 27 & 1) != 0) {
#if defined(_MSC_VER)
    saved = _xgetbv(0);
#else
    std::uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    saved = std::uint64_t{high} << 32 | low;
#endif
  }
  constexpr std::uint64_t none = 0, avx = 0x6, avx512 = 0xe6, amx = 0x60000;
  struct Flag {
    const Leaf& leaf;
    Register where;
    unsigned bit;
    std::uint64_t needs;
    const char* name;
  };
  const Flag flags[] = {
      {basic, edx, 25, none, "sse"},
      {basic, edx, 26, none, "sse2"},
      {basic, ecx, 0, none, "pni"},
      {basic, ecx, 1, none, "pclmulqdq"},
      {basic, ecx, 9, none, "ssse3"},
      {basic, ecx, 12, avx, "fma"},
      {basic, ecx, 13, none, "cx16"},
      {basic, ecx, 19, none, "sse4_1"},
      {basic, ecx, 20, none, "sse4_2"},
      {basic, ecx, 22, none, "movbe"},
      {basic, ecx, 23, none, "popcnt"},
      {basic, ecx, 25, none, "aes"},
      {basic, ecx, 27, none, "xsave"},
      {basic, ecx, 28, avx, "avx"},
      {basic, ecx, 29, avx, "f16c"},
      {extended, ecx, 0, none, "lahf_lm"},
      {extended, ecx, 5, none, "abm"},
      {further, ebx, 3, none, "bmi1"},
      {further, ebx, 5, avx, "avx2"},
      {further, ebx, 8, none, "bmi2"},
      {further, ebx, 16, avx512, "avx512f"},
      {further, ebx, 17, avx512, "avx512dq"},
      {further, ebx, 28, avx512, "avx512cd"},
      {further, ebx, 29, none, "sha_ni"},
      {further, ebx, 30, avx512, "avx512bw"},
      {further, ebx, 31, avx512, "avx512vl"},
      {further, ecx, 1, avx512, "avx512vbmi"},
      {further, ecx, 6, avx512, "avx512_vbmi2"},
      {further, ecx, 11, avx512, "avx512_vnni"},
      {further, edx, 22, amx, "amx_bf16"},
      {further, edx, 23, avx512, "avx512_fp16"},
      {further, edx, 24, amx, "amx_tile"},
      {further, edx, 25, amx, "amx_int8"},
      {further_1, eax, 4, avx, "avx_vnni"},
      {further_1, eax, 5, avx512, "avx512_bf16"},
  };
  out = "flags :";
  for (const Flag& flag : flags) {
    const bool has = (flag.leaf[flag.where] >> flag.bit & 1) != 0;
    if (has && (saved & flag.needs) == flag.needs) out += std::string(" ") + flag.name;
  }
  out += "\n";
#endif
  return out;
}

}  // namespace tenon::host::platform
