// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/arrays/npy.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "tenon/core/tensor.hpp"
#include "tenon/host/layers/arrays/impl/npy_header.hpp"
#include "tenon/host/layers/arrays/impl/strided.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/platform/new_file.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

static_assert(std::endian::native == std::endian::little,
              "npy types are written as little endian without swapping");

inline void swap_bytes(ArrayBytes& data, std::size_t unit) {
  for (std::size_t i = 0; i + unit <= data.size(); i += unit) {
    std::reverse(data.data() + i, data.data() + i + unit);
  }
}

// The elements of `in`, first dimension fastest, in C order.
inline ArrayBytes npy_to_c_order(const ArrayBytes& in, std::span<const std::int64_t> shape,
                                 std::size_t item_size) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  ArrayBytes out = ArrayBytes::uninitialized(in.size());
  gather(out.data(), in.data(), shape, strides, item_size);
  return out;
}

inline char order_of(std::size_t size) { return size == 1 ? '|' : '<'; }

// Whether elements of this kind may be taken as the bits of `type`, which NumPy does not know:
// those that DLPack calls opaque, and those that .npy files hold as bytes without a type.
inline bool holds_bits_of(const NpyArray& array, ScalarType type) {
  const ScalarTypeInfo* const info = find_scalar_type(static_cast<std::int64_t>(type));
  if (!info || array.item_size != info->size) return false;
  if (type == ScalarType::Float8_e5m2 && array.kind == 'f') return true;
  const bool is_raw = array.kind == 'V' || array.kind == 'i' || array.kind == 'u';
  return is_raw && (info->dl.code == TENON_DL_OPAQUE || info->npy_descr[1] == 'V');
}

inline ArrayBytes round_to_bfloat16(const ArrayBytes& in) {
  ArrayBytes out = ArrayBytes::uninitialized(in.size() / 2);
  for (std::size_t i = 0; i < out.size() / 2; ++i) {
    float value = 0;
    std::memcpy(&value, in.data() + i * sizeof(float), sizeof value);
    const std::uint16_t bits = BFloat16::from_float(value).bits;
    std::memcpy(out.data() + i * sizeof bits, &bits, sizeof bits);
  }
  return out;
}

}  // namespace detail

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
                 shape_text(header.shape), " of ", header.item_size, "-byte elements needs ",
                 header.nbytes);
  }
  ArrayBytes data = ArrayBytes::uninitialized(elements.size());
  if (!elements.empty()) std::memcpy(data.data(), elements.data(), elements.size());

  // The two halves of a complex number are swapped each by itself.
  const std::size_t unit = header.kind == 'c' ? header.item_size / 2 : header.item_size;
  if (header.big_endian && unit > 1) detail::swap_bytes(data, unit);
  if (header.fortran_order && header.shape.size() > 1) {
    data = detail::npy_to_c_order(data, header.shape, header.item_size);
  }
  return NpyArray{header.kind, header.item_size, std::move(header.shape), std::move(data)};
}

Result<NpyArray> read_npy(const std::string& path) {
  TENON_TRY(const MappedFile file, MappedFile::open(path_of(path)));
  auto array = parse_npy(file.bytes());
  if (!array.ok()) return std::move(array).status().with_context(path);
  return array;
}

Result<Array> to_scalar_type(NpyArray array, ScalarType wanted) {
  const std::string_view descr = npy_descr(wanted);
  const bool is_same = descr.substr(1) == concat(array.kind, array.item_size) ||
                       detail::holds_bits_of(array, wanted);
  if (is_same) return Array{wanted, std::move(array.shape), std::move(array.data)};
  if (wanted == ScalarType::BFloat16 && array.kind == 'f' && array.item_size == sizeof(float)) {
    return Array{wanted, std::move(array.shape), detail::round_to_bfloat16(array.data)};
  }
  const bool has_bits = wanted == ScalarType::BFloat16;
  return error(Error::InvalidType, "npy elements are '", detail::order_of(array.item_size),
               array.kind, array.item_size, "'; ", name_of(wanted), " needs '", descr, "'",
               has_bits ? " (or '<i2', '<u2', '<f4')" : "");
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
  return write_file(path_of(path), {std::as_bytes(std::span(header)), data});
}

}}}  // namespace tenon::TENON_RELEASE::host
