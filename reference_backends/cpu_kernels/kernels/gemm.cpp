// SPDX-License-Identifier: MIT
// Of the group products.
#include "kernels/gemm.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "onednn/onednn.hpp"
#include "onednn/packed_weights.hpp"
#include "onednn/primitive_desc.hpp"

namespace tenon::cpu_aoti {
namespace {

/// A matrix that dnnl_sgemm can read: one stride is 1, the other at least the size of the first
/// dimension.
struct Operand {
  bool transposed;
  std::int64_t leading;
};

[[nodiscard]] bool as_operand(const MatrixView& matrix, Operand& out) noexcept {
  const auto leading = [](std::int64_t count, std::int64_t stride, std::int64_t run) {
    return count == 1 ? std::max<std::int64_t>(run, 1) : stride;
  };
  const std::int64_t rows = leading(matrix.rows, matrix.row_stride, matrix.cols);
  if ((matrix.col_stride == 1 || matrix.cols == 1) && rows >= matrix.cols) {
    out = {false, rows};
    return true;
  }
  const std::int64_t cols = leading(matrix.cols, matrix.col_stride, matrix.rows);
  if ((matrix.row_stride == 1 || matrix.rows == 1) && cols >= matrix.rows) {
    out = {true, cols};
    return true;
  }
  return false;
}

[[nodiscard]] MatrixView transposed(const MatrixView& matrix) noexcept {
  return {matrix.data, matrix.cols, matrix.rows, matrix.col_stride, matrix.row_stride};
}

/// A copy of `from` without gaps, as floats: in columns when `from` has them without gaps, since
/// an element after the other is converted many times as fast.
Result<Scratch> packed_floats(const MatrixView& from, ScalarType type, MatrixView& to) {
  if (from.row_stride == 1 && from.col_stride != 1) {
    MatrixView copy;
    TENON_TRY(Scratch scratch, packed_floats(transposed(from), type, copy));
    to = transposed(copy);
    return scratch;
  }
  TENON_TRY(Scratch scratch, Scratch::of(from.rows * from.cols * std::int64_t{sizeof(float)}));
  const std::int64_t sizes[] = {from.rows, from.cols};
  const std::int64_t strides[] = {from.row_stride, from.col_stride};
  to = {scratch.as<std::byte>(), from.rows, from.cols, from.cols, 1};
  to_floats(sizes, type, {from.data, strides}, scratch.as<float>());
  return scratch;
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
// gcc 12 warns about the lanes that a vectorised strided load does not fill.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

/// A factor as a number of the elements' type; integers drop what is behind the point. Fails, as
/// PyTorch does, when they do not have the number.
template <class T>
Result<T> factor(double value) {
  if constexpr (std::is_integral_v<T>) {
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    // Also of types without a sign: -1 is the largest number.
    if (!(value >= -end && value < end)) {
      return error(Error::InvalidArgument, "a factor ", value, " of elements of ",
                   name_of(*scalar_type_of<T>), ": expected a number of that type");
    }
    return static_cast<T>(static_cast<std::int64_t>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// Products of double and of integers, by blocks of columns of B that fit the cache. Integers wrap
/// around, as PyTorch's do.
template <class T>
Status by_loops(const Product& p) {
  const CancelFlag cancelled = aoti::cancel_flag();
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  constexpr std::int64_t width = 64;
  TENON_TRY(const T whole_alpha, factor<T>(p.alpha));
  TENON_TRY(const T whole_beta, factor<T>(p.beta));
  const auto alpha = static_cast<Sum>(whole_alpha);
  const auto beta = static_cast<Sum>(whole_beta);
  for (std::int64_t first = 0; first < p.c.cols; first += width) {
    const std::int64_t count = std::min(width, p.c.cols - first);
    for (std::int64_t row = 0; row < p.c.rows; ++row) {
      TENON_RETURN_IF_ERROR(cancelled.check());
      Sum sums[width] = {};
      for (std::int64_t k = 0; k < p.a.cols; ++k) {
        const auto a = static_cast<Sum>(*p.a.at<T>(row, k));
        const T* b = p.b.at<T>(k, first);
        if (p.b.col_stride == 1) {
          for (std::int64_t i = 0; i < count; ++i) sums[i] += a * static_cast<Sum>(b[i]);
        } else {
          for (std::int64_t i = 0; i < count; ++i) {
            sums[i] += a * static_cast<Sum>(b[i * p.b.col_stride]);
          }
        }
      }
      for (std::int64_t i = 0; i < count; ++i) sums[i] *= alpha;
      if (p.beta != 0) {
        for (std::int64_t i = 0; i < count; ++i) {
          sums[i] += beta * static_cast<Sum>(*p.c.at<T>(row, first + i));
        }
      }
      for (std::int64_t i = 0; i < count; ++i) {
        *p.c.at<T>(row, first + i) = static_cast<T>(sums[i]);
      }
    }
  }
  return ok();
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/// C = alpha A B + beta C on float matrices. C has rows or columns without gaps.
Status sgemm(const MatrixView& a, const MatrixView& b, const MatrixView& c, float alpha,
             float beta) {
  Operand left{};
  Operand right{};
  Operand result{};
  if (a.cols == 0) {
    return by_loops<float>({ScalarType::Float, a, b, c, alpha, beta});
  }
  if (!as_operand(c, result)) return error(Error::Internal, "sgemm: a result with gaps");
  if (result.transposed) return sgemm(transposed(b), transposed(a), transposed(c), alpha, beta);
  if (!as_operand(a, left)) {
    MatrixView copy;
    TENON_TRY(const Scratch scratch, packed_floats(a, ScalarType::Float, copy));
    return sgemm(copy, b, c, alpha, beta);
  }
  if (!as_operand(b, right)) {
    MatrixView copy;
    TENON_TRY(const Scratch scratch, packed_floats(b, ScalarType::Float, copy));
    return sgemm(a, copy, c, alpha, beta);
  }
  return onednn::check(
      onednn::api().dnnl_sgemm(left.transposed ? 'T' : 'N', right.transposed ? 'T' : 'N', c.rows,
                               c.cols, a.cols, alpha, a.as<float>(), left.leading, b.as<float>(),
                               right.leading, beta, c.as<float>(), result.leading),
      "sgemm");
}

/// The product for any type that converts to float, through copies of all three matrices.
Status through_floats(const Product& p) {
  MatrixView a, b, c;
  TENON_TRY(const Scratch a_copy, packed_floats(p.a, p.type, a));
  TENON_TRY(const Scratch b_copy, packed_floats(p.b, p.type, b));
  TENON_TRY(const Scratch c_copy, packed_floats(p.c, p.type, c));
  TENON_RETURN_IF_ERROR(sgemm(a, b, c, static_cast<float>(p.alpha), static_cast<float>(p.beta)));
  const MatrixView to = c.col_stride == 1 ? p.c : transposed(p.c);
  const std::int64_t sizes[] = {to.rows, to.cols};
  const std::int64_t strides[] = {to.row_stride, to.col_stride};
  from_floats(sizes, p.type, c.as<float>(), {to.data, strides});
  return ok();
}

/// A product of matrices without gaps.
struct PreparedProduct {
  onednn::Bound bound;
  onednn::PackedForms packed;  ///< Of fixed B, where the primitive wants another format.
};

/// Products with sums in float, by a primitive cached for the shape. With `packs` oneDNN chooses
/// the format of B, which is fixed and is packed for it.
Status by_primitive(const Product& p, bool packs, bool& done) {
  using namespace onednn;
  Operand left{};
  Operand right{};
  Operand result{};
  done = as_operand(p.a, left) && as_operand(p.b, right) && as_operand(p.c, result);
  if (!done) return ok();
  const Key key{static_cast<std::int64_t>(p.type),
                p.a.rows,
                p.a.cols,
                p.b.cols,
                left.leading,
                right.leading,
                result.leading,
                std::int64_t{left.transposed},
                std::int64_t{right.transposed},
                std::int64_t{result.transposed},
                std::bit_cast<std::int64_t>(p.alpha),
                std::bit_cast<std::int64_t>(p.beta),
                std::int64_t{packs}};
  const auto make = [&](PreparedProduct& product) -> Status {
    const auto describe = [&](const MatrixView& matrix, const Operand& operand, ScalarType type) {
      const std::int64_t sizes[] = {matrix.rows, matrix.cols};
      const std::int64_t strides[] = {operand.transposed ? 1 : operand.leading,
                                      operand.transposed ? operand.leading : 1};
      return Format::with_strides(sizes, strides, data_type(type));
    };
    TENON_TRY(const auto a, describe(p.a, left, p.type));
    TENON_TRY(const auto b, describe(p.b, right, p.type));
    auto wanted_b = b;
    if (packs) {
      const std::int64_t sizes[] = {p.b.rows, p.b.cols};
      TENON_TRY(wanted_b, Format::with_tag(sizes, data_type(p.type), dnnl_format_tag_any));
    }
    TENON_TRY(const auto c, describe(p.c, result, p.type));
    TENON_TRY(const PrimitiveDesc desc, onednn::matmul(a, wanted_b, c, static_cast<float>(p.alpha),
                                                       static_cast<float>(p.beta)));
    static constexpr int arguments[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    TENON_RETURN_IF_ERROR(product.bound.make(desc, arguments));
    product.packed.set_formats(b, product.bound.format(DNNL_ARG_WEIGHTS));
    return ok();
  };
  auto prepared = aoti::current_pool().cache<Cache<PreparedProduct>>().get(key, make);
  if (!prepared.ok() && prepared.error() == Error::NotSupported) {
    done = false;  // This processor has no instructions for the type.
    return ok();
  }
  if (!prepared.ok()) return std::move(prepared).status();
  Bound& bound = (*prepared)->bound;
  std::byte* b = p.b.data;
  if ((*prepared)->packed.are_needed()) {
    TENON_TRY(b, (*prepared)->packed.get(p.b.data));
    if (!b) return by_primitive(p, false, done);
  }
  TENON_RETURN_IF_ERROR(bound.set(DNNL_ARG_SRC, p.a.data));
  TENON_RETURN_IF_ERROR(bound.set(DNNL_ARG_WEIGHTS, b));
  TENON_RETURN_IF_ERROR(bound.set(DNNL_ARG_DST, p.c.data));
  return bound.run();
}

Status float_product(const Product& p) {
  Operand result{};
  if (!as_operand(p.c, result)) return through_floats(p);
  // With few rows dnnl_sgemm is slow on a transposed B, PyTorch's layout of a linear layer's
  // weights; the matmul primitive is not.
  Operand right{};
  constexpr std::int64_t fewest = 6;
  constexpr std::int64_t most = 80;
  constexpr std::int64_t smallest = 1 << 14;
  const bool is_slow = p.c.rows <= most && as_operand(p.b, right) && right.transposed;
  if (p.c.rows >= fewest && p.b.rows * p.b.cols >= smallest && p.a.cols > 0 &&
      (is_slow || p.is_b_fixed)) {
    bool done = false;
    TENON_RETURN_IF_ERROR(by_primitive(p, p.is_b_fixed, done));
    if (done) return ok();
  }
  return sgemm(p.a, p.b, p.c, static_cast<float>(p.alpha), static_cast<float>(p.beta));
}

}  // namespace

MatrixView matrix_of(const ModelTensor& tensor, std::int64_t batch) noexcept {
  const auto m = static_cast<std::size_t>(tensor.rank - 2);
  const std::int64_t skipped = tensor.rank == 3 ? batch * tensor.strides[0] : 0;
  return {tensor.data + skipped * static_cast<std::int64_t>(size_of(tensor.scalar_type)),
          tensor.sizes[m], tensor.sizes[m + 1], tensor.strides[m], tensor.strides[m + 1]};
}

Status multiply(const Product& p) {
  if (p.c.rows == 0 || p.c.cols == 0) return ok();
  if (has_vector_product(p)) return multiply_by_vectors(p);
  Product other = p;
  other.a = transposed(p.b);
  other.b = transposed(p.a);
  other.c = transposed(p.c);
  other.is_b_fixed = false;
  if (has_vector_product(other)) {
    return multiply_by_vectors(other);
  }
  switch (p.type) {
    case ScalarType::Float:
      return float_product(p);
    case ScalarType::BFloat16: {
      bool done = false;
      if (p.a.cols > 0) TENON_RETURN_IF_ERROR(by_primitive(p, p.is_b_fixed, done));
      return done ? ok() : through_floats(p);
    }
    case ScalarType::Half:
      return through_floats(p);
    case ScalarType::Double:
      return by_loops<double>(p);
    case ScalarType::Byte:
      return by_loops<std::uint8_t>(p);
    case ScalarType::Char:
      return by_loops<std::int8_t>(p);
    case ScalarType::Short:
      return by_loops<std::int16_t>(p);
    case ScalarType::Int:
      return by_loops<std::int32_t>(p);
    case ScalarType::Long:
      return by_loops<std::int64_t>(p);
    default:
      return error(Error::NotSupported, "a product of ", name_of(p.type),
                   ": expected a real floating point or integer type");
  }
}

}  // namespace tenon::cpu_aoti
