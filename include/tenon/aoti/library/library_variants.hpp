// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tenon/core/best_fit.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// One compiled library of a payload. A payload with several has the same model compiled for
/// several devices, over one table of weights (ExecuTorch: CudaAotiVariant in
/// backends/cuda/cuda_weight_collector.py). Compute capabilities are written without the point:
/// 90 for 9.0.
struct LibraryVariant {
  std::string library_key;        ///< In the named data.
  std::uint32_t target_sm = 0;    ///< Its binaries are for this one alone; 0 when not known.
  std::uint32_t ptx_compute = 0;  ///< Its PTX is for this one and later; 0 when it has none.
  bool fallback_only = false;     ///< For devices that no other library fits.

  /// True for the only library of a payload that does not say what it is compiled for.
  [[nodiscard]] constexpr bool is_untargeted() const noexcept { return target_sm == 0; }
};

/// How well a library fits a device of compute capability `sm`, for `best_fit`: binaries for it
/// before PTX, and PTX for a later capability before PTX for an earlier one, which can use less of
/// the device. A library for fallback comes last, by its PTX alone.
[[nodiscard]] constexpr std::uint64_t fit_of(const LibraryVariant& variant, unsigned sm) noexcept {
  constexpr std::uint64_t fallback = std::uint64_t{1} << 32;
  constexpr std::uint64_t ptx = std::uint64_t{2} << 32;
  constexpr std::uint64_t binary = std::uint64_t{3} << 32;
  if (variant.is_untargeted()) return fallback;
  if (!variant.fallback_only && variant.target_sm == sm) return binary;
  if (variant.ptx_compute == 0 || variant.ptx_compute > sm) return 0;
  return (variant.fallback_only ? fallback : ptx) + variant.ptx_compute;
}

/// The libraries in a message: "sm_80, sm_90, compute_80 (PTX, fallback)"; at most the first 16.
[[nodiscard]] inline std::string text_of(std::span<const LibraryVariant> variants) {
  constexpr std::size_t most = 16;
  std::string out;
  for (const LibraryVariant& variant : variants.first(std::min(variants.size(), most))) {
    if (!out.empty()) out += ", ";
    if (variant.is_untargeted()) {
      out += "unknown devices";
      continue;
    }
    if (!variant.fallback_only) out += concat("sm_", variant.target_sm);
    if (variant.ptx_compute == 0) continue;
    out += variant.fallback_only ? "" : " with ";
    out += concat("compute_", variant.ptx_compute, " (PTX",
                  variant.fallback_only ? ", fallback)" : ")");
  }
  if (variants.size() > most) out += concat(" and ", variants.size() - most, " more");
  return out;
}

/// The number of the library for a device of compute capability `sm`.
/// errors: DelegateInvalidCompatibility, naming the device and the libraries.
[[nodiscard]] inline Result<std::size_t> choose_for_sm(std::span<const LibraryVariant> variants,
                                                       unsigned sm) {
  const auto best =
      best_fit(variants.size(), [&](std::size_t i) { return fit_of(variants[i], sm); });
  if (best) return *best;
  return error(Error::DelegateInvalidCompatibility, "the program has no library for this device, ",
               "which is sm_", sm, "; its ", variants.size(),
               variants.size() == 1 ? " library is for " : " libraries are for ",
               text_of(variants));
}

}}}  // namespace tenon::TENON_RELEASE::aoti
