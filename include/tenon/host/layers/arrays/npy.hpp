// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/layers/arrays/array.hpp"

/// NumPy's .npy files (format 1.0, 2.0 and 3.0). Read by our own code: Debian packages no C++
/// library for them, and the small libraries that projects copy do not know the void types in which
/// ml_dtypes saves bfloat16 and float8, types that most tensors have today.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The contents of a .npy file, before it is known which element type the program wants: elements
/// in C order and in this machine's byte order.
struct NpyArray {
  char kind = 0;              ///< NumPy's: 'b', 'i', 'u', 'f', 'c', or 'V' for bytes of no type.
  std::size_t item_size = 0;  ///< Bytes of one element.
  std::vector<std::int64_t> shape;
  ArrayBytes data;
};

/// NumPy's name of the type that `write_npy` gives to `type`: "<f4" (ScalarTypeInfo::npy_descr).
[[nodiscard]] inline std::string_view npy_descr(ScalarType type) {
  const ScalarTypeInfo* const info = find_scalar_type(static_cast<std::int64_t>(type));
  return info ? info->npy_descr : std::string_view("|V1");
}

/// Reads a .npy file that is in memory. Fails with InvalidExternalData when it is damaged (magic,
/// version, header, shape, too few or too many bytes) and with NotSupported for types that no
/// tensor has (structured, object and text types).
[[nodiscard]] Result<NpyArray> parse_npy(std::span<const std::byte> file);

/// Reads the file `path`, as `parse_npy` does; its text names the file. AccessFailed when the file
/// cannot be read.
[[nodiscard]] Result<NpyArray> read_npy(const std::string& path);

/// Takes `array` as elements of `wanted`, the type that the program names:
///
///   the same type                 unchanged, nothing is copied
///   BFloat16                      <V2 (ml_dtypes), <i2 and <u2 are its bits; <f4 is rounded
///   Half                          <f2 only
///   Float8_*                      |V1 (ml_dtypes), |u1 and |i1 are its bits; <f1 is e5m2
///   ComplexHalf, quantized, Bits* |V and integers of the same size are its bits
///
/// Everything else is InvalidType: a float64 file for a float32 input is reported, not rounded.
[[nodiscard]] Result<Array> to_scalar_type(NpyArray array, ScalarType wanted);

/// Everything of a .npy file before its data, padded to 64 bytes: format 1.0, or 2.0 when the
/// header does not fit into 65,535 bytes.
[[nodiscard]] std::string npy_header(ScalarType type, std::span<const std::int64_t> shape);

/// Writes a file that numpy.load reads, replacing `path`. `data` is in C order and has the bytes
/// that `shape` asks for. Fails as `write_file` (host/files) does.
[[nodiscard]] Status write_npy(const std::string& path, ScalarType type,
                               std::span<const std::int64_t> shape,
                               std::span<const std::byte> data);

}}}  // namespace tenon::TENON_RELEASE::host
