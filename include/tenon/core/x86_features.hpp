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

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE {

/// The answers of the instruction CPUID that have features in them: leaf 1; leaf 7, parts 0 and 1;
/// leaf 0xd, part 1; leaves 0x80000001 and 0x80000008.
enum class X86Leaf : std::uint8_t { basic, further, further_1, xsave, extended, capacity };
enum class X86Register : std::uint8_t { eax, ebx, ecx, edx };

/// Registers that the system has to save for a feature to be usable.
enum class X86State : std::uint8_t { none, avx, avx512, amx };

/// A feature of x86 processors.
struct X86Feature {
  /// As Linux spells it in /proc/cpuinfo, or would: it leaves some out, such as "avx_ifma".
  std::string_view name;
  X86Leaf leaf;
  X86Register where;
  std::uint8_t bit;
  X86State state;
  /// The lowest level of the x86-64 psABI (section 3.1.1) that includes it; 0 when none does.
  std::uint8_t level;
};

/// All features that Tenon knows by name: those that compilers emit instructions of.
/// Bits follow Intel's manual, volume 2, and AMD's, volume 3, appendix E.
inline constexpr X86Feature x86_features[] = {
    {"sse", X86Leaf::basic, X86Register::edx, 25, X86State::none, 1},
    {"sse2", X86Leaf::basic, X86Register::edx, 26, X86State::none, 1},
    {"pni", X86Leaf::basic, X86Register::ecx, 0, X86State::none, 2},
    {"pclmulqdq", X86Leaf::basic, X86Register::ecx, 1, X86State::none, 0},
    {"ssse3", X86Leaf::basic, X86Register::ecx, 9, X86State::none, 2},
    {"fma", X86Leaf::basic, X86Register::ecx, 12, X86State::avx, 3},
    {"cx16", X86Leaf::basic, X86Register::ecx, 13, X86State::none, 2},
    {"sse4_1", X86Leaf::basic, X86Register::ecx, 19, X86State::none, 2},
    {"sse4_2", X86Leaf::basic, X86Register::ecx, 20, X86State::none, 2},
    {"movbe", X86Leaf::basic, X86Register::ecx, 22, X86State::none, 3},
    {"popcnt", X86Leaf::basic, X86Register::ecx, 23, X86State::none, 2},
    {"aes", X86Leaf::basic, X86Register::ecx, 25, X86State::none, 0},
    {"xsave", X86Leaf::basic, X86Register::ecx, 27, X86State::none, 3},
    {"avx", X86Leaf::basic, X86Register::ecx, 28, X86State::avx, 3},
    {"f16c", X86Leaf::basic, X86Register::ecx, 29, X86State::avx, 3},
    {"rdrand", X86Leaf::basic, X86Register::ecx, 30, X86State::none, 0},
    {"fsgsbase", X86Leaf::further, X86Register::ebx, 0, X86State::none, 0},
    {"bmi1", X86Leaf::further, X86Register::ebx, 3, X86State::none, 3},
    {"avx2", X86Leaf::further, X86Register::ebx, 5, X86State::avx, 3},
    {"bmi2", X86Leaf::further, X86Register::ebx, 8, X86State::none, 3},
    {"rtm", X86Leaf::further, X86Register::ebx, 11, X86State::none, 0},
    {"avx512f", X86Leaf::further, X86Register::ebx, 16, X86State::avx512, 4},
    {"avx512dq", X86Leaf::further, X86Register::ebx, 17, X86State::avx512, 4},
    {"rdseed", X86Leaf::further, X86Register::ebx, 18, X86State::none, 0},
    {"adx", X86Leaf::further, X86Register::ebx, 19, X86State::none, 0},
    {"avx512ifma", X86Leaf::further, X86Register::ebx, 21, X86State::avx512, 0},
    {"clflushopt", X86Leaf::further, X86Register::ebx, 23, X86State::none, 0},
    {"clwb", X86Leaf::further, X86Register::ebx, 24, X86State::none, 0},
    {"avx512pf", X86Leaf::further, X86Register::ebx, 26, X86State::avx512, 0},
    {"avx512er", X86Leaf::further, X86Register::ebx, 27, X86State::avx512, 0},
    {"avx512cd", X86Leaf::further, X86Register::ebx, 28, X86State::avx512, 4},
    {"sha_ni", X86Leaf::further, X86Register::ebx, 29, X86State::none, 0},
    {"avx512bw", X86Leaf::further, X86Register::ebx, 30, X86State::avx512, 4},
    {"avx512vl", X86Leaf::further, X86Register::ebx, 31, X86State::avx512, 4},
    {"avx512vbmi", X86Leaf::further, X86Register::ecx, 1, X86State::avx512, 0},
    {"ospke", X86Leaf::further, X86Register::ecx, 4, X86State::none, 0},
    {"waitpkg", X86Leaf::further, X86Register::ecx, 5, X86State::none, 0},
    {"avx512_vbmi2", X86Leaf::further, X86Register::ecx, 6, X86State::avx512, 0},
    {"gfni", X86Leaf::further, X86Register::ecx, 8, X86State::none, 0},
    {"vaes", X86Leaf::further, X86Register::ecx, 9, X86State::avx, 0},
    {"vpclmulqdq", X86Leaf::further, X86Register::ecx, 10, X86State::avx, 0},
    {"avx512_vnni", X86Leaf::further, X86Register::ecx, 11, X86State::avx512, 0},
    {"avx512_bitalg", X86Leaf::further, X86Register::ecx, 12, X86State::avx512, 0},
    {"avx512_vpopcntdq", X86Leaf::further, X86Register::ecx, 14, X86State::avx512, 0},
    {"rdpid", X86Leaf::further, X86Register::ecx, 22, X86State::none, 0},
    {"movdiri", X86Leaf::further, X86Register::ecx, 27, X86State::none, 0},
    {"movdir64b", X86Leaf::further, X86Register::ecx, 28, X86State::none, 0},
    {"enqcmd", X86Leaf::further, X86Register::ecx, 29, X86State::none, 0},
    {"avx512_4vnniw", X86Leaf::further, X86Register::edx, 2, X86State::avx512, 0},
    {"avx512_4fmaps", X86Leaf::further, X86Register::edx, 3, X86State::avx512, 0},
    {"uintr", X86Leaf::further, X86Register::edx, 5, X86State::none, 0},
    {"avx512_vp2intersect", X86Leaf::further, X86Register::edx, 8, X86State::avx512, 0},
    {"serialize", X86Leaf::further, X86Register::edx, 14, X86State::none, 0},
    {"tsxldtrk", X86Leaf::further, X86Register::edx, 16, X86State::none, 0},
    {"amx_bf16", X86Leaf::further, X86Register::edx, 22, X86State::amx, 0},
    {"avx512_fp16", X86Leaf::further, X86Register::edx, 23, X86State::avx512, 0},
    {"amx_tile", X86Leaf::further, X86Register::edx, 24, X86State::amx, 0},
    {"amx_int8", X86Leaf::further, X86Register::edx, 25, X86State::amx, 0},
    {"sha512", X86Leaf::further_1, X86Register::eax, 0, X86State::avx, 0},
    {"sm3", X86Leaf::further_1, X86Register::eax, 1, X86State::avx, 0},
    {"sm4", X86Leaf::further_1, X86Register::eax, 2, X86State::avx, 0},
    {"rao_int", X86Leaf::further_1, X86Register::eax, 3, X86State::none, 0},
    {"avx_vnni", X86Leaf::further_1, X86Register::eax, 4, X86State::avx, 0},
    {"avx512_bf16", X86Leaf::further_1, X86Register::eax, 5, X86State::avx512, 0},
    {"cmpccxadd", X86Leaf::further_1, X86Register::eax, 7, X86State::none, 0},
    {"amx_fp16", X86Leaf::further_1, X86Register::eax, 21, X86State::amx, 0},
    {"avx_ifma", X86Leaf::further_1, X86Register::eax, 23, X86State::avx, 0},
    {"avx_vnni_int8", X86Leaf::further_1, X86Register::edx, 4, X86State::avx, 0},
    {"avx_ne_convert", X86Leaf::further_1, X86Register::edx, 5, X86State::avx, 0},
    {"amx_complex", X86Leaf::further_1, X86Register::edx, 8, X86State::amx, 0},
    {"avx_vnni_int16", X86Leaf::further_1, X86Register::edx, 10, X86State::avx, 0},
    {"xsaveopt", X86Leaf::xsave, X86Register::eax, 0, X86State::none, 0},
    {"xsavec", X86Leaf::xsave, X86Register::eax, 1, X86State::none, 0},
    {"lahf_lm", X86Leaf::extended, X86Register::ecx, 0, X86State::none, 2},
    {"abm", X86Leaf::extended, X86Register::ecx, 5, X86State::none, 3},
    {"sse4a", X86Leaf::extended, X86Register::ecx, 6, X86State::none, 0},
    {"xop", X86Leaf::extended, X86Register::ecx, 11, X86State::avx, 0},
    {"lwp", X86Leaf::extended, X86Register::ecx, 15, X86State::none, 0},
    {"fma4", X86Leaf::extended, X86Register::ecx, 16, X86State::avx, 0},
    {"tbm", X86Leaf::extended, X86Register::ecx, 21, X86State::none, 0},
    {"mwaitx", X86Leaf::extended, X86Register::ecx, 29, X86State::none, 0},
    {"rdtscp", X86Leaf::extended, X86Register::edx, 27, X86State::none, 0},
    {"3dnow", X86Leaf::extended, X86Register::edx, 31, X86State::none, 0},
    {"clzero", X86Leaf::capacity, X86Register::ebx, 0, X86State::none, 0},
    {"rdpru", X86Leaf::capacity, X86Register::ebx, 4, X86State::none, 0},
};

/// A set of them: bit i is for `x86_features[i]`.
using X86FeatureSet = std::bitset<std::size(x86_features)>;

/// The place of a feature in `x86_features`, or nothing for a name that is not there.
[[nodiscard]] constexpr std::optional<std::size_t> find_x86_feature(
    std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(x86_features); ++i) {
    if (x86_features[i].name == name) return i;
  }
  return std::nullopt;
}

/// Names of the psABI's levels, 1 to 4.
inline constexpr std::string_view x86_levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};

/// All features that processors of a level have.
[[nodiscard]] inline X86FeatureSet x86_features_of_level(unsigned level) noexcept {
  X86FeatureSet out;
  for (std::size_t i = 0; i < std::size(x86_features); ++i) {
    const unsigned from = x86_features[i].level;
    if (from != 0 && from <= level) out.set(i);
  }
  return out;
}

/// The feature, or all features of the level, of this name ("avx2", "x86-64-v3"); nothing for an
/// unknown name.
[[nodiscard]] inline std::optional<X86FeatureSet> x86_features_of(std::string_view name) noexcept {
  for (unsigned level = 1; level <= std::size(x86_levels); ++level) {
    if (name == x86_levels[level - 1]) return x86_features_of_level(level);
  }
  const auto place = find_x86_feature(name);
  if (!place) return std::nullopt;
  return X86FeatureSet().set(*place);
}

/// The highest level all of whose features are in `features`; 1 when none is.
[[nodiscard]] inline unsigned x86_level_of_processor(const X86FeatureSet& features) noexcept {
  unsigned level = 1;
  while (level < std::size(x86_levels) && (x86_features_of_level(level + 1) & ~features).none()) {
    ++level;
  }
  return level;
}

/// The lowest level that includes each feature of `needed` that any level has.
[[nodiscard]] inline unsigned x86_level_of_code(const X86FeatureSet& needed) noexcept {
  unsigned level = 1;
  for (std::size_t i = 0; i < std::size(x86_features); ++i) {
    if (needed.test(i) && x86_features[i].level > level) level = x86_features[i].level;
  }
  return level;
}

/// Features of this processor whose registers the system saves. Empty on others than x86.
///
/// Asks the processor itself: the compiler's __builtin_cpu_supports adds a static constructor,
/// which a plugin must not have, and /proc/cpuinfo describes the machine below an emulator.
[[nodiscard]] inline X86FeatureSet read_x86_features() noexcept {
  X86FeatureSet out;
#if defined(TENON_DETAIL_HAS_CPUID)
  std::uint32_t found[6][4] = {};  // By leaf, then register.
  const auto read = [](std::uint32_t(&into)[4], std::uint32_t number, std::uint32_t part) {
#if defined(_MSC_VER)
    int values[4];
    __cpuidex(values, static_cast<int>(number), static_cast<int>(part));
    for (int i = 0; i < 4; ++i) into[i] = static_cast<std::uint32_t>(values[i]);
#else
    __cpuid_count(number, part, into[0], into[1], into[2], into[3]);
#endif
  };
  const auto leaf = [&](X86Leaf one) -> std::uint32_t(&)[4] {
    return found[static_cast<std::size_t>(one)];
  };
  std::uint32_t most[4] = {}, most_extended[4] = {};
  read(most, 0, 0);
  read(most_extended, 0x80000000, 0);
  read(leaf(X86Leaf::basic), 1, 0);
  if (most[0] >= 7) read(leaf(X86Leaf::further), 7, 0);
  if (leaf(X86Leaf::further)[0] >= 1) read(leaf(X86Leaf::further_1), 7, 1);
  if (most[0] >= 0xd) read(leaf(X86Leaf::xsave), 0xd, 1);
  if (most_extended[0] >= 0x80000001) read(leaf(X86Leaf::extended), 0x80000001, 0);
  if (most_extended[0] >= 0x80000008) read(leaf(X86Leaf::capacity), 0x80000008, 0);
  // XCR0: the registers that the system saves (Intel's manual, volume 1, chapter 13).
  std::uint64_t saved = 0;
  if ((leaf(X86Leaf::basic)[2] >> 27 & 1) != 0) {
#if defined(_MSC_VER)
    saved = _xgetbv(0);
#else
    std::uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    saved = std::uint64_t{high} << 32 | low;
#endif
  }
  // By `X86State`. Bits 1 and 2: SSE and AVX; 5 to 7: AVX-512; 17 and 18: AMX.
  constexpr std::uint64_t states[] = {0, 0x6, 0xe6, 0x60000};
  for (std::size_t i = 0; i < std::size(x86_features); ++i) {
    const X86Feature& feature = x86_features[i];
    const std::uint64_t state = states[static_cast<std::size_t>(feature.state)];
    const std::uint32_t word = leaf(feature.leaf)[static_cast<std::size_t>(feature.where)];
    out.set(i, (word >> feature.bit & 1) != 0 && (saved & state) == state);
  }
#endif
  return out;
}

}}  // namespace tenon::TENON_RELEASE
