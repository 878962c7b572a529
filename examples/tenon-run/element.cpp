// SPDX-License-Identifier: MIT
#include "element.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace tenon::run {
namespace {

template <class T>
T load(std::span<const std::byte> data, std::size_t index) noexcept {
  T value{};
  std::memcpy(&value, data.data() + index * sizeof(T), sizeof value);
  return value;
}

template <class T>
ElementValue integer(std::span<const std::byte> data, std::size_t index) noexcept {
  return ElementValue(static_cast<std::int64_t>(load<T>(data, index)));
}

// Sign, exponent, mantissa without a special case: what a finite number of this format is.
double finite_value(std::uint32_t bits, int exponent_bits, int mantissa_bits, int bias) noexcept {
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const bool negative = (bits >> (exponent_bits + mantissa_bits) & 1u) != 0;
  const bool subnormal = exponent == 0;
  const std::uint32_t implicit = subnormal ? 0u : 1u << mantissa_bits;
  const double magnitude = std::ldexp(static_cast<double>(mantissa | implicit),
                                      (subnormal ? 1 : exponent) - bias - mantissa_bits);
  return negative ? -magnitude : magnitude;
}

}  // namespace

double half_value(std::uint16_t bits) noexcept {
  if ((bits & 0x7c00u) == 0x7c00u) {
    if ((bits & 0x3ffu) != 0) return std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    return (bits & 0x8000u) != 0 ? -infinity : infinity;
  }
  return finite_value(bits, 5, 10, 15);
}

double float8_value(ScalarType type, std::uint8_t bits) noexcept {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  switch (type) {
    case ScalarType::Float8_e5m2:
      // The upper half of a binary16.
      return half_value(static_cast<std::uint16_t>(bits << 8));
    case ScalarType::Float8_e4m3fn:
      return (bits & 0x7fu) == 0x7fu ? nan : finite_value(bits, 4, 3, 7);
    case ScalarType::Float8_e5m2fnuz:
      return bits == 0x80u ? nan : finite_value(bits, 5, 2, 16);
    default:
      return bits == 0x80u ? nan : finite_value(bits, 4, 3, 8);
  }
}

ElementValue element_at(ScalarType type, std::span<const std::byte> data,
                        std::size_t index) noexcept {
  switch (type) {
    case ScalarType::Char:
    case ScalarType::QInt8:
      return integer<std::int8_t>(data, index);
    case ScalarType::Short:
      return integer<std::int16_t>(data, index);
    case ScalarType::Int:
    case ScalarType::QInt32:
      return integer<std::int32_t>(data, index);
    case ScalarType::Long:
      return integer<std::int64_t>(data, index);
    case ScalarType::UInt16:
    case ScalarType::Bits16:
      return integer<std::uint16_t>(data, index);
    case ScalarType::UInt32:
      return integer<std::uint32_t>(data, index);
    case ScalarType::UInt64:
      return load<std::uint64_t>(data, index);
    case ScalarType::Half:
      return half_value(load<std::uint16_t>(data, index));
    case ScalarType::BFloat16:
      return static_cast<double>(BFloat16{load<std::uint16_t>(data, index)}.to_float());
    case ScalarType::Float:
      return static_cast<double>(load<float>(data, index));
    case ScalarType::Double:
      return load<double>(data, index);
    case ScalarType::ComplexHalf:
      return std::complex<double>(half_value(load<std::uint16_t>(data, 2 * index)),
                                  half_value(load<std::uint16_t>(data, 2 * index + 1)));
    case ScalarType::ComplexFloat:
      return std::complex<double>(static_cast<double>(load<float>(data, 2 * index)),
                                  static_cast<double>(load<float>(data, 2 * index + 1)));
    case ScalarType::ComplexDouble:
      return std::complex<double>(load<double>(data, 2 * index), load<double>(data, 2 * index + 1));
    case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e5m2fnuz:
    case ScalarType::Float8_e4m3fnuz:
      return float8_value(type, load<std::uint8_t>(data, index));
    case ScalarType::Bool:
      return ElementValue(std::int64_t{load<std::uint8_t>(data, index) != 0 ? 1 : 0});
    case ScalarType::Byte:
    case ScalarType::QUInt8:
    case ScalarType::QUInt4x2:
    case ScalarType::QUInt2x4:
    case ScalarType::Bits1x8:
    case ScalarType::Bits2x4:
    case ScalarType::Bits4x2:
    case ScalarType::Bits8:
      break;
  }
  return integer<std::uint8_t>(data, index);
}

}  // namespace tenon::run
