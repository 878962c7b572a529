// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "tenon/abi/tensor.h"
#include "tenon/core/scalar_type.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A tensor that an application gives to a method. Its elements are dense, in the order that the
/// program declares for the input (MethodMeta).
struct InputTensor {
  ScalarType scalar_type;
  std::span<const std::int64_t> sizes;
  std::span<const std::byte> bytes;
  tenon_dl_device device{TENON_DL_CPU, 0};  ///< Of `bytes`.
};

/// A value that an application gives to a method and that is not a tensor.
using InputScalar = std::variant<std::int64_t, double, bool, std::string_view>;

}}}  // namespace tenon::TENON_RELEASE::host
