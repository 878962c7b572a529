// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/arrays/element.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "tenon/core/concat.hpp"
#include "tenon/host/layers/arrays/impl/number_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

template <class T>
T load_element(std::span<const std::byte> data, std::size_t index) noexcept {
  T value{};
  std::memcpy(&value, data.data() + index * sizeof(T), sizeof value);
  return value;
}

template <class T>
ElementValue integer_element(std::span<const std::byte> data, std::size_t index) noexcept {
  return ElementValue(static_cast<std::int64_t>(load_element<T>(data, index)));
}

inline double half_element(std::span<const std::byte> data, std::size_t index) noexcept {
  return static_cast<double>(Half{load_element<std::uint16_t>(data, index)}.to_float());
}

// Sign, exponent, mantissa without a special case: what a finite number of this format is.
inline double finite_value(std::uint32_t bits, int exponent_bits, int mantissa_bits,
                           int bias) noexcept {
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const bool negative = (bits >> (exponent_bits + mantissa_bits) & 1u) != 0;
  const bool subnormal = exponent == 0;
  const std::uint32_t implicit = subnormal ? 0u : 1u << mantissa_bits;
  const double magnitude = std::ldexp(static_cast<double>(mantissa | implicit),
                                      (subnormal ? 1 : exponent) - bias - mantissa_bits);
  return negative ? -magnitude : magnitude;
}

}  // namespace detail

double float8_value(ScalarType type, std::uint8_t bits) noexcept {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  switch (type) {
    case ScalarType::Float8_e5m2:
      // The upper half of a binary16.
      return static_cast<double>(Half{static_cast<std::uint16_t>(bits << 8)}.to_float());
    case ScalarType::Float8_e4m3fn:
      return (bits & 0x7fu) == 0x7fu ? nan : detail::finite_value(bits, 4, 3, 7);
    case ScalarType::Float8_e5m2fnuz:
      return bits == 0x80u ? nan : detail::finite_value(bits, 5, 2, 16);
    default:
      return bits == 0x80u ? nan : detail::finite_value(bits, 4, 3, 8);
  }
}

ElementValue element_at(ScalarType type, std::span<const std::byte> data,
                        std::size_t index) noexcept {
  using namespace detail;
  const ScalarTypeInfo* const info = find_scalar_type(static_cast<std::int64_t>(type));
  const char kind = info ? info->npy_descr[1] : 'u';
  const std::size_t size = info ? info->size : 1;
  switch (kind) {
    case 'b':
      return std::int64_t{load_element<std::uint8_t>(data, index) != 0 ? 1 : 0};
    case 'i':
      if (size == 1) return integer_element<std::int8_t>(data, index);
      if (size == 2) return integer_element<std::int16_t>(data, index);
      if (size == 4) return integer_element<std::int32_t>(data, index);
      return integer_element<std::int64_t>(data, index);
    case 'u':
      if (size == 1) return integer_element<std::uint8_t>(data, index);
      if (size == 2) return integer_element<std::uint16_t>(data, index);
      if (size == 4) return integer_element<std::uint32_t>(data, index);
      return load_element<std::uint64_t>(data, index);
    case 'f':
      if (size == 2) return half_element(data, index);
      if (size == 4) return static_cast<double>(load_element<float>(data, index));
      return load_element<double>(data, index);
    case 'c':
      if (size == 8) {
        return std::complex<double>(static_cast<double>(load_element<float>(data, 2 * index)),
                                    static_cast<double>(load_element<float>(data, 2 * index + 1)));
      }
      return std::complex<double>(load_element<double>(data, 2 * index),
                                  load_element<double>(data, 2 * index + 1));
    default:  // Bytes that NumPy has no type for.
      break;
  }
  if (type == ScalarType::BFloat16) {
    return static_cast<double>(BFloat16{load_element<std::uint16_t>(data, index)}.to_float());
  }
  if (type == ScalarType::ComplexHalf) {
    return std::complex<double>(half_element(data, 2 * index), half_element(data, 2 * index + 1));
  }
  return float8_value(type, load_element<std::uint8_t>(data, index));
}

std::string element_text(ScalarType type, std::span<const std::byte> data, std::size_t index) {
  const ElementValue element = element_at(type, data, index);
  if (type == ScalarType::Bool) return std::get<std::int64_t>(element) != 0 ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&element)) return concat(*integer);
  if (const auto* integer = std::get_if<std::uint64_t>(&element)) return concat(*integer);
  // A float32 printed as a double would show digits that it does not have.
  const auto part = [&](double value) {
    const bool is_double = type == ScalarType::Double || type == ScalarType::ComplexDouble;
    if (is_double || !std::isfinite(value)) return detail::number_text(value);
    return concat(static_cast<float>(value));
  };
  if (const auto* real = std::get_if<double>(&element)) return part(*real);
  const auto& number = std::get<std::complex<double>>(element);
  const std::string imaginary = part(number.imag());
  return concat(part(number.real()), imaginary.starts_with('-') ? "" : "+", imaginary, "j");
}

}}}  // namespace tenon::TENON_RELEASE::host
