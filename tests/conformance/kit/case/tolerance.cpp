// SPDX-License-Identifier: MIT
#include "tenon/conformance/case.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

CaseTolerance default_tolerance(ScalarType type) noexcept {
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

void Tolerances::set(ScalarType type, const CaseTolerance& tolerance) {
  of_type_[type] = tolerance;
}

CaseTolerance Tolerances::of(ScalarType type) const {
  const auto found = of_type_.find(type);
  return found == of_type_.end() ? default_tolerance(type) : found->second;
}

Tolerances Tolerances::overridden_by(const Tolerances& closer) const {
  Tolerances out = *this;
  for (const auto& [type, tolerance] : closer.of_type_) out.set(type, tolerance);
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
