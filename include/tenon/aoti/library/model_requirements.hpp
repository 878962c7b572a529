// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/aoti/library/elf_editor.hpp"
#include "tenon/aoti/shims/shim.hpp"
#include "tenon/core/aoti_names.hpp"

namespace tenon::aoti {

/// The operator that a function of PyTorch's C shim computes: "avg_pool3d" of
/// aoti_torch_cpu_avg_pool3d. Empty for a function that is no operator, and for operators whose
/// function is named without a device: aoti_torch_scatter_out and aoti_torch_index_put_out.
[[nodiscard]] constexpr std::string_view operator_of(std::string_view function) noexcept {
  function = shim_name(function);
  for (const std::string_view prefix : {"aoti_torch_cpu_", "aoti_torch_cuda_", "aoti_torch_mps_"}) {
    if (function.starts_with(prefix)) return function.substr(prefix.size());
  }
  return {};
}

/// Requirements of a model's library that are missing here. Found by reading it, without loading
/// it. Of the libraries that it needs, those that the dynamic loader finds by their name are opened
/// and closed again; one that is named by a path counts as missing.
struct ModelRequirements {
  std::vector<std::string> missing_functions;
  std::vector<std::string> missing_libraries;
  std::vector<std::string> missing_versions;  ///< "GLIBC_2.38 of libc.so.6".
  std::vector<std::string> missing_cpu_features;

  [[nodiscard]] bool met() const noexcept {
    return missing_functions.empty() && missing_libraries.empty() && missing_versions.empty() &&
           missing_cpu_features.empty();
  }

  /// A message that names everything that is missing: operators, with the functions that compute
  /// them, then other functions; and what avoids them when the model is exported.
  [[nodiscard]] std::string text() const {
    std::vector<std::string> operators;
    std::vector<std::string> functions;
    bool asks_for_proxy = false;
    for (const std::string& function : missing_functions) {
      const std::string_view name = operator_of(function);
      asks_for_proxy = asks_for_proxy || shim_name(function) == proxy_executor_function;
      if (name.empty()) {
        functions.push_back(function);
      } else {
        operators.push_back(concat(name, " (", std::string_view(function), ")"));
      }
    }
    std::string out;
    const auto append = [&](std::string_view what, const std::vector<std::string>& names) {
      if (names.empty()) return;
      out += concat(out.empty() ? "" : "; ", names.size(), " ", what, names.size() > 1 ? "s" : "");
      for (std::size_t i = 0; i < names.size(); ++i) {
        out += concat(i == 0 ? ": " : ", ", std::string_view(names[i]));
      }
    };
    append("operator", operators);
    append("function", functions);
    append("needed library", missing_libraries);
    append("symbol version", missing_versions);
    append("CPU feature", missing_cpu_features);
    if (asks_for_proxy) {
      out += concat("; ", proxy_executor_function,
                    " runs operators that have no function in PyTorch's C shim, and the program "
                    "does not describe them: pack the model with tenon-compile --aoti, or have "
                    "them decomposed when the model is exported (run_decompositions)");
    }
    if (!operators.empty()) {
      out +=
          "; an operator can be decomposed or left outside of the delegate when the model is "
          "exported (docs/aoti/operators.md)";
    }
    return "the model needs what is missing here: " + out;
  }
};

/// True when this processor and its system support a feature ("avx2", "avx512f"; the names are
/// those of /proc/cpuinfo). Asks the processor itself: the compiler's __builtin_cpu_supports adds a
/// static constructor, which a plugin must not have.
[[nodiscard]] inline bool cpu_supports(std::string_view feature) noexcept {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  // The registers that the system saves: Intel SDM, volume 1, chapters 14 and 15.
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & bit_OSXSAVE) == 0) return false;
  const bool fma = (ecx & bit_FMA) != 0;
  const bool f16c = (ecx & bit_F16C) != 0;
  unsigned saved = 0, high = 0;
  __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (saved & 0x6u) != 0x6u) return false;
  if (feature == "fma") return fma;
  if (feature == "f16c") return f16c;
  if (feature == "avx2") return (ebx & bit_AVX2) != 0;
  if ((saved & 0xe6u) != 0xe6u) return false;
  if (feature == "avx512f") return (ebx & bit_AVX512F) != 0;
  if (feature == "avx512bw") return (ebx & bit_AVX512BW) != 0;
  if (feature == "avx512dq") return (ebx & bit_AVX512DQ) != 0;
  if (feature == "avx512vl") return (ebx & bit_AVX512VL) != 0;
  if (feature == "avx512_vnni") return (ecx & bit_AVX512VNNI) != 0;
  if (feature == "avx512_bf16") {
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & bit_AVX512BF16) != 0;
  }
  return false;
#else
  static_cast<void>(feature);
  return true;
#endif
}

namespace detail {

/// Features that a library is known to use: those that its compiler recorded (x86-64 psABI,
/// GNU_PROPERTY_X86_ISA_1_NEEDED), and the width of the vector functions that it calls.
inline std::vector<std::string_view> features_used(std::uint32_t isa_needed,
                                                   std::span<const DynamicSymbol> symbols) {
  bool avx2 = (isa_needed & 4u) != 0;
  bool avx512 = (isa_needed & 8u) != 0;
  for (const DynamicSymbol& symbol : symbols) {
    // Names of SLEEF contain the number of elements: Sleef_expf8_u10, Sleef_expd4_u10.
    if (!symbol.is_undefined || !symbol.name.starts_with("Sleef_")) continue;
    const auto has = [&](std::string_view part) {
      return symbol.name.find(part) != std::string_view::npos;
    };
    avx512 = avx512 || has("f16_") || has("d8_");
    avx2 = avx2 || has("f8_") || has("d4_");
  }
  constexpr std::string_view all[] = {"avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"};
  const std::size_t count = avx512 ? std::size(all) : avx2 ? 2 : 0;
  return {std::begin(all), std::begin(all) + count};
}

/// True when the dynamic loader finds a library by its name. A name with a slash is a path, that
/// the author of the model chose, and opening a library runs its constructors: it is not opened.
inline bool library_exists(const std::string& name) noexcept {
  if (name.find('/') != std::string::npos) return false;
  void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle) ::dlclose(handle);
  return handle != nullptr;
}

}  // namespace detail

/// True when a backend provides everything that models need from a library of this name. `served`
/// are names without a version: "libcuda.so" also matches "libcuda.so.1".
[[nodiscard]] inline bool is_served(std::string_view library,
                                    std::span<const std::string_view> served) noexcept {
  for (const std::string_view name : served) {
    if (library == name || (library.starts_with(name) && library[name.size()] == '.')) return true;
  }
  return false;
}

/// Finds the requirements of a library that are missing here.
///
/// A function that the library requires from a library it names is left to the dynamic loader; any
/// other must be found by `find_shim` (by its `shim_name`), also those of the `served` libraries.
/// `supports` returns whether the processor has a feature.
[[nodiscard]] inline Result<ModelRequirements> check_requirements(
    const ElfEditor& library, const FindShim& find_shim,
    bool (*supports)(std::string_view) noexcept = &cpu_supports,
    std::span<const std::string_view> served = {}) {
  TENON_TRY(const std::vector<DynamicSymbol> symbols, library.symbols());
  ModelRequirements out;
  for (const DynamicSymbol& symbol : symbols) {
    if (!symbol.is_undefined || symbol.is_weak || symbol.is_versioned) continue;
    if (!find_shim(shim_name(symbol.name))) out.missing_functions.emplace_back(symbol.name);
  }
  for (const std::string_view name : library.needed()) {
    if (is_served(name, served)) continue;
    std::string path(name);
    if (!detail::library_exists(path)) out.missing_libraries.push_back(std::move(path));
  }
  for (const std::string_view feature : detail::features_used(library.isa_needed(), symbols)) {
    if (!supports(feature)) out.missing_cpu_features.emplace_back(feature);
  }
  return out;
}

}  // namespace tenon::aoti
