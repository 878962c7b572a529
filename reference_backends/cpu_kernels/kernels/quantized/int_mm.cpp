// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "kernels/kernel_list.hpp"
#include "kernels/quantized/dot_products.hpp"
#include "onednn/onednn.hpp"
#include "onednn/primitive_desc.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;
using namespace onednn;

/// A matrix of bytes as runs of memory along its inner dimension.
struct Runs {
  const std::uint8_t* data;
  std::int64_t stride;
};

/// Elements of one byte: `count` runs of `inner` elements, in the matrix itself when they are
/// adjacent, else in `copy`.
Result<Runs> runs_of(const ModelTensor& matrix, std::size_t outer, std::optional<Scratch>& copy) {
  const std::int64_t count = matrix.sizes[outer];
  const std::int64_t inner = matrix.sizes[1 - outer];
  const std::int64_t outer_stride = matrix.strides[outer];
  const std::int64_t inner_stride = matrix.strides[1 - outer];
  const auto* const from = matrix.as<const std::uint8_t>();
  if (inner_stride == 1 || inner <= 1) return Runs{from, outer_stride};
  TENON_TRY(copy, Scratch::of(matrix.numel));
  auto* const to = copy->as<std::uint8_t>();
  // The lines of memory that a tile touches stay in the first-level cache.
  constexpr std::int64_t tile = 64;
  for (std::int64_t i0 = 0; i0 < count; i0 += tile) {
    for (std::int64_t k0 = 0; k0 < inner; k0 += tile) {
      for (std::int64_t i = i0; i < std::min(i0 + tile, count); ++i) {
        for (std::int64_t k = k0; k < std::min(k0 + tile, inner); ++k) {
          to[i * inner + k] = from[i * outer_stride + k * inner_stride];
        }
      }
    }
  }
  return Runs{to, inner};
}

/// A product of one shape.
struct IntProduct {
  Bound bound;
};

/// A product by oneDNN's matmul, cached for the shape. It is for `b` with a sign, and `a` with or
/// without one.
Status by_primitive(const DotProducts& p) {
  const Key key{p.rows,
                p.columns,
                p.inner,
                p.a_stride,
                p.b_stride,
                p.row_stride,
                p.column_stride,
                std::int64_t{p.a_is_byte},
                std::int64_t{p.b_in_rows}};
  const auto make = [&](IntProduct& product) -> Status {
    const std::int64_t a_sizes[] = {p.rows, p.inner}, a_strides[] = {p.a_stride, 1};
    const std::int64_t b_sizes[] = {p.inner, p.columns};
    const std::int64_t b_strides[] = {p.b_in_rows ? p.b_stride : 1, p.b_in_rows ? 1 : p.b_stride};
    const std::int64_t sizes[] = {p.rows, p.columns}, strides[] = {p.row_stride, p.column_stride};
    TENON_TRY(const auto a,
              Format::with_strides(a_sizes, a_strides, p.a_is_byte ? dnnl_u8 : dnnl_s8));
    TENON_TRY(const auto b, Format::with_strides(b_sizes, b_strides, dnnl_s8));
    TENON_TRY(const auto out, Format::with_strides(sizes, strides, dnnl_s32));
    TENON_TRY(const PrimitiveDesc desc, onednn::matmul(a, b, out));
    static constexpr int arguments[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    return product.bound.make(desc, arguments);
  };
  TENON_TRY(IntProduct* const found,
            aoti::current_pool().cache<Cache<IntProduct>>().get(key, make));
  Bound& product = found->bound;
  // oneDNN only reads these arguments, but its interface has no const.
  TENON_RETURN_IF_ERROR(product.set(DNNL_ARG_SRC, const_cast<void*>(p.a)));
  TENON_RETURN_IF_ERROR(product.set(DNNL_ARG_WEIGHTS, const_cast<std::int8_t*>(p.b)));
  TENON_RETURN_IF_ERROR(product.set(DNNL_ARG_DST, p.out));
  return product.run();
}

/// A product of Char by the primitive for Byte: 128 is added to all of `a`, and 128 times the sum
/// of each column of `b`, which is a product, too, is subtracted from the results.
Status without_sign(DotProducts p, VectorLevel level) {
  TENON_TRY(const Scratch shifted, Scratch::of((p.rows + 1) * p.inner));
  TENON_TRY(const Scratch excess,
            Scratch::of(p.columns * static_cast<std::int64_t>(sizeof(std::uint32_t))));
  auto* const bytes = shifted.as<std::uint8_t>();
  auto* const excess_of = excess.as<std::uint32_t>();
  for (std::int64_t i = 0; i < p.rows; ++i) {
    const auto* const row = static_cast<const std::uint8_t*>(p.a) + i * p.a_stride;
    for (std::int64_t k = 0; k < p.inner; ++k) {
      bytes[i * p.inner + k] = static_cast<std::uint8_t>(row[k] ^ 0x80u);
    }
  }
  std::fill_n(bytes + p.rows * p.inner, p.inner, std::uint8_t{128});
  p.a = bytes;
  p.a_stride = p.inner;
  p.a_is_byte = true;
  TENON_RETURN_IF_ERROR(by_primitive(p));
  DotProducts sums = p;
  sums.a = bytes + p.rows * p.inner;
  sums.rows = 1;
  sums.out = excess_of;
  sums.column_stride = 1;
  multiply(sums, level);
  TENON_RETURN_IF_ERROR(aoti::cancel_flag().check());
  for (std::int64_t i = 0; i < p.rows; ++i) {
    std::uint32_t* const row = p.out + i * p.row_stride;
    for (std::int64_t j = 0; j < p.columns; ++j) row[j * p.column_stride] -= excess_of[j];
  }
  return ok();
}

/// oneDNN's matmul is exact for Byte. Its sums for Char become floats, so those above 2^24 are not
/// exact; and on processors without VNNI it adds two products in 16 bits, which saturates (observed
/// with oneDNN 2.6 and up to 140,000 products of the largest numbers).
Status multiply(const ModelTensor& a, const ModelTensor& b, const ModelTensor& out) {
  const VectorLevel level = vector_level();
  const bool in_rows = level >= VectorLevel::vnni && b.strides[1] == 1 && b.strides[0] != 1;
  std::optional<Scratch> a_copy, b_copy;
  TENON_TRY(const Runs left, runs_of(a, 0, a_copy));
  Runs right{b.as<const std::uint8_t>(), b.strides[0]};
  if (!in_rows) {
    TENON_TRY(right, runs_of(b, 1, b_copy));
  }
  const DotProducts product{
      left.data,
      reinterpret_cast<const std::int8_t*>(right.data),
      out.as<std::uint32_t>(),
      a.sizes[0],
      b.sizes[1],
      a.sizes[1],
      left.stride,
      right.stride,
      out.strides[0],
      out.strides[1],
      a.scalar_type == ScalarType::Byte,
      in_rows,
  };
  constexpr std::int64_t many_rows = 8;  // With fewer, oneDNN is slower.
  const bool is_plain = product.row_stride >= product.columns && product.column_stride == 1 &&
                        product.a_stride >= product.inner &&
                        product.b_stride >= (in_rows ? product.columns : product.inner);
  if (level < VectorLevel::vnni || product.rows < many_rows || product.inner == 0 || !is_plain) {
    multiply(product, level);
    return aoti::cancel_flag().check();
  }
  constexpr std::int64_t most_inner = (std::int64_t{1} << 24) / (128 * 128);
  const bool is_exact = product.a_is_byte || product.inner <= most_inner;
  return is_exact ? by_primitive(product) : without_sign(product, level);
}

Status int_mm(const ModelTensor& out, const ModelTensor& a, const ModelTensor& b) {
  // Activations may lack a sign, weights may not: torchao's dynamic quantisation has both kinds.
  const bool known = a.scalar_type == ScalarType::Char || a.scalar_type == ScalarType::Byte;
  if (!known || b.scalar_type != ScalarType::Char || out.scalar_type != ScalarType::Int) {
    return error(Error::InvalidType, "a product of ", name_of(a.scalar_type), " and ",
                 name_of(b.scalar_type), " in ", name_of(out.scalar_type),
                 ": expected Char or Byte, Char for the second, and Int for the result");
  }
  if (a.rank != 2 || b.rank != 2 || out.rank != 2 || a.sizes[1] != b.sizes[0] ||
      out.sizes[0] != a.sizes[0] || out.sizes[1] != b.sizes[1]) {
    return error(Error::InvalidArgument, "a product of ", shape_text(a.shape()), " and ",
                 shape_text(b.shape()), " in ", shape_text(out.shape()),
                 ": expected [M, K], [K, N] and [M, N]");
  }
  return out.numel > 0 ? multiply(a, b, out) : ok();
}

}  // namespace

ShimError aoti_torch_cpu__int_mm_out(ModelTensor* out, ModelTensor* self,
                                     ModelTensor* mat2) noexcept {
  return shim_call("_int_mm_out", [&] { return int_mm(*out, *self, *mat2); });
}

}  // namespace tenon::cpu_aoti
