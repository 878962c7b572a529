// SPDX-License-Identifier: MIT
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "tenon/core/scalar_type.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// An element without loss: every element type fits into one of these exactly.
using ElementValue = std::variant<std::int64_t, std::uint64_t, double, std::complex<double>>;

/// Value of one of the four 8-bit floating point types of the OCP and ONNX formats. `type` must be
/// one of them.
[[nodiscard]] double float8_value(ScalarType type, std::uint8_t bits) noexcept;

/// Element number `index` of `data`, which must have that many elements.
[[nodiscard]] ElementValue element_at(ScalarType type, std::span<const std::byte> data,
                                      std::size_t index) noexcept;

/// Element number `index` as text, in as few digits as distinguish it from its neighbours.
[[nodiscard]] std::string element_text(ScalarType type, std::span<const std::byte> data,
                                       std::size_t index);

}}}  // namespace tenon::TENON_RELEASE::host
