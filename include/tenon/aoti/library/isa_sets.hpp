// SPDX-License-Identifier: MIT
#pragma once

#include <iterator>
#include <optional>
#include <string_view>

#include "tenon/core/x86_features.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// A group of instructions, by the name that Intel's XED gave it, which Zydis uses as well
/// (`ZydisISASetGetString`), and the features that a processor needs for them.
struct IsaSet {
  std::string_view name;
  std::string_view features[2];  ///< Names of `x86_features`; an empty name means no feature.
};

/// Groups outside of x86-64's first level. The groups of AVX-512 have one row for all their vector
/// lengths, which `features_of_isa_set` removes from the name.
inline constexpr IsaSet isa_sets[] = {
    {"ADOX_ADCX", {"adx"}},
    {"AES", {"aes"}},
    {"AMD3DNOW", {"3dnow"}},
    {"AMX_BF16", {"amx_bf16", "amx_tile"}},
    {"AMX_COMPLEX", {"amx_complex", "amx_tile"}},
    {"AMX_FP16", {"amx_fp16", "amx_tile"}},
    {"AMX_INT8", {"amx_int8", "amx_tile"}},
    {"AMX_TILE", {"amx_tile"}},
    {"AVX", {"avx"}},
    {"AVX2", {"avx2"}},
    {"AVX2GATHER", {"avx2"}},
    {"AVXAES", {"aes", "avx"}},
    {"AVX_GFNI", {"gfni", "avx"}},
    {"AVX_IFMA", {"avx_ifma"}},
    {"AVX_NE_CONVERT", {"avx_ne_convert"}},
    {"AVX_VNNI", {"avx_vnni"}},
    {"AVX_VNNI_INT16", {"avx_vnni_int16"}},
    {"AVX_VNNI_INT8", {"avx_vnni_int8"}},
    {"AVX512F", {"avx512f"}},
    {"AVX512BW", {"avx512bw"}},
    {"AVX512CD", {"avx512cd"}},
    {"AVX512DQ", {"avx512dq"}},
    {"AVX512ER", {"avx512er"}},
    {"AVX512PF", {"avx512pf"}},
    {"AVX512_4FMAPS", {"avx512_4fmaps"}},
    {"AVX512_4VNNIW", {"avx512_4vnniw"}},
    {"AVX512_BF16", {"avx512_bf16"}},
    {"AVX512_BITALG", {"avx512_bitalg"}},
    {"AVX512_FP16", {"avx512_fp16"}},
    {"AVX512_GFNI", {"gfni", "avx512f"}},
    {"AVX512_IFMA", {"avx512ifma"}},
    {"AVX512_VAES", {"vaes", "avx512f"}},
    {"AVX512_VBMI", {"avx512vbmi"}},
    {"AVX512_VBMI2", {"avx512_vbmi2"}},
    {"AVX512_VNNI", {"avx512_vnni"}},
    {"AVX512_VP2INTERSECT", {"avx512_vp2intersect"}},
    {"AVX512_VPCLMULQDQ", {"vpclmulqdq", "avx512f"}},
    {"AVX512_VPOPCNTDQ", {"avx512_vpopcntdq"}},
    {"BMI1", {"bmi1"}},
    {"BMI2", {"bmi2"}},
    {"CLFLUSHOPT", {"clflushopt"}},
    {"CLWB", {"clwb"}},
    {"CLZERO", {"clzero"}},
    {"CMPCCXADD", {"cmpccxadd"}},
    {"CMPXCHG16B", {"cx16"}},
    {"ENQCMD", {"enqcmd"}},
    {"F16C", {"f16c"}},
    {"FMA", {"fma"}},
    {"FMA4", {"fma4"}},
    {"GFNI", {"gfni"}},
    {"LAHF", {"lahf_lm"}},
    {"LWP", {"lwp"}},
    {"LZCNT", {"abm"}},
    {"MONITORX", {"mwaitx"}},
    {"MOVBE", {"movbe"}},
    // MOVDIRI and MOVDIR64B, which all processors have together.
    {"MOVDIR", {"movdiri", "movdir64b"}},
    {"PCLMULQDQ", {"pclmulqdq"}},
    {"PKU", {"ospke"}},
    {"POPCNT", {"popcnt"}},
    {"RAO_INT", {"rao_int"}},
    {"RDPID", {"rdpid"}},
    {"RDPRU", {"rdpru"}},
    {"RDRAND", {"rdrand"}},
    {"RDSEED", {"rdseed"}},
    {"RDTSCP", {"rdtscp"}},
    {"RDWRFSGS", {"fsgsbase"}},
    {"RTM", {"rtm"}},
    {"SERIALIZE", {"serialize"}},
    {"SHA", {"sha_ni"}},
    {"SHA512", {"sha512"}},
    {"SM3", {"sm3"}},
    {"SM4", {"sm4"}},
    {"SSE3", {"pni"}},
    {"SSE3X87", {"pni"}},
    {"SSE4", {"sse4_1"}},
    {"SSE42", {"sse4_2"}},
    {"SSE4A", {"sse4a"}},
    {"SSSE3", {"ssse3"}},
    {"SSSE3MMX", {"ssse3"}},
    {"TBM", {"tbm"}},
    {"TSX_LDTRK", {"tsxldtrk"}},
    {"UINTR", {"uintr"}},
    {"VAES", {"vaes", "avx"}},
    {"VPCLMULQDQ", {"vpclmulqdq", "avx"}},
    {"WAITPKG", {"waitpkg"}},
    {"XOP", {"xop"}},
    {"XSAVE", {"xsave"}},
    {"XSAVEC", {"xsavec"}},
    {"XSAVEOPT", {"xsaveopt"}},
};

/// Groups that run on every x86-64 processor, also because an older one takes them for no
/// operation (CET, CLDEMOTE, MPX, prefetches), and groups that no compiler emits: of the system, of
/// other architectures, and of single makers.
inline constexpr std::string_view isa_sets_without_feature[] = {
    "AMD",
    "AMD_INVLPGB",
    "CET",
    "CLDEMOTE",
    "CLFSH",
    "CMOV",
    "FAT_NOP",
    "FCMOV",
    "FCOMI",
    "FXSAVE",
    "FXSAVE64",
    "HRESET",
    "I186",
    "I286PROTECTED",
    "I286REAL",
    "I386",
    "I486",
    "I486REAL",
    "I86",
    "ICACHE_PREFETCH",
    "INVPCID",
    "KEYLOCKER",
    "KEYLOCKER_WIDE",
    "KNCE",
    "KNCJKBR",
    "KNCSTREAM",
    "KNCV",
    "KNC_MISC",
    "KNC_PF_HINT",
    "LONGMODE",
    "MCOMMIT",
    "MONITOR",
    "MPX",
    "MSRLIST",
    "PADLOCK_ACE",
    "PADLOCK_PHE",
    "PADLOCK_PMM",
    "PADLOCK_RNG",
    "PAUSE",
    "PBNDKB",
    "PCOMMIT",
    "PCONFIG",
    "PENTIUMMMX",
    "PENTIUMREAL",
    "PPRO",
    "PREFETCHWT1",
    "PREFETCH_NOP",
    "PT",
    "RDPMC",
    "SGX",
    "SGX_ENCLV",
    "SMAP",
    "SMX",
    "SNP",
    "SSE",
    "SSE2",
    "SSE2MMX",
    "SSEMXCSR",
    "SSE_PREFETCH",
    "SVM",
    "TDX",
    "VMFUNC",
    "VTX",
    "WRMSRNS",
    "X87",
    "XSAVES",
    "INVALID",
};

/// The features that instructions of a group need; nothing for a group of neither table.
[[nodiscard]] inline std::optional<X86FeatureSet> features_of_isa_set(
    std::string_view name) noexcept {
  X86FeatureSet out;
  const auto add = [&](std::string_view feature) {
    if (const auto place = find_x86_feature(feature)) out.set(*place);
  };
  if (name.starts_with("AVX512")) {
    // The forms of 128 and 256 bits need avx512vl besides; "128N" has 128 bits and does not.
    for (const std::string_view form : {"_128", "_256", "_512", "_128N", "_KOP", "_SCALAR"}) {
      if (!name.ends_with(form)) continue;
      if (form == "_128" || form == "_256") add("avx512vl");
      name.remove_suffix(form.size());
      break;
    }
    add("avx512f");
  }
  for (const IsaSet& set : isa_sets) {
    if (set.name != name) continue;
    for (const std::string_view feature : set.features) add(feature);
    return out;
  }
  for (const std::string_view one : isa_sets_without_feature) {
    if (one == name) return out;
  }
  return std::nullopt;
}

}}}  // namespace tenon::TENON_RELEASE::aoti
