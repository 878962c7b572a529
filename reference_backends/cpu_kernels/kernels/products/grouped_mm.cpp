// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/gemm.hpp"
#include "kernels/kernel_list.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

/// The products of matrices whose sizes are read when the model runs, as in a mixture of experts.
/// Group g begins where the one before it ends, and ends at `ends[g]`. It takes (ATen:
/// aten/src/ATen/native/GroupedMMUtils.h)
///
/// | a         | b         | result    | of each group                                        |
/// |-----------|-----------|-----------|------------------------------------------------------|
/// | [M, K]    | [G, K, N] | [M, N]    | rows of `a` and of the result, matrix g of `b`       |
/// | [G, M, K] | [K, N]    | [M, N]    | matrix g of `a`, columns of `b` and of the result    |
/// | [M, K]    | [K, N]    | [G, M, N] | columns of `a`, rows of `b`, matrix g of the result  |
/// | [G, M, K] | [G, K, N] | [G, M, N] | matrix g of all three, without ends                  |
struct Groups {
  const ModelTensor& a;
  const ModelTensor& b;
  const ModelTensor* ends;  ///< [G], or null
};

/// One dimension of a matrix, of which a group has a part.
enum class Part { none, rows, columns };

Status check_arguments(const Groups& g) {
  const ScalarType type = g.a.scalar_type;
  if ((type != ScalarType::Float && type != ScalarType::BFloat16 && type != ScalarType::Half) ||
      g.b.scalar_type != type) {
    return error(Error::InvalidType, "operands of ", name_of(type), " and ",
                 name_of(g.b.scalar_type), ": expected both Float, BFloat16 or Half");
  }
  const auto is_matrix = [](const ModelTensor& tensor) {
    return tensor.rank == 2 || tensor.rank == 3;
  };
  if (!is_matrix(g.a) || !is_matrix(g.b) ||
      g.a.sizes[static_cast<std::size_t>(g.a.rank - 1)] !=
          g.b.sizes[static_cast<std::size_t>(g.b.rank - 2)]) {
    return error(Error::InvalidArgument, "operands ", shape_text(g.a.shape()), " and ",
                 shape_text(g.b.shape()),
                 ": expected [M, K] or [G, M, K], and [K, N] or [G, K, N]");
  }
  const bool needs_ends = g.a.rank == 2 || g.b.rank == 2;
  if (needs_ends != (g.ends != nullptr)) {
    return error(Error::InvalidArgument, "operands ", shape_text(g.a.shape()), " and ",
                 shape_text(g.b.shape()), needs_ends ? " without" : " with",
                 " offsets: expected them where an operand is one matrix, and only there");
  }
  if (g.ends && (g.ends->rank != 1 || g.ends->scalar_type != ScalarType::Int)) {
    return error(Error::InvalidArgument, "offsets of ", name_of(g.ends->scalar_type), " ",
                 shape_text(g.ends->shape()), ": expected Int and one dimension");
  }
  for (const ModelTensor* tensor : {&g.a, &g.b}) {
    const std::int64_t groups = g.ends           ? g.ends->sizes[0]
                                : tensor == &g.a ? g.b.sizes[0]
                                                 : g.a.sizes[0];
    if (tensor->rank == 3 && tensor->sizes[0] != groups) {
      return error(Error::InvalidArgument, "an operand ", shape_text(tensor->shape()),
                   ": expected as many matrices as groups, ", groups);
    }
  }
  return ok();
}

/// Each row of the result begins at a multiple of 16 bytes, as in PyTorch.
Result<OwnedTensor> new_result(const Groups& g) {
  const std::int64_t rows = g.a.sizes[static_cast<std::size_t>(g.a.rank - 2)];
  const std::int64_t columns = g.b.sizes[static_cast<std::size_t>(g.b.rank - 1)];
  const std::int64_t alignment = 16 / static_cast<std::int64_t>(size_of(g.a.scalar_type));
  const std::int64_t step = (columns + alignment - 1) / alignment * alignment;
  if (g.a.rank != g.b.rank) {
    const std::int64_t sizes[] = {rows, columns}, strides[] = {step, 1};
    return new_tensor(sizes, strides, g.a.scalar_type);
  }
  const std::int64_t groups = g.ends ? g.ends->sizes[0] : g.a.sizes[0];
  const std::int64_t sizes[] = {groups, rows, columns}, strides[] = {rows * step, step, 1};
  return new_tensor(sizes, strides, g.a.scalar_type);
}

/// Matrix `group` of a batch, or the elements `begin` to `end` of one dimension of the only matrix.
MatrixView part_of(const ModelTensor& tensor, std::int64_t group, Part part, std::int64_t begin,
                   std::int64_t end) {
  MatrixView view = matrix_of(tensor, group);
  std::int64_t skipped = 0;
  if (part == Part::rows) {
    skipped = begin * view.row_stride;
    view.rows = end - begin;
  } else if (part == Part::columns) {
    skipped = begin * view.col_stride;
    view.cols = end - begin;
  }
  view.data += skipped * static_cast<std::int64_t>(size_of(tensor.scalar_type));
  return view;
}

void fill_with_zeros(const MatrixView& view, std::size_t element) {
  for (std::int64_t row = 0; row < view.rows; ++row) {
    std::byte* const first = view.data + row * view.row_stride * static_cast<std::int64_t>(element);
    std::fill_n(first, static_cast<std::size_t>(view.cols) * element, std::byte{0});
  }
}

Status multiply_groups(const Groups& g, const ModelTensor& out) {
  const bool a_is_one = g.a.rank == 2, b_is_one = g.b.rank == 2;
  const Part of_a = !a_is_one ? Part::none : b_is_one ? Part::columns : Part::rows;
  const Part of_b = !b_is_one ? Part::none : a_is_one ? Part::rows : Part::columns;
  const Part of_out = out.rank == 3 ? Part::none : a_is_one ? Part::rows : Part::columns;
  const std::int64_t groups = g.ends ? g.ends->sizes[0] : g.a.sizes[0];
  const std::int64_t length = a_is_one ? g.a.sizes[b_is_one ? 1 : 0] : g.b.sizes[b_is_one ? 1 : 2];
  std::int64_t begin = 0;
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t end =
        g.ends ? g.ends->as<const std::int32_t>()[group * g.ends->strides[0]] : length;
    if (end < begin || end > length) {
      return error(Error::InvalidArgument, "offset ", end, " of group ", group,
                   ": expected one from ", begin, " to ", length);
    }
    const MatrixView result = part_of(out, group, of_out, begin, end);
    const MatrixView a = part_of(g.a, group, of_a, begin, end);
    if (a.cols == 0) {
      fill_with_zeros(result, size_of(out.scalar_type));
    } else {
      TENON_RETURN_IF_ERROR(multiply({.type = out.scalar_type,
                                      .a = a,
                                      .b = part_of(g.b, group, of_b, begin, end),
                                      .c = result}));
    }
    if (g.ends) begin = end;
  }
  // PyTorch leaves what is in no group as it is in memory.
  if (of_out != Part::none) {
    fill_with_zeros(part_of(out, 0, of_out, begin, length), size_of(out.scalar_type));
  }
  return ok();
}

Status grouped_mm(const Groups& groups, const ModelTensor* const* bias,
                  const std::int32_t* out_dtype, ModelTensor** ret0) {
  TENON_RETURN_IF_ERROR(check_arguments(groups));
  if (bias && *bias) {
    return error(Error::NotSupported, "a bias: expected none, as PyTorch does");
  }
  if (out_dtype && *out_dtype != static_cast<std::int32_t>(groups.a.scalar_type)) {
    return error(Error::NotSupported, "a result of dtype ", *out_dtype,
                 ": expected the dtype of the "
                 "operands, ",
                 name_of(groups.a.scalar_type));
  }
  TENON_TRY(OwnedTensor out, new_result(groups));
  TENON_RETURN_IF_ERROR(multiply_groups(groups, *out));
  *ret0 = out.take();
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu__grouped_mm(ModelTensor* self, ModelTensor* mat2, ModelTensor** offs,
                                     ModelTensor** bias, std::int32_t* out_dtype,
                                     ModelTensor** ret0) noexcept {
  return shim_call("_grouped_mm", [&] {
    return grouped_mm({*self, *mat2, offs ? *offs : nullptr}, bias, out_dtype, ret0);
  });
}

}  // namespace tenon::cpu_aoti
