// SPDX-License-Identifier: MIT
#include "tenon/host/layers/arrays/npy.hpp"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace {

using namespace tenon;
using namespace tenon::host;
using Shape = std::vector<std::int64_t>;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// A .npy file of format `major` with `dictionary` as its header and `data` after it.
std::string npy_file(std::string dictionary, const std::string& data, int major = 1) {
  dictionary += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  }
  return file + dictionary + data;
}

std::string header(const std::string& descr, const std::string& shape,
                   const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

template <class T>
std::string raw(const std::vector<T>& values) {
  std::string out(values.size() * sizeof(T), '\0');
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

template <class T>
std::vector<T> values_of(std::span<const std::byte> data) {
  std::vector<T> out(data.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), data.data(), data.size());
  return out;
}

Result<NpyArray> parse(const std::string& file) { return tenon::host::parse_npy(bytes_of(file)); }

void check_fails(const std::string& file, Error error, const std::string& text) {
  const auto array = parse(file);
  REQUIRE_FALSE(array.ok());
  CHECK(array.error() == error);
  CHECK_THAT(std::string(array.text()), ContainsSubstring(text));
}

std::string directory() {
  const auto path = std::filesystem::temp_directory_path() / "tenon_run_npy_test";
  std::filesystem::create_directories(path);
  return path.string();
}

}  // namespace

TEST_CASE("a file of each format version is read", "[npy]") {
  const int major = GENERATE(1, 2, 3);
  const auto array = parse(npy_file(header("<f4", "(2, 2)"), raw<float>({1, 2, 3, 4}), major));
  REQUIRE(array.ok());
  CHECK(array->kind == 'f');
  CHECK(array->item_size == 4);
  CHECK(array->shape == Shape{2, 2});
  CHECK(values_of<float>(array->data.span()) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("data is aligned to 64 bytes", "[npy]") {
  const auto array = parse(npy_file(header("<f4", "(1,)"), raw<float>({1})));
  REQUIRE(array.ok());
  CHECK(reinterpret_cast<std::uintptr_t>(array->data.data()) % 64 == 0);
}

TEST_CASE("keys may come in any order, in either quotes, with old long integers", "[npy]") {
  const auto array = parse(npy_file("{\"shape\": (3L,), 'fortran_order': False, 'descr': \"|u1\"}",
                                    raw<std::uint8_t>({1, 2, 3})));
  REQUIRE(array.ok());
  CHECK(array->shape == Shape{3});
}

TEST_CASE("scalars and empty arrays are read", "[npy]") {
  const auto scalar = parse(npy_file(header("<i8", "()"), raw<std::int64_t>({-7})));
  REQUIRE(scalar.ok());
  CHECK(scalar->shape.empty());
  CHECK(values_of<std::int64_t>(scalar->data.span()) == std::vector<std::int64_t>{-7});

  const auto empty = parse(npy_file(header("<i8", "(2, 0, 3)"), ""));
  REQUIRE(empty.ok());
  CHECK(empty->shape == Shape{2, 0, 3});
  CHECK(empty->data.size() == 0);
}

TEST_CASE("big-endian elements are swapped", "[npy]") {
  const auto integers = parse(npy_file(header(">i2", "(2,)"), std::string("\x01\x02\xff\xfe", 4)));
  REQUIRE(integers.ok());
  CHECK(values_of<std::int16_t>(integers->data.span()) == std::vector<std::int16_t>{0x0102, -2});

  // 1.5 - 2j as two big-endian floats: each half is swapped by itself.
  const auto complex =
      parse(npy_file(header(">c8", "(1,)"), std::string("\x3f\xc0\0\0\xc0\0\0\0", 8)));
  REQUIRE(complex.ok());
  CHECK(values_of<float>(complex->data.span()) == std::vector<float>{1.5F, -2.0F});
}

TEST_CASE("Fortran order becomes C order", "[npy]") {
  // The matrix ((1, 2, 3), (4, 5, 6)), columns first.
  const auto matrix =
      parse(npy_file(header("<i4", "(2, 3)", "True"), raw<std::int32_t>({1, 4, 2, 5, 3, 6})));
  REQUIRE(matrix.ok());
  CHECK(values_of<std::int32_t>(matrix->data.span()) ==
        std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});

  // numpy.asfortranarray(numpy.arange(8).reshape(2, 2, 2))
  const auto cube = parse(
      npy_file(header("|u1", "(2, 2, 2)", "True"), raw<std::uint8_t>({0, 4, 2, 6, 1, 5, 3, 7})));
  REQUIRE(cube.ok());
  CHECK(values_of<std::uint8_t>(cube->data.span()) ==
        std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("damaged npy files are refused by name", "[npy]") {
  const std::string good = npy_file(header("<f4", "(2,)"), raw<float>({1, 2}));
  check_fails("", Error::InvalidExternalData, "does not begin with");
  check_fails("PK\x03\x04 some zip file", Error::InvalidExternalData, "does not begin with");
  check_fails(good.substr(0, 8), Error::InvalidExternalData, "first 10 bytes");
  check_fails(npy_file("", "", 2).substr(0, 11), Error::InvalidExternalData, "first 12 bytes");
  std::string version = good;
  version[6] = 4;
  check_fails(version, Error::InvalidExternalData, "version is 4.0");
  std::string length = good;
  length[9] = '\x7f';
  check_fails(length, Error::InvalidExternalData, "header is");
  check_fails(good.substr(0, good.size() - 1), Error::InvalidExternalData, "7 bytes, too few");
  check_fails(good + "x", Error::InvalidExternalData, "9 bytes, too many");
}

TEST_CASE("a header that is not an npy dictionary is refused", "[npy]") {
  const std::string text =
      GENERATE("", "{", "{}", "{'descr': '<f4', 'fortran_order': False}",
               "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
               "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
               "{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}",
               "{'descr': 4, 'fortran_order': False, 'shape': ()}",
               "{'descr': '<f4, 'fortran_order': False, 'shape': ()}",
               "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
               "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4}",
               "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
               "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
               "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
               "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} tail",
               "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)");
  check_fails(npy_file(text, "abcd"), Error::InvalidExternalData, "npy header");
}

TEST_CASE("types that no tensor has are refused", "[npy]") {
  const std::string descr =
      GENERATE("<f3", "<U4", "|S3", "|O", "<M8[ns]", "<f16", "xf4", "<f", "<f4x", "<q4", "<V3");
  check_fails(npy_file(header(descr, "(1,)"), "abcd"), Error::NotSupported, "type of no tensor");
  check_fails(npy_file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "abcd"),
              Error::NotSupported, "list of fields");
}

TEST_CASE("a shape whose bytes overflow is refused", "[npy]") {
  const std::string shape = GENERATE("(9223372036854775807, 2)", "(4294967296, 4294967296)",
                                     "(2305843009213693952,)", "(0, 4294967296, 4294967296)");
  check_fails(npy_file(header("<f4", shape), ""), Error::InvalidExternalData, "64 bits");
}

TEST_CASE("every shortened or altered header fails or parses without harm", "[npy]") {
  const std::string good = npy_file(header("<i2", "(2, 3)", "True"), std::string(12, 'a'));
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_FALSE(parse(good.substr(0, size)).ok());
  }
  for (std::size_t i = 0; i < good.size() - 12; ++i) {
    for (const char c : {'\0', '9', ')', '\'', ',', '\xff'}) {
      std::string altered = good;
      altered[i] = c;
      const auto array = parse(altered);
      if (array.ok()) CHECK(array->data.size() == 12);
    }
  }
}

TEST_CASE("an array keeps its bytes when its type is the one wanted", "[npy]") {
  auto array = parse(npy_file(header("<f4", "(2,)"), raw<float>({1, 2})));
  REQUIRE(array.ok());
  const void* const before = array->data.data();
  const auto converted = tenon::host::to_scalar_type(*std::move(array), ScalarType::Float);
  REQUIRE(converted.ok());
  CHECK(converted->data.data() == before);
  CHECK(converted->shape == Shape{2});
}

TEST_CASE("bfloat16 is read from ml_dtypes, from its bits and from float32", "[npy]") {
  const auto convert = [](const std::string& descr, const std::string& data) {
    auto array = parse(npy_file(header(descr, "(2,)"), data));
    REQUIRE(array.ok());
    auto converted = tenon::host::to_scalar_type(*std::move(array), ScalarType::BFloat16);
    REQUIRE(converted.ok());
    CHECK(converted->type == ScalarType::BFloat16);
    return values_of<std::uint16_t>(converted->data.span());
  };
  const std::vector<std::uint16_t> bits{0x3fc0, 0xc000};  // 1.5, -2
  CHECK(convert("<V2", raw(bits)) == bits);
  CHECK(convert("|V2", raw(bits)) == bits);
  CHECK(convert("<i2", raw(bits)) == bits);
  CHECK(convert("<u2", raw(bits)) == bits);
  CHECK(convert("<f4", raw<float>({1.5F, -2.0F})) == bits);
  // 1 + 2^-8 is half way between two bfloat16 and is rounded to the even one; 1 + 3 * 2^-8
  // likewise.
  CHECK(convert("<f4", raw<float>({1.00390625F, 1.01171875F})) ==
        std::vector<std::uint16_t>{0x3f80, 0x3f82});
}

TEST_CASE("types without a NumPy form are read from bits of their size", "[npy]") {
  const auto [type, descr] = GENERATE(table<ScalarType, std::string>({
      {ScalarType::Float8_e5m2, "<f1"},
      {ScalarType::Float8_e5m2, "<V1"},
      {ScalarType::Float8_e4m3fn, "<V1"},
      {ScalarType::Float8_e4m3fnuz, "|u1"},
      {ScalarType::Float8_e5m2fnuz, "|i1"},
      {ScalarType::QInt8, "|i1"},
      {ScalarType::QUInt8, "|u1"},
      {ScalarType::Bits8, "|V1"},
      {ScalarType::QInt32, "<i4"},
      {ScalarType::ComplexHalf, "|V4"},
      {ScalarType::Bits16, "<u2"},
  }));
  auto array = parse(npy_file(header(descr, "(1,)"), std::string(tenon::size_of(type), '\x3c')));
  REQUIRE(array.ok());
  const auto converted = tenon::host::to_scalar_type(*std::move(array), type);
  REQUIRE(converted.ok());
  CHECK(converted->type == type);
}

TEST_CASE("another type than the wanted one is refused and both are named", "[npy]") {
  const auto [descr, size, type] = GENERATE(table<std::string, std::size_t, ScalarType>({
      {"<f8", 8, ScalarType::Float},
      {"<f4", 4, ScalarType::Half},
      {"<i4", 4, ScalarType::Long},
      {"|u1", 1, ScalarType::Bool},
      {"|u1", 1, ScalarType::Char},
      {"<V2", 2, ScalarType::Half},
      {"<u2", 2, ScalarType::Short},
      {"<f1", 1, ScalarType::Float8_e4m3fn},
      {"<f8", 8, ScalarType::BFloat16},
      {"<c8", 8, ScalarType::Double},
  }));
  auto array = parse(npy_file(header(descr, "(1,)"), std::string(size, '\0')));
  REQUIRE(array.ok());
  const auto converted = tenon::host::to_scalar_type(*std::move(array), type);
  REQUIRE_FALSE(converted.ok());
  CHECK(converted.error() == Error::InvalidType);
  const std::string text(converted.text());
  CHECK_THAT(text, ContainsSubstring(descr.substr(1)));
  CHECK_THAT(text, ContainsSubstring(std::string(tenon::name_of(type))));
}

TEST_CASE("what is written is read back, for every element type", "[npy]") {
  const std::string path = directory() + "/written.npy";
  for (const auto& info : tenon::scalar_types) {
    CAPTURE(info.name);
    std::string data;
    for (std::size_t i = 0; i < 6 * info.size; ++i) data += static_cast<char>(i + 1);
    const Shape shape{2, 3};
    REQUIRE(tenon::host::write_npy(path, info.type, shape, bytes_of(data)).ok());
    auto array = tenon::host::read_npy(path);
    REQUIRE(array.ok());
    CHECK(array->shape == shape);
    const auto converted = tenon::host::to_scalar_type(*std::move(array), info.type);
    REQUIRE(converted.ok());
    CHECK(std::memcmp(converted->data.data(), data.data(), data.size()) == 0);
  }
}

TEST_CASE("a written header is the one that numpy.save writes", "[npy]") {
  const Shape matrix{2, 3};
  const std::string expected = std::string("\x93NUMPY\x01\x00v\x00", 10) +
                               "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" +
                               std::string(58, ' ') + "\n";
  CHECK(tenon::host::npy_header(ScalarType::Float, matrix) == expected);
  const Shape vector{3};
  CHECK_THAT(tenon::host::npy_header(ScalarType::Bool, vector),
             ContainsSubstring("'|b1', 'fortran_order': False, 'shape': (3,), }"));
  CHECK_THAT(tenon::host::npy_header(ScalarType::BFloat16, {}),
             ContainsSubstring("'<V2', 'fortran_order': False, 'shape': (), }"));
  CHECK(tenon::host::npy_header(ScalarType::Double, matrix).size() % 64 == 0);
}

TEST_CASE("a header beyond 65,535 bytes takes format 2.0", "[npy]") {
  const Shape shape(40000, 1);
  const std::string front = tenon::host::npy_header(ScalarType::Byte, shape);
  CHECK(front[6] == 2);
  const auto array = parse(front + "x");
  REQUIRE(array.ok());
  CHECK(array->shape == shape);
}

TEST_CASE("a file that cannot be read or written is named", "[npy]") {
  const std::string missing = directory() + "/missing/x.npy";
  const auto read = tenon::host::read_npy(missing);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error() == Error::AccessFailed);
  CHECK_THAT(std::string(read.text()), ContainsSubstring("missing/x.npy"));

  const auto no_file = tenon::host::read_npy(directory());
  REQUIRE_FALSE(no_file.ok());
  CHECK_THAT(std::string(no_file.text()), ContainsSubstring("expected a regular file"));

  const auto written = tenon::host::write_npy(missing, ScalarType::Byte, {}, {});
  CHECK(written.error() == Error::AccessFailed);
  CHECK_THAT(std::string(written.text()), ContainsSubstring("missing/x.npy"));

  const std::string damaged = directory() + "/damaged.npy";
  std::ofstream(damaged) << "no array";
  const auto refused = tenon::host::read_npy(damaged);
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("damaged.npy"));
}

TEST_CASE("the fixtures' arrays are read", "[npy]") {
  const auto array =
      tenon::host::read_npy(std::string(TENON_TEST_FIXTURES) + "/mlp_xnnpack/c0_in0.npy");
  REQUIRE(array.ok());
  CHECK(array->kind == 'f');
  CHECK(array->item_size == 4);
}
