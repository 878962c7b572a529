// SPDX-License-Identifier: MIT
//
// Matrix products, convolutions, attention and topk. Each checks its arguments and enqueues kernels
// of `own_kernels.cpp`.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "device/metal_context.hpp"
#include "operators/operator_checks.hpp"
#include "shims/shim_list.hpp"

namespace tenon::metal_aoti {

namespace {

/// True when the kernels may read four elements at a time along dimension `along` of the three or
/// four that `strides` has: they are adjacent and aligned, wherever a row begins.
template <std::size_t rank>
bool reads_vectors(const ModelTensor& tensor, const std::array<std::int64_t, rank>& strides,
                   std::size_t along) noexcept {
  constexpr std::size_t width = 4;
  const std::size_t nbytes = width * size_of(tensor.scalar_type);
  bool out = tensor.device_type == aoti::TorchDeviceType::mps && strides[along] == 1 &&
             reinterpret_cast<std::uintptr_t>(tensor.data) % nbytes == 0;
  for (std::size_t d = 0; d < rank; ++d) {
    out = out && (d == along || strides[d] % std::int64_t{width} == 0);
  }
  return out;
}

/// Enqueues a batch of matrix products: by matrix_vector where the result has few rows, or few
/// columns, with the two operands exchanged.
Status gemm(const ModelTensor& out, const ModelTensor* a, const ModelTensor* b,
            const ModelTensor* bias, GemmParameters parameters, std::int64_t batches) {
  GemmParameters& p = parameters;
  if (p.columns <= most_vector_rows && p.rows > most_vector_rows) {
    // transposed(out) = transposed(b) x transposed(a)
    std::swap(a, b);
    std::swap(p.a, p.b);
    std::swap(p.rows, p.columns);
    for (auto* const strides : {&p.a, &p.b, &p.bias, &p.out})
      std::swap((*strides)[1], (*strides)[2]);
  }
  p.a_along_inner = p.a[2] == 1 || p.a[1] != 1;
  p.b_along_inner = p.b[1] == 1 || p.b[2] != 1;
  const bool is_vector = p.rows <= most_vector_rows;
  // A vector is always read along the inner dimension.
  p.a_vectors = reads_vectors(*a, p.a, is_vector || p.a_along_inner != 0 ? 2 : 1);
  p.b_vectors = reads_vectors(*b, p.b, p.b_along_inner != 0 ? 1 : 2);
  MetalContext& context = current_context();
  TENON_TRY(const MetalFunction* const kernel,
            context.shared().own_kernel(is_vector ? OwnKernel::matrix_vector : OwnKernel::gemm,
                                        out.scalar_type));
  TENON_RETURN_IF_ERROR(context.begin(kernel));
  TENON_RETURN_IF_ERROR(context.set_tensor(0, out));
  TENON_RETURN_IF_ERROR(context.set_tensor(1, *a));
  TENON_RETURN_IF_ERROR(context.set_tensor(2, *b));
  TENON_RETURN_IF_ERROR(context.set_tensor(3, bias ? *bias : out));
  TENON_RETURN_IF_ERROR(context.set_value(4, p));
  const std::uint64_t columns = is_vector ? vector_columns(p.b_along_inner != 0) : gemm_tile;
  const std::uint64_t row_groups = is_vector ? 1 : round_up(p.rows, gemm_tile) / gemm_tile;
  return context.dispatch({round_up(p.columns, columns) / columns * tile_threads, row_groups,
                           static_cast<std::uint64_t>(batches)},
                          {tile_threads, 1, 1});
}

/// Dispatches the kernel that was begun, one threadgroup for each row: as many threads as find work
/// in `columns`, of whole simdgroups. The rows are in the grid's second dimension.
Status dispatch_rows(MetalContext& context, const MetalFunction& kernel, std::int64_t rows,
                     std::int64_t columns) {
  const std::uint64_t width = kernel.simd_width();
  const std::uint64_t most =
      std::min(most_row_threads, kernel.max_threads_per_group()) / width * width;
  const std::uint64_t group = std::clamp(round_up(columns, width), width, std::max(most, width));
  return context.dispatch({group, static_cast<std::uint64_t>(rows), 1}, {group, 1, 1});
}

/// Strides of a matrix or a batch of them, with leading zeroes.
std::array<std::int64_t, 3> matrix_strides(const ModelTensor& tensor) {
  std::array<std::int64_t, 3> out{};
  for (std::size_t d = 0; d < static_cast<std::size_t>(tensor.rank); ++d) {
    out[3 - static_cast<std::size_t>(tensor.rank) + d] = tensor.strides[d];
  }
  return out;
}

/// out = beta * bias + alpha * (a x b), of rank 2, or of rank 3 for batches.
Status product(const ModelTensor* out, const ModelTensor* a, const ModelTensor* b,
               std::int32_t rank, const ModelTensor* bias, double beta, double alpha) {
  TENON_RETURN_IF_ERROR(check_written("out", out));
  TENON_RETURN_IF_ERROR(check_tensor("the first matrix", a));
  TENON_RETURN_IF_ERROR(check_tensor("the second matrix", b));
  TENON_RETURN_IF_ERROR(check_same("the first matrix", *a, *out));
  TENON_RETURN_IF_ERROR(check_same("the second matrix", *b, *out));
  if (out->rank != rank || a->rank != rank || b->rank != rank) {
    return error(Error::InvalidArgument, "expected tensors of rank ", rank, ", found ",
                 shape_text(out->shape()), ", ", shape_text(a->shape()), " and ",
                 shape_text(b->shape()));
  }
  const auto last = static_cast<std::size_t>(rank) - 1;
  const std::int64_t batches = rank == 3 ? a->sizes[0] : 1;
  const std::int64_t rows = a->sizes[last - 1];
  const std::int64_t inner = a->sizes[last];
  const std::int64_t columns = b->sizes[last];
  if (rank == 3) {
    TENON_RETURN_IF_ERROR(check_shape("the second matrix", *b, {batches, inner, columns}));
    TENON_RETURN_IF_ERROR(check_shape("out", *out, {batches, rows, columns}));
  } else {
    TENON_RETURN_IF_ERROR(check_shape("the second matrix", *b, {inner, columns}));
    TENON_RETURN_IF_ERROR(check_shape("out", *out, {rows, columns}));
  }
  GemmParameters parameters{};
  parameters.a = matrix_strides(*a);
  parameters.b = matrix_strides(*b);
  parameters.out = matrix_strides(*out);
  TENON_TRY(parameters.rows, narrow(rows));
  TENON_TRY(parameters.columns, narrow(columns));
  TENON_TRY(parameters.inner, narrow(inner));
  parameters.alpha = static_cast<float>(alpha);
  parameters.beta = static_cast<float>(beta);
  // With a beta of 0 the bias is not read, even if it is NaN.
  parameters.has_bias = bias && beta != 0;
  if (bias) {
    TENON_RETURN_IF_ERROR(check_tensor("self", bias));
    TENON_RETURN_IF_ERROR(check_same("self", *bias, *out));
    for (std::int32_t d = 0; d < bias->rank; ++d) {
      const auto from = static_cast<std::size_t>(d);
      const std::int32_t place = rank - bias->rank + d;
      const std::int64_t size = place < 0 ? 1 : out->sizes[static_cast<std::size_t>(place)];
      if (place < 0 || (bias->sizes[from] != 1 && bias->sizes[from] != size)) {
        return error(Error::InvalidArgument, "self: expected sizes that broadcast to ",
                     shape_text(out->shape()), ", found ", shape_text(bias->shape()));
      }
      if (bias->sizes[from] != 1) {
        parameters.bias[3 - static_cast<std::size_t>(bias->rank) + from] = bias->strides[from];
      }
    }
  }
  // Nothing to compute, and strides of such tensors may be any.
  if (out->numel == 0) return ok();
  return gemm(*out, a, b, parameters.has_bias != 0 ? bias : nullptr, parameters, batches);
}

}  // namespace

// [operator]
ShimError aoti_torch_mps_mm_out(ModelTensor* out, ModelTensor* self, ModelTensor* mat2) noexcept {
  return aoti::shim_call("aoti_torch_mps_mm_out",
                         [&] { return product(out, self, mat2, 2, nullptr, 0, 1); });
}
// [operator]
ShimError aoti_torch_mps_bmm_out(ModelTensor* out, ModelTensor* self, ModelTensor* mat2) noexcept {
  return aoti::shim_call("aoti_torch_mps_bmm_out",
                         [&] { return product(out, self, mat2, 3, nullptr, 0, 1); });
}
ShimError aoti_torch_mps_addmm_out(ModelTensor* out, ModelTensor* self, ModelTensor* mat1,
                                   ModelTensor* mat2, double beta, double alpha) noexcept {
  return aoti::shim_call("aoti_torch_mps_addmm_out", [&]() -> Status {
    TENON_RETURN_IF_ERROR(check_tensor("self", self));
    return product(out, mat1, mat2, 2, self, beta, alpha);
  });
}

ShimError aoti_torch_mps_topk(ModelTensor* self, std::int64_t k, std::int64_t dim,
                              std::int32_t largest, std::int32_t, ModelTensor** ret0,
                              ModelTensor** ret1) noexcept {
  return aoti::shim_call("aoti_torch_mps_topk", [&]() -> Status {
    TENON_RETURN_IF_ERROR(check_tensor("self", self));
    if (self->rank == 0 || dim < -self->rank || dim >= self->rank) {
      return error(Error::InvalidArgument, "dimension ", dim, " of a tensor of rank ", self->rank);
    }
    const auto d = static_cast<std::size_t>(dim < 0 ? dim + self->rank : dim);
    if (k < 0 || k > self->sizes[d]) {
      return error(Error::InvalidArgument, "k: expected 0 to ", self->sizes[d], ", found ", k);
    }
    TENON_RETURN_IF_ERROR(check_contiguous("self", *self));
    TENON_RETURN_IF_ERROR(narrow(self->sizes[d]).status());  // The kernel's columns.
    MetalContext& context = current_context();
    TENON_TRY(const MetalFunction* const kernel,
              context.shared().own_kernel(OwnKernel::topk, self->scalar_type));
    auto sizes = self->sizes;
    sizes[d] = k;
    const std::span shape(sizes.data(), static_cast<std::size_t>(self->rank));
    NewTensor values(new_tensor(shape, *self));
    if (!values) return no_memory();
    NewTensor places(aoti::current_pool().empty_strided(shape, nullptr, ScalarType::Long,
                                                        aoti::TorchDeviceType::mps, 0));
    if (!places) return no_memory();
    if (values->numel != 0) {
      TopkParameters parameters{};
      parameters.columns = self->sizes[d];
      parameters.k = k;
      parameters.rows = self->numel / self->sizes[d];
      parameters.inner = self->strides[d];
      parameters.largest = largest != 0;
      TENON_RETURN_IF_ERROR(context.begin(kernel));
      TENON_RETURN_IF_ERROR(context.set_tensor(0, *values));
      TENON_RETURN_IF_ERROR(context.set_tensor(1, *places));
      TENON_RETURN_IF_ERROR(context.set_tensor(2, *self));
      TENON_RETURN_IF_ERROR(context.set_value(3, parameters));
      TENON_RETURN_IF_ERROR(dispatch_rows(context, *kernel, parameters.rows, parameters.columns));
    }
    values.give_to(ret0);
    places.give_to(ret1);
    return ok();
  });
}

namespace {

struct AttentionArguments {
  const ModelTensor* query;
  const ModelTensor* key;
  const ModelTensor* value;
  const ModelTensor* mask;
  bool is_causal;
  std::optional<double> scale;
};

/// Sizes and strides, of rank 4, of a tensor of rank 3 or 4.
struct FourDimensions {
  explicit FourDimensions(const ModelTensor& tensor) {
    sizes[0] = 1;
    for (std::int32_t d = 0; d < tensor.rank; ++d) {
      const auto to = static_cast<std::size_t>(4 - tensor.rank + d);
      sizes[to] = tensor.sizes[static_cast<std::size_t>(d)];
      strides[to] = tensor.strides[static_cast<std::size_t>(d)];
    }
  }
  std::array<std::int64_t, 4> sizes{1, 1, 1, 1};
  std::array<std::int64_t, 4> strides{};
};

/// Sets the strides of a mask that broadcasts to the scores.
Status describe_mask(const ModelTensor& mask, const ModelTensor& query,
                     const std::array<std::int64_t, 4>& scores, AttentionParameters& parameters) {
  TENON_RETURN_IF_ERROR(check_tensor("the mask", &mask));
  if (mask.scalar_type != ScalarType::Bool)
    TENON_RETURN_IF_ERROR(check_same("the mask", mask, query));
  parameters.mask_kind = mask.scalar_type == ScalarType::Bool ? 2 : 1;
  bool fits = mask.rank <= 4;
  for (std::int32_t d = 0; fits && d < mask.rank; ++d) {
    const auto from = static_cast<std::size_t>(d);
    const auto to = static_cast<std::size_t>(4 - mask.rank + d);
    fits = mask.sizes[from] == 1 || mask.sizes[from] == scores[to];
    parameters.mask[to] = mask.sizes[from] == 1 ? 0 : mask.strides[from];
  }
  if (fits) return ok();
  return error(Error::InvalidArgument, "the mask: expected sizes that broadcast to ",
               shape_text(scores), ", found ", shape_text(mask.shape()));
}

/// Enqueues the weights of attention, from what the kernel for the output keeps of each row.
Status weigh(const AttentionArguments& arguments, const AttentionParameters& parameters,
             std::int64_t batches, const ModelTensor& weights, const ModelTensor& kept) {
  const ModelTensor& query = *arguments.query;
  MetalContext& context = current_context();
  TENON_TRY(const MetalFunction* const kernel,
            context.shared().own_kernel(OwnKernel::attention_weights, query.scalar_type));
  TENON_RETURN_IF_ERROR(context.begin(kernel));
  TENON_RETURN_IF_ERROR(context.set_tensor(0, weights));
  TENON_RETURN_IF_ERROR(context.set_tensor(1, query));
  TENON_RETURN_IF_ERROR(context.set_tensor(2, *arguments.key));
  TENON_RETURN_IF_ERROR(context.set_tensor(3, arguments.mask ? *arguments.mask : query));
  TENON_RETURN_IF_ERROR(context.set_tensor(4, kept));
  TENON_RETURN_IF_ERROR(context.set_value(5, parameters));
  return context.dispatch(
      {static_cast<std::uint64_t>(parameters.keys), static_cast<std::uint64_t>(parameters.queries),
       static_cast<std::uint64_t>(batches)},
      {});
}

/// Enqueues the kernel for the output. `kept` is null unless the rows are kept.
Status attend(const AttentionArguments& arguments, const AttentionParameters& parameters,
              std::int64_t batches, const ModelTensor& out, const ModelTensor* kept) {
  const ModelTensor& query = *arguments.query;
  MetalContext& context = current_context();
  TENON_TRY(const MetalFunction* const kernel,
            context.shared().own_kernel(OwnKernel::attention, query.scalar_type));
  TENON_RETURN_IF_ERROR(context.begin(kernel));
  TENON_RETURN_IF_ERROR(context.set_tensor(0, out));
  TENON_RETURN_IF_ERROR(context.set_tensor(1, query));
  TENON_RETURN_IF_ERROR(context.set_tensor(2, *arguments.key));
  TENON_RETURN_IF_ERROR(context.set_tensor(3, *arguments.value));
  TENON_RETURN_IF_ERROR(context.set_tensor(4, arguments.mask ? *arguments.mask : query));
  TENON_RETURN_IF_ERROR(context.set_tensor(5, kept ? *kept : out));
  TENON_RETURN_IF_ERROR(context.set_value(6, parameters));
  const std::int64_t rows = std::int64_t{parameters.group} * parameters.queries;
  return context.dispatch({round_up(rows, attention_rows) / attention_rows * tile_threads,
                           round_up(parameters.width, attention_width) / attention_width,
                           static_cast<std::uint64_t>(batches)},
                          {tile_threads, 1, 1});
}

/// The second result has the weights only where the option asks for them; elsewhere it is a tensor
/// without memory, which no kernel and no copy accepts. PyTorch's scaled_dot_product_attention
/// drops it, and PyTorch's own kernels for few queries do not write it.
Status attention(const AttentionArguments& arguments, ModelTensor** ret0, ModelTensor** ret1) {
  const ModelTensor& query = *arguments.query;
  const ModelTensor& key = *arguments.key;
  const ModelTensor& value = *arguments.value;
  TENON_RETURN_IF_ERROR(check_same("the key", key, query));
  TENON_RETURN_IF_ERROR(check_same("the value", value, query));
  for (const ModelTensor* each : {&query, &key, &value}) {
    if (each->rank == query.rank && (each->rank == 3 || each->rank == 4)) continue;
    return error(Error::NotSupported, "expected tensors of rank 3 or 4, found ",
                 shape_text(query.shape()), ", ", shape_text(key.shape()), " and ",
                 shape_text(value.shape()));
  }
  const FourDimensions q(query), k(key), v(value);
  const std::int64_t heads = q.sizes[1];
  if (q.sizes[0] != k.sizes[0] || q.sizes[0] != v.sizes[0] || k.sizes[1] != v.sizes[1] ||
      k.sizes[1] == 0 || heads % std::max<std::int64_t>(k.sizes[1], 1) != 0 ||
      q.sizes[3] != k.sizes[3] || k.sizes[2] != v.sizes[2]) {
    return error(Error::InvalidArgument, "the sizes do not fit together: query ",
                 shape_text(query.shape()), ", key ", shape_text(key.shape()), ", value ",
                 shape_text(value.shape()));
  }
  AttentionParameters parameters{};
  parameters.query = q.strides;
  parameters.key = k.strides;
  parameters.value = v.strides;
  TENON_TRY(parameters.key_heads, narrow(k.sizes[1]));
  TENON_TRY(parameters.queries, narrow(q.sizes[2]));
  TENON_TRY(parameters.keys, narrow(k.sizes[2]));
  TENON_TRY(parameters.depth, narrow(q.sizes[3]));
  TENON_TRY(parameters.width, narrow(v.sizes[3]));
  TENON_TRY(parameters.group, narrow(heads / k.sizes[1]));
  // The rows of a head of the keys are counted with 32 bits.
  TENON_RETURN_IF_ERROR(narrow(heads / k.sizes[1] * q.sizes[2]).status());
  parameters.is_causal = arguments.is_causal;
  parameters.query_vectors = reads_vectors(query, q.strides, 3);
  parameters.key_vectors = reads_vectors(key, k.strides, 3);
  parameters.value_vectors = reads_vectors(value, v.strides, 3);
  parameters.scale = static_cast<float>(arguments.scale.value_or(
      1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(q.sizes[3], 1)))));
  const std::array<std::int64_t, 4> score_sizes{q.sizes[0], heads, q.sizes[2], k.sizes[2]};
  if (arguments.mask) {
    TENON_RETURN_IF_ERROR(describe_mask(*arguments.mask, query, score_sizes, parameters));
  }
  const bool keeps = current_context().settings().attention_weights;
  parameters.keeps_rows = keeps;
  const std::array<std::int64_t, 4> out_sizes{q.sizes[0], heads, q.sizes[2], v.sizes[3]};
  const std::size_t skipped = query.rank == 3 ? 1 : 0;
  NewTensor out(new_tensor(std::span(out_sizes).subspan(skipped), query));
  if (!out) return no_memory();
  const std::span weight_sizes = std::span(score_sizes).subspan(skipped);
  NewTensor weights(keeps ? new_tensor(weight_sizes, query)
                          : aoti::current_pool().from_blob(nullptr, weight_sizes, nullptr, 0,
                                                           query.scalar_type,
                                                           aoti::TorchDeviceType::mps, 0));
  if (!weights) return no_memory();
  if (out->numel != 0) {
    if (weights->numel == 0) return error(Error::NotSupported, "attention to no keys");
    const std::array<std::int64_t, 2> kept_sizes{q.sizes[0] * heads * q.sizes[2], 2};
    const NewTensor kept(keeps ? aoti::current_pool().empty_strided(kept_sizes, nullptr,
                                                                    ScalarType::Float,
                                                                    aoti::TorchDeviceType::mps, 0)
                               : nullptr);
    if (keeps && !kept) return no_memory();
    TENON_RETURN_IF_ERROR(
        attend(arguments, parameters, q.sizes[0] * k.sizes[1], *out, keeps ? &*kept : nullptr));
    if (keeps) {
      TENON_RETURN_IF_ERROR(weigh(arguments, parameters, q.sizes[0] * heads, *weights, *kept));
    }
  }
  out.give_to(ret0);
  weights.give_to(ret1);
  return ok();
}

ShimError attention(const char* name, ModelTensor* query, ModelTensor* key, ModelTensor* value,
                    ModelTensor** mask, double dropout, bool is_causal, ModelTensor** dropout_mask,
                    const double* scale, ModelTensor** ret0, ModelTensor** ret1) noexcept {
  return aoti::shim_call(name, [&]() -> Status {
    TENON_RETURN_IF_ERROR(check_tensor("the query", query));
    TENON_RETURN_IF_ERROR(check_tensor("the key", key));
    TENON_RETURN_IF_ERROR(check_tensor("the value", value));
    if (dropout != 0 || dropout_mask) {
      return error(Error::NotSupported, "dropout in attention: expected 0 and no mask, found ",
                   dropout, dropout_mask ? " and a mask" : "");
    }
    return attention({query, key, value, mask ? *mask : nullptr, is_causal,
                      scale ? std::optional(*scale) : std::nullopt},
                     ret0, ret1);
  });
}

}  // namespace

ShimError aoti_torch_mps__scaled_dot_product_attention_math_for_mps(
    ModelTensor* query, ModelTensor* key, ModelTensor* value, ModelTensor** attn_mask,
    double dropout_p, std::int32_t is_causal, ModelTensor** dropout_mask, double* scale,
    ModelTensor** ret0, ModelTensor** ret1) noexcept {
  return attention("aoti_torch_mps__scaled_dot_product_attention_math_for_mps", query, key, value,
                   attn_mask, dropout_p, is_causal != 0, dropout_mask, scale, ret0, ret1);
}
ShimError aoti_torch_mps__scaled_dot_product_attention_math_for_mps_v2(
    ModelTensor* query, ModelTensor* key, ModelTensor* value, ModelTensor** attn_mask,
    double dropout_p, std::int32_t is_causal, ModelTensor** dropout_mask, double* scale,
    std::int32_t, ModelTensor** ret0, ModelTensor** ret1) noexcept {
  return attention("aoti_torch_mps__scaled_dot_product_attention_math_for_mps_v2", query, key,
                   value, attn_mask, dropout_p, is_causal != 0, dropout_mask, scale, ret0, ret1);
}

}  // namespace tenon::metal_aoti
