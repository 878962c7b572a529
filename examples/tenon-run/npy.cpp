// SPDX-License-Identifier: MIT
#include "npy.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "npy_header.hpp"
#include "strided.hpp"
#include "tenon/host/mapped_file.hpp"

namespace tenon::run {
namespace {

static_assert(std::endian::native == std::endian::little,
              "npy types are written as little endian without swapping");

void swap_bytes(Bytes& data, std::size_t unit) {
  for (std::size_t i = 0; i + unit <= data.size(); i += unit) {
    std::reverse(data.data() + i, data.data() + i + unit);
  }
}

// The elements of `in`, first dimension fastest, in C order.
Bytes to_c_order(const Bytes& in, std::span<const std::int64_t> shape, std::size_t item_size) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  Bytes out(in.size());
  gather(out.data(), in.data(), shape, strides, item_size);
  return out;
}

char order_of(std::size_t size) { return size == 1 ? '|' : '<'; }

// Whether elements of this kind may be taken as the bits of `type`, which NumPy does not know.
bool holds_bits_of(const NpyArray& array, ScalarType type) {
  if (array.item_size != size_of(type)) return false;
  const bool is_raw = array.kind == 'V' || array.kind == 'i' || array.kind == 'u';
  switch (type) {
    case ScalarType::Float8_e5m2:
      return is_raw || array.kind == 'f';
    case ScalarType::BFloat16:
    case ScalarType::ComplexHalf:
    case ScalarType::QInt8:
    case ScalarType::QUInt8:
    case ScalarType::QInt32:
    case ScalarType::QUInt4x2:
    case ScalarType::QUInt2x4:
    case ScalarType::Bits1x8:
    case ScalarType::Bits2x4:
    case ScalarType::Bits4x2:
    case ScalarType::Bits8:
    case ScalarType::Bits16:
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e5m2fnuz:
    case ScalarType::Float8_e4m3fnuz:
      return is_raw;
    default:
      return false;
  }
}

Bytes round_to_bfloat16(const Bytes& in) {
  Bytes out(in.size() / 2);
  for (std::size_t i = 0; i < out.size() / 2; ++i) {
    float value = 0;
    std::memcpy(&value, in.data() + i * sizeof(float), sizeof value);
    const std::uint16_t bits = BFloat16::from_float(value).bits;
    std::memcpy(out.data() + i * sizeof bits, &bits, sizeof bits);
  }
  return out;
}

}  // namespace

Bytes::Bytes(std::size_t size)
    : data_(static_cast<std::byte*>(::operator new[](std::max<std::size_t>(size, 1), alignment_))),
      size_(size) {
  std::memset(data_.get(), 0, std::max<std::size_t>(size, 1));
}

Result<NpyArray> parse_npy(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  TENON_TRY(const NpyPreamble preamble,
            parse_npy_preamble(text.substr(0, npy_preamble_size), file.size()));
  TENON_TRY(NpyHeader header,
            parse_npy_header(text.substr(preamble.header_offset, preamble.header_size)));
  const auto elements = file.subspan(preamble.header_offset + preamble.header_size);
  if (elements.size() != header.nbytes) {
    return error(Error::InvalidExternalData, "npy data has ", elements.size(), " bytes, ",
                 elements.size() < header.nbytes ? "too few" : "too many", "; shape ",
                 describe_shape(header.shape), " of ", header.item_size, "-byte elements needs ",
                 header.nbytes);
  }
  Bytes data(elements.size());
  if (!elements.empty()) std::memcpy(data.data(), elements.data(), elements.size());

  // The two halves of a complex number are swapped each by itself.
  const std::size_t unit = header.kind == 'c' ? header.item_size / 2 : header.item_size;
  if (header.big_endian && unit > 1) swap_bytes(data, unit);
  if (header.fortran_order && header.shape.size() > 1) {
    data = to_c_order(data, header.shape, header.item_size);
  }
  return NpyArray{header.kind, header.item_size, std::move(header.shape), std::move(data)};
}

Result<NpyArray> read_npy(const std::string& path) {
  TENON_TRY(const host::MappedFile file, host::MappedFile::open(path));
  auto array = parse_npy(file.bytes());
  if (!array.ok()) return std::move(array).status().with_context(path);
  return array;
}

Result<Array> to_scalar_type(NpyArray array, ScalarType wanted) {
  const std::string_view descr = npy_descr(wanted);
  const bool is_same =
      descr.substr(1) == concat(array.kind, array.item_size) || holds_bits_of(array, wanted);
  if (is_same) return Array{wanted, std::move(array.shape), std::move(array.data)};
  if (wanted == ScalarType::BFloat16 && array.kind == 'f' && array.item_size == sizeof(float)) {
    return Array{wanted, std::move(array.shape), round_to_bfloat16(array.data)};
  }
  const bool has_bits = wanted == ScalarType::BFloat16;
  return error(Error::InvalidType, "npy elements are '", order_of(array.item_size), array.kind,
               array.item_size, "'; ", name_of(wanted), " needs '", descr, "'",
               has_bits ? " (or '<i2', '<u2', '<f4')" : "");
}

std::string_view npy_descr(ScalarType type) {
  switch (type) {
    case ScalarType::Bool:
      return "|b1";
    case ScalarType::Char:
    case ScalarType::QInt8:
      return "|i1";
    case ScalarType::Byte:
    case ScalarType::QUInt8:
    case ScalarType::QUInt4x2:
    case ScalarType::QUInt2x4:
    case ScalarType::Bits1x8:
    case ScalarType::Bits2x4:
    case ScalarType::Bits4x2:
    case ScalarType::Bits8:
      return "|u1";
    case ScalarType::Short:
      return "<i2";
    case ScalarType::Int:
    case ScalarType::QInt32:
      return "<i4";
    case ScalarType::Long:
      return "<i8";
    case ScalarType::UInt16:
    case ScalarType::Bits16:
      return "<u2";
    case ScalarType::UInt32:
      return "<u4";
    case ScalarType::UInt64:
      return "<u8";
    case ScalarType::Half:
      return "<f2";
    case ScalarType::Float:
      return "<f4";
    case ScalarType::Double:
      return "<f8";
    case ScalarType::ComplexHalf:
      return "|V4";
    case ScalarType::ComplexFloat:
      return "<c8";
    case ScalarType::ComplexDouble:
      return "<c16";
    case ScalarType::BFloat16:
      return "<V2";
    case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e5m2fnuz:
    case ScalarType::Float8_e4m3fnuz:
      return "|V1";
  }
  return "|V1";
}

std::string npy_header(ScalarType type, std::span<const std::int64_t> shape) {
  std::string text =
      concat("{'descr': '", npy_descr(type), "', 'fortran_order': False, 'shape': (");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += concat(i == 0 ? "" : " ", shape[i], i + 1 < shape.size() || i == 0 ? "," : "");
  }
  text += "), }";

  const auto padded = [&](std::size_t front) { return (front + text.size() + 1 + 63) / 64 * 64; };
  const bool is_short = padded(10) - 10 <= 0xffff;
  const std::size_t front = is_short ? 10 : 12;
  const std::size_t length = padded(front) - front;
  text.append(length - 1 - text.size(), ' ');
  text.push_back('\n');

  std::string out = "\x93NUMPY";
  out.push_back(is_short ? '\x01' : '\x02');
  out.push_back('\x00');
  for (std::size_t i = 0; i < front - 8; ++i) {
    out.push_back(static_cast<char>(length >> (8 * i) & 0xff));
  }
  return out + text;
}

Status write_npy(const std::string& path, ScalarType type, std::span<const std::int64_t> shape,
                 std::span<const std::byte> data) {
  const std::string header = npy_header(type, shape);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  file.close();
  if (!file) {
    return error(Error::AccessFailed, "file '", path,
                 "': it cannot be written: ", std::string_view(std::strerror(errno)));
  }
  return ok();
}

std::string describe_shape(std::span<const std::int64_t> shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += concat(i == 0 ? "" : ", ", shape[i]);
  return out + "]";
}

}  // namespace tenon::run
