// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/core/scalar_type.hpp"

/// Metal kernels of the backend for operators that models call and do not contain. ExecuTorch's
/// backend uses MPSGraph for these, which metal-cpp lacks.
namespace tenon::metal_aoti {

enum class OwnKernel : std::uint8_t {
  copy,
  gemm,
  matrix_vector,
  convolution,
  attention,
  attention_weights,
  topk,
  quantized_product,
  gated_delta_rule
};
inline constexpr std::size_t num_own_kernels = 9;

[[nodiscard]] const char* own_kernel_name(OwnKernel kernel) noexcept;
/// The Metal type that the kernel is compiled for, or null for an unsupported dtype.
[[nodiscard]] const char* metal_type_for(OwnKernel kernel, ScalarType type) noexcept;
[[nodiscard]] const char* metal_type_of_size(std::size_t element_size) noexcept;
/// The dtypes that a kernel supports, for messages.
[[nodiscard]] std::string_view supported_types(OwnKernel kernel) noexcept;
/// Metal source of one kernel, for elements of `metal_type`.
[[nodiscard]] std::string own_kernel_source(OwnKernel kernel, const char* metal_type);

// Parameters, with the same layout as in the Metal source. Strides are in elements.

struct CopyParameters {
  static constexpr std::size_t max_dimensions = 16;
  std::array<std::int64_t, max_dimensions> sizes;
  std::array<std::int64_t, max_dimensions> to;
  std::array<std::int64_t, max_dimensions> from;
  std::int64_t rank;
};
static_assert(sizeof(CopyParameters) == 392);

/// out = alpha * (a x b) + beta * bias, for a batch. Strides: batch, row, column. For both gemm and
/// matrix_vector.
struct GemmParameters {
  std::array<std::int64_t, 3> a;
  std::array<std::int64_t, 3> b;
  std::array<std::int64_t, 3> bias;
  std::array<std::int64_t, 3> out;
  std::int32_t rows;
  std::int32_t columns;
  std::int32_t inner;
  float alpha;
  float beta;
  std::int32_t has_bias;
  /// Whether a tile of the operand is read along the dimension that is summed up, where its
  /// elements are adjacent, and whether four of them at a time are aligned.
  std::int32_t a_along_inner;
  std::int32_t a_vectors;
  std::int32_t b_along_inner;
  std::int32_t b_vectors;
};
static_assert(sizeof(GemmParameters) == 136);
/// Rows and columns of the result that a threadgroup of gemm computes.
inline constexpr std::uint64_t gemm_tile = 64;
/// Threads of a threadgroup of gemm, matrix_vector and attention: four simdgroups of 32.
inline constexpr std::uint64_t tile_threads = 128;
/// Rows that matrix_vector computes, at most.
inline constexpr std::int32_t most_vector_rows = 4;
/// Columns that a threadgroup of matrix_vector computes.
[[nodiscard]] constexpr std::uint64_t vector_columns(bool b_along_inner) noexcept {
  return b_along_inner ? 16 : 32;
}

/// Sizes and strides of up to three spatial dimensions; missing ones come first, with size 1.
struct ConvolutionParameters {
  std::array<std::int64_t, 5> in_strides;  ///< Batch, channel, spatial.
  std::array<std::int64_t, 5> weight_strides;
  std::array<std::int64_t, 5> out_strides;
  std::int64_t bias_stride;
  std::array<std::int32_t, 3> in_size;
  std::array<std::int32_t, 3> out_size;
  std::array<std::int32_t, 3> kernel_size;
  std::array<std::int32_t, 3> stride;
  std::array<std::int32_t, 3> padding;
  std::array<std::int32_t, 3> dilation;
  std::int32_t in_channels_of_group;
  std::int32_t out_channels_of_group;
  std::int32_t transposed;
  std::int32_t has_bias;
};
static_assert(sizeof(ConvolutionParameters) == 216);

/// softmax(scale * (query x key), with a mask) x value. The output is contiguous. For attention and
/// attention_weights.
struct AttentionParameters {
  std::array<std::int64_t, 4> query;  ///< Batch, head, position, element.
  std::array<std::int64_t, 4> key;
  std::array<std::int64_t, 4> value;
  std::array<std::int64_t, 4> mask;
  std::int32_t key_heads;
  std::int32_t queries;
  std::int32_t keys;
  std::int32_t depth;
  std::int32_t width;  ///< Elements of a value.
  std::int32_t group;  ///< Heads of the query that share one of the key.
  std::int32_t is_causal;
  std::int32_t mask_kind;      ///< 0 none, 1 added, 2 bool.
  std::int32_t query_vectors;  ///< Whether four elements at a time are adjacent and aligned.
  std::int32_t key_vectors;
  std::int32_t value_vectors;
  std::int32_t keeps_rows;  ///< Whether the largest score and the sum of each row are written.
  float scale;
};
static_assert(sizeof(AttentionParameters) == 184);
/// Rows and elements of values that a threadgroup computes.
inline constexpr std::uint64_t attention_rows = 32;
inline constexpr std::uint64_t attention_width = 128;

/// Threads of a threadgroup that computes one row, at most: the kernels have room for 32
/// simdgroups, and the narrowest have 8 threads.
inline constexpr std::uint64_t most_row_threads = 256;

/// The k largest or smallest of each row, in order, the first of equal ones first. NaN is the
/// largest.
struct TopkParameters {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t k;
  std::int64_t
      inner;  ///< Number of interleaved rows: the product of the sizes after the dimension.
  std::int64_t largest;
};

/// out[i] = x[i] x transposed(weight), for weights of 4 bits with a scale and a bias for each group
/// of a row; indices[i] selects the matrix. An index out of range gives NaN.
struct QuantizedProductParameters {
  std::array<std::int64_t, 2> x;
  std::int64_t indices;
  std::int32_t columns;  ///< Of the output: rows of the weight.
  std::int32_t inner;
  std::int32_t groups;  ///< In a row of the weight; the last may be shorter.
  std::int32_t group_size;
  std::int32_t experts;
  std::int32_t index_kind;  ///< 0 none, 1 of 32 bits, 2 of 64 bits.
};
static_assert(sizeof(QuantizedProductParameters) == 48);

/// For each step, with the rows of a state of shape [batch, head, value, key]:
/// state *= g; state += k * beta * (v - state x k); out = state x q.
struct GatedDeltaRuleParameters {
  static constexpr std::int64_t max_keys = 1024;
  std::array<std::int64_t, 4> q;  ///< Batch, step, head, element.
  std::array<std::int64_t, 4> k;
  std::array<std::int64_t, 4> v;
  std::array<std::int64_t, 3> g;
  std::array<std::int64_t, 3> beta;
  std::array<std::int64_t, 4> state;
  std::int32_t steps;
  std::int32_t heads;
  std::int32_t keys;
  std::int32_t values;
  std::int32_t shared;  ///< Heads of the values that share one of q and k.
  std::int32_t g_is_float;
  std::int32_t beta_is_float;
  std::int32_t state_is_float;
};
static_assert(sizeof(GatedDeltaRuleParameters) == 208);

}  // namespace tenon::metal_aoti
