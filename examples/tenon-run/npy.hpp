// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"

// NumPy's .npy files (format 1.0, 2.0 and 3.0), read by our own code: no C++ library for them is
// packaged by Debian, and the small ones that projects copy around do not know the void types in
// which ml_dtypes saves bfloat16 and float8, which is what most tensors of today's models are.

namespace tenon::run {

/// Bytes on a 64-byte boundary, as vector code likes its tensors. Movable only; freed with it.
class Bytes {
 public:
  Bytes() = default;
  /// `size` bytes, all zero. Throws std::bad_alloc.
  explicit Bytes(std::size_t size);

  [[nodiscard]] std::byte* data() noexcept { return data_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const std::byte> span() const noexcept { return {data_.get(), size_}; }

 private:
  static constexpr std::align_val_t alignment_{64};
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete[](data, alignment_); }
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_ = 0;
};

/// What a .npy file holds, before it is known which element type the program wants: elements in C
/// order and in this machine's byte order.
struct NpyArray {
  char kind = 0;              ///< NumPy's: 'b', 'i', 'u', 'f', 'c', or 'V' for bytes of no type.
  std::size_t item_size = 0;  ///< Bytes of one element.
  std::vector<std::int64_t> shape;
  Bytes data;
};

/// An array of one of ExecuTorch's element types, in C order.
struct Array {
  ScalarType type = ScalarType::Float;
  std::vector<std::int64_t> shape;
  Bytes data;
};

/// Reads a .npy file that lies in memory. Fails with InvalidExternalData when it is damaged (magic,
/// version, header, shape, too few or too many bytes) and with NotSupported when it holds something
/// that no tensor does (structured, object and text types).
[[nodiscard]] Result<NpyArray> parse_npy(std::span<const std::byte> file);

/// Reads the file `path`, as `parse_npy` does; its text names the file. AccessFailed when the file
/// cannot be read.
[[nodiscard]] Result<NpyArray> read_npy(const std::string& path);

/// Takes `array` as elements of `wanted`, the type that the program names:
///
///   the same type                 as it is, nothing is copied
///   BFloat16                      <V2 (ml_dtypes), <i2 and <u2 are its bits; <f4 is rounded
///   Half                          <f2 only
///   Float8_*                      |V1 (ml_dtypes), |u1 and |i1 are its bits; <f1 is e5m2
///   ComplexHalf, quantized, Bits* |V and integers of the same size are its bits
///
/// Everything else is InvalidType: a float64 file for a float32 input is a mistake to be seen, not
/// one to be rounded away.
[[nodiscard]] Result<Array> to_scalar_type(NpyArray array, ScalarType wanted);

/// NumPy's name of the type that `write_npy` gives to `type`: "<f4". BFloat16 is "<V2", as
/// ml_dtypes saves it; float8 is "|V1" (ml_dtypes saves e5m2 as "<f1", which numpy.load refuses).
/// Quantized and Bits types are integers of their size, ComplexHalf is "|V4".
[[nodiscard]] std::string_view npy_descr(ScalarType type);

/// Everything of a .npy file before its data, padded to 64 bytes: format 1.0, or 2.0 when the
/// header does not fit into 65,535 bytes.
[[nodiscard]] std::string npy_header(ScalarType type, std::span<const std::int64_t> shape);

/// Writes a file that numpy.load reads, replacing `path`. `data` is in C order and has the bytes
/// that `shape` asks for. Fails with AccessFailed.
[[nodiscard]] Status write_npy(const std::string& path, ScalarType type,
                               std::span<const std::int64_t> shape,
                               std::span<const std::byte> data);

/// "[2, 3]".
[[nodiscard]] std::string describe_shape(std::span<const std::int64_t> shape);

}  // namespace tenon::run
