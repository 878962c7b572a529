// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/core/concat.hpp"

/// The names by which programs and backends of AOTInductor models find each other's data. They are
/// an interface: files that exist have them, so the backends and the writer take them from here
/// (ExecuTorch: backends/aoti/aoti_backend.py).
namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// A device of AOTInductor models. `name` is the public one, from which the names of files derive;
/// `torch_name` is PyTorch's, for which a model is compiled and created. They differ for Metal
/// alone: a blob is called "aoti_metal_blob", never "aoti_mps_blob" (ExecuTorch PR #15528).
struct ModelDevice {
  std::string_view name;
  std::string_view torch_name;
  std::string_view backend_id;  ///< Of ExecuTorch's backend for it.
  bool weights_in_own_file;     ///< ExecuTorch's `save_data_externally`.
};

inline constexpr ModelDevice model_devices[] = {
    {"cpu", "cpu", "CpuAotiBackend", false},
    {"cuda", "cuda", "CudaBackend", true},
    {"metal", "mps", "MetalBackend", false},
};

/// The device of PyTorch's name, with or without an index ("cuda:1"); null when it is unknown.
[[nodiscard]] constexpr const ModelDevice* find_torch_device(std::string_view torch_name) noexcept {
  torch_name = torch_name.substr(0, torch_name.find(':'));
  for (const ModelDevice& one : model_devices) {
    if (one.torch_name == torch_name) return &one;
  }
  return nullptr;
}

/// PyTorch's name of the device with the public name `name`: the same, except for "metal".
[[nodiscard]] constexpr std::string_view torch_device_of(std::string_view name) noexcept {
  for (const ModelDevice& one : model_devices) {
    if (one.name == name) return one.torch_name;
  }
  return name;
}

/// Tag of weights outside of the program: they are in the file of this name + ".ptd".
[[nodiscard]] inline std::string external_tag(std::string_view device_name) {
  return concat("aoti_", device_name, "_blob");
}

/// The function through which a model calls each operator that has none in PyTorch's C shim.
inline constexpr std::string_view proxy_executor_function =
    "aoti_torch_proxy_executor_call_function";

/// The functions by which a model asks for the numbers of element types begin so.
inline constexpr std::string_view dtype_prefix = "aoti_torch_dtype_";

/// An element type of PyTorch that ExecuTorch's tensors lack (`c10::ScalarType`, from torch 2.12
/// on).
struct LackingType {
  std::int32_t number;
  std::string_view name;
};

/// The types of the scales of MX and NVFP4 weights, and of two numbers of 4 bits.
inline constexpr LackingType lacking_types[] = {{44, "float8_e8m0fnu"}, {45, "float4_e2m1fn_x2"}};

/// The name of such a type; empty for other numbers.
[[nodiscard]] constexpr std::string_view name_of_lacking_type(std::int32_t number) noexcept {
  for (const LackingType& one : lacking_types) {
    if (one.number == number) return one.name;
  }
  return {};
}

/// True for a model's function that asks for the number of such a type.
[[nodiscard]] constexpr bool is_of_lacking_type(std::string_view function) noexcept {
  if (!function.starts_with(dtype_prefix)) return false;
  for (const LackingType& one : lacking_types) {
    if (one.name == function.substr(dtype_prefix.size())) return true;
  }
  return false;
}

/// The end of a refusal of such a type.
inline constexpr std::string_view lacking_types_advice =
    "MX and NVFP4 weights have types that ExecuTorch's tensors lack; quantise them to int4, int5, "
    "int6 or int8, or unpack them, when the model is exported";

/// Keys of a model's library and weights. `prefix` is the name of the method, or the SHA-256 of the
/// content in hexadecimal digits; with an empty one the keys have no prefix.
[[nodiscard]] inline std::string library_key(std::string_view prefix) {
  return concat(prefix, prefix.empty() ? "" : "_", "so_blob");
}
[[nodiscard]] inline std::string weights_key(std::string_view prefix) {
  return concat(prefix, prefix.empty() ? "" : "_", "weights_blob");
}
/// Key of the description of the operators that the model under `library_key` calls by number
/// (AOTInductor's `extern_kernel_nodes.json`), where it has one. ExecuTorch's exporter drops it.
[[nodiscard]] inline std::string operator_calls_key(std::string_view library_key) {
  constexpr std::string_view end = "so_blob";
  if (library_key.ends_with(end)) library_key.remove_suffix(end.size());
  return concat(library_key, "extern_kernel_nodes");
}
/// Key of the CPU features that the code of the library under `library_key` needs, where its
/// exporter wrote them: names as in a plugin's record, with commas between them ("avx2,fma"); on
/// x86-64 also a level of the psABI ("x86-64-v3"). An empty list says that the code runs on every
/// processor of its machine. Tenon's addition, which ExecuTorch ignores.
[[nodiscard]] inline std::string cpu_features_key(std::string_view library_key) {
  constexpr std::string_view end = "so_blob";
  if (library_key.ends_with(end)) library_key.remove_suffix(end.size());
  return concat(library_key, "cpu_features");
}

}}}  // namespace tenon::TENON_RELEASE::aoti
