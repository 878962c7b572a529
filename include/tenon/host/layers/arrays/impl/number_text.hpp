// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <string>

#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// "nan", "inf", "-inf" or the shortest decimal number that reads back as `value`.
inline std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return concat(value);
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
