// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "kernels/vectors/vector_level.hpp"
#include "strided.hpp"

/// Products of floats with weights of few bits.
namespace tenon::cpu_aoti {

/// [columns, inner] of Char, with columns at a distance of `stride`.
struct Int8Weights {
  const std::int8_t* data;
  std::int64_t columns, inner, stride;
};

/// out [rows, columns] = x [rows, inner] times the weights, all rows without gaps, with code of
/// `level`, which this processor must have.
void multiply(const Int8Weights& weights, const float* x, std::int64_t rows, float* out,
              VectorLevel level) noexcept;

/// How PyTorch packs columns of weights of four bits: blocks of columns, in each [inner] rows of
/// half as many bytes. It depends on the processor (aten/src/ATen/native/cpu/int4mm_kernel.cpp,
/// weight_to_int4pack_kernel).
enum class Int4Layout : std::uint8_t {
  pairs32,   ///< blocks of 32; a byte has two adjacent columns, the first in the low half
  halves32,  ///< blocks of 32; byte i has columns i and i + 16
  halves64,  ///< blocks of 64; byte i has columns i and i + 32
};

/// The layout of PyTorch on this processor (aten/src/ATen/native/DispatchStub.cpp,
/// compute_cpu_capability). Nothing in a program names it: PyTorch also reads weights that were
/// packed on another processor in its own layout.
[[nodiscard]] constexpr Int4Layout int4_layout(VectorLevel level) noexcept {
  return level >= VectorLevel::avx512 ? Int4Layout::halves64
         : level == VectorLevel::avx2 ? Int4Layout::halves32
                                      : Int4Layout::pairs32;
}

/// Packed weights of `columns`, a multiple of 16, by `inner`. A number q means
/// (q - 8) * scale + zero, with `scales` [inner / group, columns, 2] of Float, BFloat16 or Half. A
/// last block that is not full has pairs in each layout.
struct Int4Weights {
  const std::uint8_t* data;
  std::int64_t columns, inner, group;
  const void* scales;
  ScalarType type;
};

/// out [rows, columns] = x [rows, inner] times the weights, as for Int8Weights. `group_sums` [rows,
/// inner / group] are the sums of x in each group. Results that are not finite in this way are
/// computed with scale and zero applied to each weight, as by PyTorch (int4mm_kernel.cpp,
/// tinygemm_kernel).
void multiply(const Int4Weights& weights, const float* x, const float* group_sums,
              std::int64_t rows, float* out, Int4Layout layout, VectorLevel level) noexcept;

/// A matrix as contiguous rows of floats: itself when it is one, else a copy.
class FloatRows {
 public:
  static Result<FloatRows> of(const ModelTensor& matrix) {
    FloatRows out;
    if (matrix.scalar_type == ScalarType::Float && matrix.strides[1] == 1 &&
        (matrix.strides[0] == matrix.sizes[1] || matrix.sizes[0] == 1)) {
      out.data_ = matrix.as<float>();
      return out;
    }
    TENON_TRY(out.copy_, Scratch::of(matrix.numel * std::int64_t{sizeof(float)}));
    out.data_ = out.copy_->as<float>();
    to_floats(matrix.shape(), matrix.scalar_type, {matrix.data, matrix.strides.data()}, out.data_);
    return out;
  }

  [[nodiscard]] float* data() const noexcept { return data_; }

 private:
  std::optional<Scratch> copy_;
  float* data_ = nullptr;
};

/// A contiguous matrix to compute in as floats: `out` itself when it is of Float, else a copy.
class FloatResult {
 public:
  static Result<FloatResult> of(const ModelTensor& out) {
    FloatResult made;
    if (out.scalar_type == ScalarType::Float) {
      made.data_ = out.as<float>();
      return made;
    }
    TENON_TRY(made.copy_, Scratch::of(out.numel * std::int64_t{sizeof(float)}));
    made.data_ = made.copy_->as<float>();
    return made;
  }

  [[nodiscard]] float* data() const noexcept { return data_; }

  /// Rounds the numbers to the type of `out`, which is the tensor that this was made of.
  void round_to(const ModelTensor& out) const noexcept {
    if (copy_) from_floats(out.shape(), out.scalar_type, data_, {out.data, out.strides.data()});
  }

 private:
  std::optional<Scratch> copy_;
  float* data_ = nullptr;
};

}  // namespace tenon::cpu_aoti
