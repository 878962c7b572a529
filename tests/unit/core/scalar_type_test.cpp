// SPDX-License-Identifier: MIT
#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

#include "support/catch.hpp"
#include "tenon/core/scalar_type.hpp"

using namespace tenon;

namespace {

struct ScalarTypeRow {
  std::int64_t number;
  std::string_view name;
  std::string_view torch_name;
  std::string_view npy_descr;
  std::size_t size;
  int dl_code;
};

/// ExecuTorch's list (runtime/core/portable_type/scalar_type.h) with DLPack's codes (dlpack.h 1.1:
/// 0 int, 1 uint, 2 float, 3 opaque, 4 bfloat, 5 complex, 6 bool, 10 to 13 the four float8).
constexpr ScalarTypeRow rows[] = {
    {0, "Byte", "uint8", "|u1", 1, 1},
    {1, "Char", "int8", "|i1", 1, 0},
    {2, "Short", "int16", "<i2", 2, 0},
    {3, "Int", "int32", "<i4", 4, 0},
    {4, "Long", "int64", "<i8", 8, 0},
    {5, "Half", "float16", "<f2", 2, 2},
    {6, "Float", "float32", "<f4", 4, 2},
    {7, "Double", "float64", "<f8", 8, 2},
    {8, "ComplexHalf", "complex32", "|V4", 4, 5},
    {9, "ComplexFloat", "complex64", "<c8", 8, 5},
    {10, "ComplexDouble", "complex128", "<c16", 16, 5},
    {11, "Bool", "bool", "|b1", 1, 6},
    {12, "QInt8", "qint8", "|i1", 1, 3},
    {13, "QUInt8", "quint8", "|u1", 1, 3},
    {14, "QInt32", "qint32", "<i4", 4, 3},
    {15, "BFloat16", "bfloat16", "<V2", 2, 4},
    {16, "QUInt4x2", "quint4x2", "|u1", 1, 3},
    {17, "QUInt2x4", "quint2x4", "|u1", 1, 3},
    {18, "Bits1x8", "bits1x8", "|u1", 1, 3},
    {19, "Bits2x4", "bits2x4", "|u1", 1, 3},
    {20, "Bits4x2", "bits4x2", "|u1", 1, 3},
    {21, "Bits8", "bits8", "|u1", 1, 3},
    {22, "Bits16", "bits16", "<u2", 2, 3},
    {23, "Float8_e5m2", "float8_e5m2", "|V1", 1, 12},
    {24, "Float8_e4m3fn", "float8_e4m3fn", "|V1", 1, 10},
    {25, "Float8_e5m2fnuz", "float8_e5m2fnuz", "|V1", 1, 13},
    {26, "Float8_e4m3fnuz", "float8_e4m3fnuz", "|V1", 1, 11},
    {27, "UInt16", "uint16", "<u2", 2, 1},
    {28, "UInt32", "uint32", "<u4", 4, 1},
    {29, "UInt64", "uint64", "<u8", 8, 1},
};

template <class T>
constexpr bool holds(ScalarType type) {
  return scalar_type_of<T> == type && size_of(type) == sizeof(T);
}

BFloat16 round_bits(std::uint32_t bits) { return BFloat16::from_float(std::bit_cast<float>(bits)); }

}  // namespace

TEST_CASE("the 30 element types have ExecuTorch's numbers, names and sizes", "[core]") {
  REQUIRE(std::size(rows) == scalar_types.size());
  for (const ScalarTypeRow& row : rows) {
    const ScalarTypeInfo* info = find_scalar_type(row.number);
    REQUIRE(info != nullptr);
    CHECK(static_cast<std::int64_t>(info->type) == row.number);
    CHECK(info->name == row.name);
    CHECK(info->torch_name == row.torch_name);
    CHECK(info->npy_descr == row.npy_descr);
    CHECK(npy_descr_of(info->type) == row.npy_descr);
    CHECK(info->size == row.size);
    CHECK(name_of(info->type) == row.name);
    CHECK(find_scalar_type(row.name) == info);
    CHECK(find_torch_scalar_type(row.torch_name) == info);
    CHECK(size_of(info->type) == row.size);
  }
}

TEST_CASE("each element type has DLPack's code and as many bits as bytes", "[core]") {
  for (const ScalarTypeRow& row : rows) {
    const tenon_dl_dtype dl = find_scalar_type(row.number)->dl;
    INFO(row.name);
    CHECK(dl.code == row.dl_code);
    CHECK(dl.bits == 8 * row.size);
    CHECK(dl.lanes == 1);
  }
}

TEST_CASE("an unknown element type has no entry, no size and the name ?", "[core]") {
  for (const std::int64_t number :
       {std::int64_t{-1}, std::int64_t{30}, std::int64_t{127}, std::int64_t{1} << 40,
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    CHECK(find_scalar_type(number) == nullptr);
  }
  CHECK(name_of(static_cast<ScalarType>(-1)) == "?");
  CHECK(size_of(static_cast<ScalarType>(30)) == 0);
}

TEST_CASE("a name that is not exactly one of an element type has no entry", "[core]") {
  for (const std::string_view name : {"", "?", "float", "Float ", "Floa", "FLOAT", "float32"}) {
    INFO(name);
    CHECK(find_scalar_type(name) == nullptr);
  }
  for (const std::string_view name : {"", "?", "Float", "float", "torch.float32", "Float32"}) {
    INFO(name);
    CHECK(find_torch_scalar_type(name) == nullptr);
  }
}

TEST_CASE("C++ types hold the element types of their own size", "[core]") {
  STATIC_REQUIRE(holds<std::uint8_t>(ScalarType::Byte));
  STATIC_REQUIRE(holds<std::int8_t>(ScalarType::Char));
  STATIC_REQUIRE(holds<std::int16_t>(ScalarType::Short));
  STATIC_REQUIRE(holds<std::int32_t>(ScalarType::Int));
  STATIC_REQUIRE(holds<std::int64_t>(ScalarType::Long));
  STATIC_REQUIRE(holds<Half>(ScalarType::Half));
  STATIC_REQUIRE(holds<float>(ScalarType::Float));
  STATIC_REQUIRE(holds<double>(ScalarType::Double));
  STATIC_REQUIRE(holds<bool>(ScalarType::Bool));
  STATIC_REQUIRE(holds<BFloat16>(ScalarType::BFloat16));
  STATIC_REQUIRE(holds<std::uint16_t>(ScalarType::UInt16));
  STATIC_REQUIRE(holds<std::uint32_t>(ScalarType::UInt32));
  STATIC_REQUIRE(holds<std::uint64_t>(ScalarType::UInt64));
  STATIC_REQUIRE_FALSE(Element<char>);
  STATIC_REQUIRE_FALSE(Element<long double>);
  STATIC_REQUIRE_FALSE(Element<const float>);
}

TEST_CASE("BFloat16 rounds to nearest and ties to even", "[core]") {
  CHECK(round_bits(0x3f800000).bits == 0x3f80);
  CHECK(round_bits(0x3f807fff).bits == 0x3f80);  // below the middle: down
  CHECK(round_bits(0x3f808000).bits == 0x3f80);  // the middle, even below: down
  CHECK(round_bits(0x3f808001).bits == 0x3f81);  // above the middle: up
  CHECK(round_bits(0x3f818000).bits == 0x3f82);  // the middle, odd below: up
  CHECK(round_bits(0xbf818000).bits == 0xbf82);
  CHECK(round_bits(0x3fffffff).bits == 0x4000);  // carries into the exponent
  CHECK(round_bits(0x00000001).bits == 0x0000);  // smallest subnormal
  CHECK(round_bits(0x80000000).bits == 0x8000);  // negative zero
}

TEST_CASE("BFloat16 keeps infinities and NaN, and rounds larger numbers to infinity", "[core]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(BFloat16::from_float(infinity).bits == 0x7f80);
  CHECK(BFloat16::from_float(-infinity).bits == 0xff80);
  CHECK(BFloat16::from_float(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(round_bits(0x7f7f7fff).bits == 0x7f7f);  // the largest that stays finite
  for (const std::uint32_t nan : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffffffffu}) {
    const float back = round_bits(nan).to_float();
    CHECK(back != back);
  }
}

TEST_CASE("every BFloat16 that is a number survives the way through float", "[core]") {
  std::uint32_t differing = 0;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const BFloat16 value{static_cast<std::uint16_t>(bits)};
    const float wide = value.to_float();
    if (wide != wide) continue;
    if (BFloat16::from_float(wide).bits != value.bits) ++differing;
  }
  CHECK(differing == 0);
}
