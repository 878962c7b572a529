// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#if defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/aoti/library/code_features.hpp"
#include "tenon/aoti/library/elf_editor.hpp"
#include "tenon/aoti/shims/shim.hpp"
#include "tenon/core/aoti_names.hpp"
#include "tenon/core/arm64_features.hpp"
#include "tenon/core/x86_features.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

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
/// and closed again; a library that is named by a path counts as missing.
struct ModelRequirements {
  std::vector<std::string> missing_functions;
  std::vector<std::string> missing_libraries;
  std::vector<std::string> missing_versions;  ///< "GLIBC_2.38 of libc.so.6".
  std::vector<std::string> missing_cpu_features;
  /// Levels of x86-64 that the code needs and that this processor has; empty when they are the
  /// same.
  std::string_view level_of_code, level_here;

  [[nodiscard]] bool met() const noexcept {
    return missing_functions.empty() && missing_libraries.empty() && missing_versions.empty() &&
           missing_cpu_features.empty();
  }

  /// A message that names everything that is missing: operators, with the functions that compute
  /// them, element types, then other functions; and what avoids them when the model is exported.
  [[nodiscard]] std::string text() const {
    std::vector<std::string> operators;
    std::vector<std::string> functions;
    std::vector<std::string> types;
    bool asks_for_proxy = false;
    for (const std::string& function : missing_functions) {
      const std::string_view name = operator_of(function);
      asks_for_proxy = asks_for_proxy || shim_name(function) == proxy_executor_function;
      if (is_of_lacking_type(shim_name(function))) {
        types.push_back(concat(shim_name(function).substr(dtype_prefix.size()), " (",
                               std::string_view(function), ")"));
      } else if (name.empty()) {
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
    append("element type", types);
    append("function", functions);
    append("needed library", missing_libraries);
    append("symbol version", missing_versions);
    append("CPU feature", missing_cpu_features);
    if (!level_of_code.empty()) {
      out += concat(" (the model was compiled for ", level_of_code, "; this processor has ",
                    level_here, ")");
    }
    if (!types.empty()) out += concat("; ", lacking_types_advice);
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

/// True when this processor and its system support a feature ("avx2", "avx512f", "i8mm"): names as
/// in a plugin's record, the names in /proc/cpuinfo, and on x86-64 the levels of the psABI. False
/// for an unknown name. On other systems than Linux for x86-64 and arm64 it is not known, and true.
[[nodiscard]] inline bool cpu_supports(std::string_view feature) noexcept {
#if defined(__x86_64__)
  static const X86FeatureSet here = read_x86_features();
  const auto needed = x86_features_of(feature);
  return needed && (*needed & ~here).none();
#elif defined(__linux__) && defined(__aarch64__)
  return arm64_has(feature, ::getauxval(AT_HWCAP), ::getauxval(AT_HWCAP2));
#else
  static_cast<void>(feature);
  return true;
#endif
}

namespace detail {

/// Features that a library itself shows without its instructions: those that its compiler recorded
/// (x86-64 psABI, GNU_PROPERTY_X86_ISA_1_NEEDED), and the width of the vector functions that it
/// calls.
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

/// Fills in what `supports` denies of `needed`, without repetitions, and the levels of x86-64.
inline void find_missing_features(std::span<const std::string_view> needed,
                                  bool (*supports)(std::string_view) noexcept,
                                  ModelRequirements& out) {
  for (const std::string_view feature : needed) {
    auto& missing = out.missing_cpu_features;
    if (supports(feature) || std::find(missing.begin(), missing.end(), feature) != missing.end()) {
      continue;
    }
    missing.emplace_back(feature);
  }
#if defined(__x86_64__)
  if (out.missing_cpu_features.empty()) return;
  X86FeatureSet code, here;
  for (const std::string_view feature : needed) {
    if (const auto features = x86_features_of(feature)) code |= *features;
  }
  for (std::size_t i = 0; i < std::size(x86_features); ++i) {
    here.set(i, supports(x86_features[i].name));
  }
  if (x86_level_of_code(code) <= x86_level_of_processor(here)) return;
  out.level_of_code = x86_levels[x86_level_of_code(code) - 1];
  out.level_here = x86_levels[x86_level_of_processor(here) - 1];
#endif
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
/// `supports` returns whether the processor has a feature. `features` are what is known of its
/// instructions; when that is nothing, the functions that it calls show some.
[[nodiscard]] inline Result<ModelRequirements> check_requirements(
    const ElfEditor& library, const FindShim& find_shim,
    bool (*supports)(std::string_view) noexcept = &cpu_supports,
    std::span<const std::string_view> served = {}, const CodeFeatures& features = {}) {
  ModelRequirements out;
  for (const DynamicSymbol& symbol : library.symbols()) {
    if (!symbol.is_undefined || symbol.is_weak || symbol.is_versioned) continue;
    if (!find_shim(shim_name(symbol.name))) out.missing_functions.emplace_back(symbol.name);
  }
  for (const std::string_view name : library.needed()) {
    if (is_served(name, served)) continue;
    std::string path(name);
    if (!detail::library_exists(path)) out.missing_libraries.push_back(std::move(path));
  }
  std::vector<std::string_view> needed(features.names.begin(), features.names.end());
  const std::span<const DynamicSymbol> evidence = library.symbols();
  for (const std::string_view feature : detail::features_used(
           library.isa_needed(), features.is_known ? evidence.first(0) : evidence)) {
    needed.push_back(feature);
  }
  detail::find_missing_features(needed, supports, out);
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::aoti
