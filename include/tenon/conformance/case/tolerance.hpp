// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>

#include "tenon/core/scalar_type.hpp"

namespace tenon::conformance {

/// How far an output may be from the expected one. All limits that are set must hold; with none set
/// elements must be equal. Whatever the limits, NaN only matches NaN, and an infinity only itself.
struct CaseTolerance {
  std::optional<double> nmse;  ///< Normalised mean square error, see host::Comparison.
  std::optional<double> peak;  ///< Largest difference over the largest |expected|.
  std::optional<double> max;   ///< Largest difference.
  /// Each element: |found - expected| <= atol + rtol * |expected|. If only one is set, the other is
  /// 0.
  std::optional<double> rtol, atol;

  friend bool operator==(const CaseTolerance&, const CaseTolerance&) = default;
};

/// The default limits of a dtype. `nmse` is a ratio and does not depend on the size of outputs:
/// 1e-7 for float32, as in ggml's test-backend-ops, is a relative error of 3e-4, some thousand
/// times the unit roundoff and far below the error of a wrong kernel. It becomes small when one
/// element of many is wrong; `peak` does not. The types with fewer digits allow a few dozen
/// roundings (unit roundoff 5e-4 for float16, 4e-3 for bfloat16, 6e-2 and 1e-1 for float8); float64
/// allows a relative error of 1e-8, as algorithms differ there by more than roundings.
///
///   dtype                     nmse     relative   peak
///   float64, complex128       1e-16    1e-8       1e-7
///   float32, complex64        1e-7     3e-4       1e-3
///   float16, complex32        1e-4     1e-2       3e-2
///   bfloat16                  1e-3     3e-2       1e-1
///   float8_e4m3*              1e-2     1e-1       2.5e-1
///   float8_e5m2*              4e-2     2e-1       5e-1
///   all others                equal
[[nodiscard]] constexpr CaseTolerance default_tolerance(ScalarType type) noexcept {
  const auto limits = [](double nmse, double peak) {
    CaseTolerance out;
    out.nmse = nmse;
    out.peak = peak;
    return out;
  };
  switch (type) {
    case ScalarType::Double:
    case ScalarType::ComplexDouble:
      return limits(1e-16, 1e-7);
    case ScalarType::Float:
    case ScalarType::ComplexFloat:
      return limits(1e-7, 1e-3);
    case ScalarType::Half:
    case ScalarType::ComplexHalf:
      return limits(1e-4, 3e-2);
    case ScalarType::BFloat16:
      return limits(1e-3, 1e-1);
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e4m3fnuz:
      return limits(1e-2, 2.5e-1);
    case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e5m2fnuz:
      return limits(4e-2, 5e-1);
    default:
      return {};
  }
}

/// Limits by dtype, from a case or a subject file.
class Tolerances {
 public:
  void set(ScalarType type, const CaseTolerance& tolerance) { of_type_[type] = tolerance; }

  /// The limits of `type`, or the default ones.
  [[nodiscard]] CaseTolerance of(ScalarType type) const {
    const auto found = of_type_.find(type);
    return found == of_type_.end() ? default_tolerance(type) : found->second;
  }

  /// These limits, replaced by those of `closer` for each dtype that it has. Limits of one dtype
  /// are replaced together and never mixed.
  [[nodiscard]] Tolerances overridden_by(const Tolerances& closer) const {
    Tolerances out = *this;
    for (const auto& [type, tolerance] : closer.of_type_) out.set(type, tolerance);
    return out;
  }

 private:
  std::map<ScalarType, CaseTolerance> of_type_;
};

}  // namespace tenon::conformance
