// SPDX-License-Identifier: MIT
//
// Apart from the rest of the sandbox: an isolated plugin needs this alone.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

#include "sandbox/sandbox.hpp"

namespace tenon::isolated {

std::string_view profile_name(Profile profile) noexcept {
  const auto number = static_cast<std::size_t>(profile);
  return number < std::size(profile_names) ? profile_names[number] : std::string_view();
}

std::optional<Profile> profile_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(profile_names, name);
  if (found == std::end(profile_names)) return std::nullopt;
  return static_cast<Profile>(found - std::begin(profile_names));
}

bool passes_environment(std::string_view name, Profile profile) noexcept {
  if (profile == Profile::open) return true;
  constexpr std::string_view names[] = {"LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH",
                                        "OPENVINO_LIB"};
  constexpr std::string_view prefixes[] = {"LC_",  "OMP_",    "GOMP_", "KMP_",     "MKL_",
                                           "TBB_", "ONEDNN_", "DNNL_", "OPENBLAS_"};
  constexpr std::string_view driver_names[] = {"HOME", "PATH", "TMPDIR", "XDG_CACHE_HOME"};
  constexpr std::string_view driver_prefixes[] = {"CUDA_", "NVIDIA_", "OCL_",  "OPENCL_",
                                                  "POCL_", "VK_",     "MESA_", "HSA_",
                                                  "HIP_",  "ROCR_",   "ZE_",   "NEO_"};
  const auto is_name = [&](std::string_view known) { return name == known; };
  const auto has_prefix = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (std::ranges::any_of(names, is_name) || std::ranges::any_of(prefixes, has_prefix)) return true;
  return profile == Profile::driver && (std::ranges::any_of(driver_names, is_name) ||
                                        std::ranges::any_of(driver_prefixes, has_prefix));
}

}  // namespace tenon::isolated
