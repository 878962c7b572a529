// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include "tenon/abi/tensor.h"
#include "tenon/host/loader/method/inputs.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The exported value of an input that is not a tensor; it can only be confirmed.
[[nodiscard]] inline InputScalar exported_value(const tenon_value& value) {
  switch (value.kind) {
    case TENON_VALUE_INT:
      return value.as.integer;
    case TENON_VALUE_DOUBLE:
      return value.as.real;
    case TENON_VALUE_BOOL:
      return value.as.boolean != 0;
    default:
      return std::string_view(static_cast<const char*>(value.as.span.data),
                              static_cast<std::size_t>(value.as.span.size));
  }
}

}}}  // namespace tenon::TENON_RELEASE::host
