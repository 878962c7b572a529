// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/abi/tensor.h"
#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE {

/// Element type of a tensor. Numbers and names are ExecuTorch's `ScalarType` (the list
/// ET_FORALL_SCALAR_TYPES of runtime/core/portable_type/scalar_type.h); PyTorch's are the same.
enum class ScalarType : std::int8_t {
  Byte = 0,
  Char = 1,
  Short = 2,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  Double = 7,
  ComplexHalf = 8,
  ComplexFloat = 9,
  ComplexDouble = 10,
  Bool = 11,
  QInt8 = 12,
  QUInt8 = 13,
  QInt32 = 14,
  BFloat16 = 15,
  QUInt4x2 = 16,
  QUInt2x4 = 17,
  Bits1x8 = 18,
  Bits2x4 = 19,
  Bits4x2 = 20,
  Bits8 = 21,
  Bits16 = 22,
  Float8_e5m2 = 23,
  Float8_e4m3fn = 24,
  Float8_e5m2fnuz = 25,
  Float8_e4m3fnuz = 26,
  UInt16 = 27,
  UInt32 = 28,
  UInt64 = 29,
};

/// Names, size and codes of one element type.
///
/// The type in .npy files is the one that NumPy reads with the same bytes: of BFloat16 "<V2", as
/// ml_dtypes saves it; of float8 "|V1" (ml_dtypes saves e5m2 as "<f1", which numpy.load refuses);
/// of ComplexHalf "|V4"; of quantized and Bits types integers of their size.
struct ScalarTypeInfo {
  ScalarType type;
  std::string_view name;        ///< ExecuTorch's: "Float".
  std::string_view torch_name;  ///< PyTorch's and NumPy's: "float32".
  std::string_view npy_descr;   ///< In .npy files: "<f4".
  std::uint8_t size;            ///< Bytes of one element.
  tenon_dl_dtype dl;            ///< DLPack's code, bits and lanes.
};

inline constexpr std::array<ScalarTypeInfo, 30> scalar_types{{
    {ScalarType::Byte, "Byte", "uint8", "|u1", 1, {TENON_DL_UINT, 8, 1}},
    {ScalarType::Char, "Char", "int8", "|i1", 1, {TENON_DL_INT, 8, 1}},
    {ScalarType::Short, "Short", "int16", "<i2", 2, {TENON_DL_INT, 16, 1}},
    {ScalarType::Int, "Int", "int32", "<i4", 4, {TENON_DL_INT, 32, 1}},
    {ScalarType::Long, "Long", "int64", "<i8", 8, {TENON_DL_INT, 64, 1}},
    {ScalarType::Half, "Half", "float16", "<f2", 2, {TENON_DL_FLOAT, 16, 1}},
    {ScalarType::Float, "Float", "float32", "<f4", 4, {TENON_DL_FLOAT, 32, 1}},
    {ScalarType::Double, "Double", "float64", "<f8", 8, {TENON_DL_FLOAT, 64, 1}},
    {ScalarType::ComplexHalf, "ComplexHalf", "complex32", "|V4", 4, {TENON_DL_COMPLEX, 32, 1}},
    {ScalarType::ComplexFloat, "ComplexFloat", "complex64", "<c8", 8, {TENON_DL_COMPLEX, 64, 1}},
    {ScalarType::ComplexDouble,
     "ComplexDouble",
     "complex128",
     "<c16",
     16,
     {TENON_DL_COMPLEX, 128, 1}},
    {ScalarType::Bool, "Bool", "bool", "|b1", 1, {TENON_DL_BOOL, 8, 1}},
    {ScalarType::QInt8, "QInt8", "qint8", "|i1", 1, {TENON_DL_OPAQUE, 8, 1}},
    {ScalarType::QUInt8, "QUInt8", "quint8", "|u1", 1, {TENON_DL_OPAQUE, 8, 1}},
    {ScalarType::QInt32, "QInt32", "qint32", "<i4", 4, {TENON_DL_OPAQUE, 32, 1}},
    {ScalarType::BFloat16, "BFloat16", "bfloat16", "<V2", 2, {TENON_DL_BFLOAT, 16, 1}},
    {ScalarType::QUInt4x2, "QUInt4x2", "quint4x2", "|u1", 1, {TENON_DL_OPAQUE, 8, 1}},
    {ScalarType::QUInt2x4, "QUInt2x4", "quint2x4", "|u1", 1, {TENON_DL_OPAQUE, 8, 1}},
    {ScalarType::Bits1x8, "Bits1x8", "bits1x8", "|u1", 1, {TENON_DL_OPAQUE, 8, 1}},
    {ScalarType::Bits2x4, "Bits2x4", "bits2x4", "|u1", 1, {TENON_DL_OPAQUE, 8, 1}},
    {ScalarType::Bits4x2, "Bits4x2", "bits4x2", "|u1", 1, {TENON_DL_OPAQUE, 8, 1}},
    {ScalarType::Bits8, "Bits8", "bits8", "|u1", 1, {TENON_DL_OPAQUE, 8, 1}},
    {ScalarType::Bits16, "Bits16", "bits16", "<u2", 2, {TENON_DL_OPAQUE, 16, 1}},
    {ScalarType::Float8_e5m2, "Float8_e5m2", "float8_e5m2", "|V1", 1, {TENON_DL_FLOAT8_E5M2, 8, 1}},
    {ScalarType::Float8_e4m3fn,
     "Float8_e4m3fn",
     "float8_e4m3fn",
     "|V1",
     1,
     {TENON_DL_FLOAT8_E4M3FN, 8, 1}},
    {ScalarType::Float8_e5m2fnuz,
     "Float8_e5m2fnuz",
     "float8_e5m2fnuz",
     "|V1",
     1,
     {TENON_DL_FLOAT8_E5M2FNUZ, 8, 1}},
    {ScalarType::Float8_e4m3fnuz,
     "Float8_e4m3fnuz",
     "float8_e4m3fnuz",
     "|V1",
     1,
     {TENON_DL_FLOAT8_E4M3FNUZ, 8, 1}},
    {ScalarType::UInt16, "UInt16", "uint16", "<u2", 2, {TENON_DL_UINT, 16, 1}},
    {ScalarType::UInt32, "UInt32", "uint32", "<u4", 4, {TENON_DL_UINT, 32, 1}},
    {ScalarType::UInt64, "UInt64", "uint64", "<u8", 8, {TENON_DL_UINT, 64, 1}},
}};

/// The entry of type `number`, or null when the number is not an element type.
[[nodiscard]] constexpr const ScalarTypeInfo* find_scalar_type(std::int64_t number) noexcept {
  if (number < 0 || number >= static_cast<std::int64_t>(scalar_types.size())) return nullptr;
  return &scalar_types[static_cast<std::size_t>(number)];
}

/// The entry of the type that ExecuTorch names `name` ("Float"), or null when it names none so.
[[nodiscard]] constexpr const ScalarTypeInfo* find_scalar_type(std::string_view name) noexcept {
  for (const ScalarTypeInfo& info : scalar_types) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

/// The entry of the type that PyTorch and NumPy name `torch_name` ("float32"), or null when they
/// name none so.
[[nodiscard]] constexpr const ScalarTypeInfo* find_torch_scalar_type(
    std::string_view torch_name) noexcept {
  for (const ScalarTypeInfo& info : scalar_types) {
    if (info.torch_name == torch_name) return &info;
  }
  return nullptr;
}

/// ExecuTorch's name ("Float"), or "?" for a number that is not an element type.
[[nodiscard]] constexpr std::string_view name_of(ScalarType type) noexcept {
  const auto* info = find_scalar_type(static_cast<std::int64_t>(type));
  return info ? info->name : std::string_view("?");
}

/// Bytes of one element; 0 for a number that is not an element type.
[[nodiscard]] constexpr std::size_t size_of(ScalarType type) noexcept {
  const auto* info = find_scalar_type(static_cast<std::int64_t>(type));
  return info ? info->size : 0;
}

/// Type in .npy files ("<f4"), in the byte order of this machine, or "|V1" for a number that is not
/// an element type.
[[nodiscard]] constexpr std::string_view npy_descr_of(ScalarType type) noexcept {
  const auto* info = find_scalar_type(static_cast<std::int64_t>(type));
  return info ? info->npy_descr : std::string_view("|V1");
}

/// IEEE 754 binary16, kept as its bits. Conversion to it rounds to nearest even.
struct Half {
  std::uint16_t bits = 0;

  [[nodiscard]] static constexpr Half from_float(float value) noexcept {
    const auto all = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (all >> 16) & 0x8000u;
    const std::uint32_t rest = all & 0x7fffffffu;
    std::uint32_t out = 0;
    if (rest > 0x7f800000u) {
      out = 0x7e00u;
    } else if (rest >= 0x47800000u) {
      out = 0x7c00u;
    } else if (rest < 0x38800000u) {  // Subnormal: adding 0.5 rounds to the multiple of 2^-24.
      out = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000u;
    } else {
      out = (rest + 0xfffu + ((rest >> 13) & 1u) - (112u << 23)) >> 13;
    }
    return {static_cast<std::uint16_t>(sign | out)};
  }
  [[nodiscard]] constexpr float to_float() const noexcept {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t rest = (bits & 0x7fffu) << 13;
    if ((rest & 0x0f800000u) == 0x0f800000u) {  // Infinity and NaN keep all bits of the exponent.
      return std::bit_cast<float>(sign | rest | 0x7f800000u);
    }
    // A multiplication adds 112 to the exponent, which also makes subnormal halves normal.
    const float value = std::bit_cast<float>(rest) * 0x1p112f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
};

/// Upper half of a float32. Conversion to it rounds to nearest even, as PyTorch's does.
struct BFloat16 {
  std::uint16_t bits = 0;

  [[nodiscard]] static constexpr BFloat16 from_float(float value) noexcept {
    auto bits = std::bit_cast<std::uint32_t>(value);
    if (value != value) return {0x7fc0};
    bits += 0x7fffu + ((bits >> 16) & 1u);
    return {static_cast<std::uint16_t>(bits >> 16)};
  }
  [[nodiscard]] constexpr float to_float() const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// The element type that C++ type `T` holds. Only types with one meaning are listed.
template <class T>
inline constexpr std::optional<ScalarType> scalar_type_of = std::nullopt;
template <>
inline constexpr std::optional<ScalarType> scalar_type_of<std::uint8_t> = ScalarType::Byte;
template <>
inline constexpr std::optional<ScalarType> scalar_type_of<std::int8_t> = ScalarType::Char;
template <>
inline constexpr std::optional<ScalarType> scalar_type_of<std::int16_t> = ScalarType::Short;
template <>
inline constexpr std::optional<ScalarType> scalar_type_of<std::int32_t> = ScalarType::Int;
template <>
inline constexpr std::optional<ScalarType> scalar_type_of<std::int64_t> = ScalarType::Long;
template <>
inline constexpr std::optional<ScalarType> scalar_type_of<Half> = ScalarType::Half;
template <>
inline constexpr std::optional<ScalarType> scalar_type_of<float> = ScalarType::Float;
template <>
inline constexpr std::optional<ScalarType> scalar_type_of<double> = ScalarType::Double;
template <>
inline constexpr std::optional<ScalarType> scalar_type_of<bool> = ScalarType::Bool;
template <>
inline constexpr std::optional<ScalarType> scalar_type_of<BFloat16> = ScalarType::BFloat16;
template <>
inline constexpr std::optional<ScalarType> scalar_type_of<std::uint16_t> = ScalarType::UInt16;
template <>
inline constexpr std::optional<ScalarType> scalar_type_of<std::uint32_t> = ScalarType::UInt32;
template <>
inline constexpr std::optional<ScalarType> scalar_type_of<std::uint64_t> = ScalarType::UInt64;

/// A C++ type that a tensor's elements can be read as.
template <class T>
concept Element = scalar_type_of<T>.has_value();

}}  // namespace tenon::TENON_RELEASE
