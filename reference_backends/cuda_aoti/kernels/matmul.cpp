// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "checks.hpp"
#include "function_names.hpp"

namespace tenon::cuda_aoti::kernels {
namespace {

/// The kernels of a format, by name.
struct Functions {
  const char* one;
  const char* one_narrow;  ///< Of the plain formats.
  const char* few;
  const char* tiles;
  const char* unpack;
};

#define TENON_MATMUL_FUNCTIONS(name, narrow)                                                 \
  constexpr Functions name##_functions{"tenon_" #name "_one", narrow, "tenon_" #name "_few", \
                                       "tenon_" #name "_tiles", "tenon_" #name "_unpack"}
#define TENON_PLAIN_FUNCTIONS(name, Format) \
  TENON_MATMUL_FUNCTIONS(name, "tenon_" #name "_one_narrow");
TENON_MATMUL_FUNCTIONS(weight_int4pack_mm, nullptr);
TENON_CUDA_PLAIN_MATMULS(TENON_PLAIN_FUNCTIONS)
#undef TENON_PLAIN_FUNCTIONS
#undef TENON_MATMUL_FUNCTIONS

/// Weights of a super-block, which shares one step of its scales.
constexpr std::int64_t super_block = 256;

constexpr auto bytes = {ScalarType::Byte, ScalarType::Char};

/// The depth, from `self`.
[[nodiscard]] Result<std::int64_t> check_self(const ModelTensor& self, std::int64_t multiple) {
  TENON_RETURN_IF_ERROR(check_device("self", self, self.device_index));
  TENON_RETURN_IF_ERROR(check_type("self", self, {ScalarType::BFloat16}));
  TENON_RETURN_IF_ERROR(check_rank("self", self, 2));
  const std::int64_t depth = self.sizes[1];
  if (depth < multiple || depth % multiple != 0 ||
      depth > std::numeric_limits<std::int32_t>::max()) {
    return error(Error::InvalidArgument, "self: expected a multiple of ", multiple,
                 " columns, found ", shape_text(self.shape()));
  }
  if (self.sizes[0] > 0 && self.strides[1] != 1) {
    return error(Error::InvalidArgument, "self: expected rows without gaps, found strides ",
                 shape_text(self.step()));
  }
  return depth;
}

/// The columns of a plain weight, from its first part.
[[nodiscard]] Result<std::int64_t> check_columns(std::string_view name, const ModelTensor& tensor) {
  TENON_RETURN_IF_ERROR(check_rank(name, tensor, 2));
  if (tensor.sizes[0] > std::numeric_limits<std::int32_t>::max()) {
    return error(Error::NotSupported, name, ": expected less than 2^31 rows, found ",
                 shape_text(tensor.shape()));
  }
  return tensor.sizes[0];
}

[[nodiscard]] Status check_part(std::string_view name, const ModelTensor& part,
                                const ModelTensor& self, std::initializer_list<ScalarType> types,
                                Shape sizes, std::size_t alignment) {
  TENON_RETURN_IF_ERROR(check_device(name, part, self.device_index));
  TENON_RETURN_IF_ERROR(check_type(name, part, types));
  TENON_RETURN_IF_ERROR(check_sizes(name, part, {sizes.begin(), sizes.size()}));
  TENON_RETURN_IF_ERROR(check_contiguous(name, part));
  return check_aligned(name, part, alignment);
}

/// Its logarithm. Groups do not cross the end of a column, nor of a super-block when there are
/// steps.
[[nodiscard]] Result<std::int32_t> check_group(std::int64_t group_size, std::int64_t least,
                                               std::int64_t most) {
  if (group_size < least || group_size > most ||
      !std::has_single_bit(static_cast<std::uint64_t>(group_size))) {
    return error(Error::InvalidArgument, "group_size: expected a power of 2 from ", least, " to ",
                 most, ", found ", group_size);
  }
  return std::countr_zero(static_cast<std::uint64_t>(group_size));
}

[[nodiscard]] MatmulPlan make_plan(const ModelTensor& self, const Weights& weights,
                                   const Functions& functions) {
  MatmulArguments arguments{};
  arguments.self = self.as<const std::uint16_t>();
  arguments.rows = self.sizes[0];
  arguments.self_row_stride = self.strides[0];
  arguments.self_vector_loads = is_aligned(self, 16) && self.strides[0] % 8 == 0;
  arguments.weights = weights;
  // Formats without codes do not look at it.
  const auto codes = reinterpret_cast<std::uintptr_t>(weights.scale) |
                     reinterpret_cast<std::uintptr_t>(weights.zero);
  arguments.weights.has_code_words = weights.group_shift >= 5 && codes % 4 == 0;
  MatmulPlan plan{};
  plan.rows = self.sizes[0];
  plan.columns = weights.columns;
  const bool is_narrow = functions.one_narrow != nullptr && weights.columns <= narrow_columns;
  plan.functions = {is_narrow ? functions.one_narrow : functions.one, functions.few,
                    functions.tiles};
  plan.unpack = functions.unpack;
  plan.row_columns = is_narrow ? OneRowNarrowBlock::columns : OneRowBlock::columns;
  plan.few_columns = FewRowsBlock::columns;
  plan.row_warps = is_narrow ? OneRowNarrowBlock::warps : OneRowBlock::warps;
  plan.few_warps = FewRowsBlock::warps;
  plan.arguments = arguments;
  return plan;
}

/// Scales and zeros of 8 bits with steps of float16, as the formats of 4, 5 and 6 bits have them.
[[nodiscard]] Status check_coded(std::string_view name, const ModelTensor& codes,
                                 std::string_view step_name, const ModelTensor& steps,
                                 const ModelTensor& self, std::int64_t columns,
                                 std::int64_t group_size) {
  const std::int64_t depth = self.sizes[1];
  TENON_RETURN_IF_ERROR(check_part(name, codes, self, bytes, {columns, depth / group_size}, 1));
  return check_part(step_name, steps, self, {ScalarType::Half}, {columns, depth / super_block}, 2);
}

/// The plan for a format of 4 or 5 bits with coded scales and zeros, whose other parts are checked.
[[nodiscard]] Result<MatmulPlan> plan_coded(const ModelTensor& self, const void* low,
                                            const void* high, const ModelTensor& scale,
                                            const ModelTensor& scale_step, const ModelTensor& zero,
                                            const ModelTensor& zero_point_step,
                                            std::int64_t columns, std::int64_t group_size,
                                            const Functions& functions) {
  TENON_TRY(const std::int32_t group_shift, check_group(group_size, 8, super_block));
  TENON_RETURN_IF_ERROR(
      check_coded("scale", scale, "scale_step", scale_step, self, columns, group_size));
  TENON_RETURN_IF_ERROR(
      check_coded("zero", zero, "zero_point_step", zero_point_step, self, columns, group_size));
  return make_plan(self,
                   {low, high, scale.data, scale_step.data, zero.data, zero_point_step.data,
                    static_cast<std::int32_t>(columns), static_cast<std::int32_t>(self.sizes[1]),
                    group_shift, 0, 0},
                   functions);
}

}  // namespace

Result<MatmulPlan> plan_weight_int4pack_mm(const ModelTensor& self, const ModelTensor& mat2,
                                           std::int64_t group_size,
                                           const ModelTensor& scales_and_zeros) {
  TENON_TRY(const std::int64_t depth, check_self(self, weights_per_chunk));
  TENON_TRY(const std::int32_t group_shift, check_group(group_size, 32, 256));
  TENON_RETURN_IF_ERROR(check_rank("mat2", mat2, 4));
  const std::int64_t inner = mat2.sizes[3] * 2;
  if (inner != 2 && inner != 4 && inner != 8) {
    return error(Error::InvalidArgument,
                 "mat2: expected a last dimension of 1, 2 or 4 (half of the inner tiles), found ",
                 shape_text(mat2.shape()));
  }
  if (depth % (inner * 16) != 0 || depth % group_size != 0) {
    return error(Error::InvalidArgument, "self: expected columns in multiples of ", inner * 16,
                 " (tiles) and ", group_size, " (groups), found ", shape_text(self.shape()));
  }
  if (mat2.sizes[0] > std::numeric_limits<std::int32_t>::max() / 8) {
    return error(Error::NotSupported, "mat2: expected less than 2^28 tiles, found ",
                 shape_text(mat2.shape()));
  }
  const std::int64_t columns = mat2.sizes[0] * 8;
  TENON_RETURN_IF_ERROR(check_part("mat2", mat2, self, {ScalarType::Int},
                                   {columns / 8, depth / (inner * 16), 32, inner / 2}, 4));
  TENON_RETURN_IF_ERROR(check_part("scales_and_zeros", scales_and_zeros, self,
                                   {ScalarType::BFloat16}, {depth / group_size, columns, 2}, 4));
  Weights weights{};
  weights.low = mat2.data;
  weights.scale = scales_and_zeros.data;
  weights.columns = static_cast<std::int32_t>(columns);
  weights.depth = static_cast<std::int32_t>(depth);
  weights.group_shift = group_shift;
  weights.inner_k_tiles = static_cast<std::int32_t>(inner);
  MatmulPlan plan = make_plan(self, weights, weight_int4pack_mm_functions);
  plan.row_columns = packed_row_columns;
  plan.few_columns = plan.row_warps = plan.few_warps = few_rows_warps;
  return plan;
}

Result<MatmulPlan> plan_int4_plain_mm(const ModelTensor& self, const ModelTensor& qdata,
                                      const ModelTensor& scale, const ModelTensor& scale_step,
                                      const ModelTensor& zero, const ModelTensor& zero_point_step,
                                      std::int64_t group_size) {
  TENON_TRY(const std::int64_t depth, check_self(self, super_block));
  TENON_TRY(const std::int64_t columns, check_columns("qdata", qdata));
  TENON_RETURN_IF_ERROR(check_part("qdata", qdata, self, bytes, {columns, depth / 2}, 16));
  return plan_coded(self, qdata.data, nullptr, scale, scale_step, zero, zero_point_step, columns,
                    group_size, int4_plain_mm_functions);
}

Result<MatmulPlan> plan_int5_plain_mm(const ModelTensor& self, const ModelTensor& ql,
                                      const ModelTensor& qh, const ModelTensor& scale,
                                      const ModelTensor& scale_step, const ModelTensor& zero,
                                      const ModelTensor& zero_point_step, std::int64_t group_size) {
  TENON_TRY(const std::int64_t depth, check_self(self, super_block));
  TENON_TRY(const std::int64_t columns, check_columns("ql", ql));
  TENON_RETURN_IF_ERROR(check_part("ql", ql, self, bytes, {columns, depth / 2}, 16));
  TENON_RETURN_IF_ERROR(check_part("qh", qh, self, bytes, {columns, depth / 8}, 4));
  return plan_coded(self, ql.data, qh.data, scale, scale_step, zero, zero_point_step, columns,
                    group_size, int5_plain_mm_functions);
}

Result<MatmulPlan> plan_int6_plain_mm(const ModelTensor& self, const ModelTensor& ql,
                                      const ModelTensor& qh, const ModelTensor& scale,
                                      const ModelTensor& steps, std::int64_t group_size) {
  TENON_TRY(const std::int64_t depth, check_self(self, super_block));
  TENON_TRY(const std::int32_t group_shift, check_group(group_size, 8, super_block));
  TENON_TRY(const std::int64_t columns, check_columns("ql", ql));
  TENON_RETURN_IF_ERROR(check_part("ql", ql, self, bytes, {columns, depth / 2}, 16));
  TENON_RETURN_IF_ERROR(check_part("qh", qh, self, bytes, {columns, depth / 4}, 4));
  TENON_RETURN_IF_ERROR(check_coded("scale", scale, "steps", steps, self, columns, group_size));
  return make_plan(
      self,
      {ql.data, qh.data, scale.data, steps.data, nullptr, nullptr,
       static_cast<std::int32_t>(columns), static_cast<std::int32_t>(depth), group_shift, 0, 0},
      int6_plain_mm_functions);
}

Result<MatmulPlan> plan_int8_plain_mm(const ModelTensor& self, const ModelTensor& qdata,
                                      const ModelTensor& scale, const ModelTensor& zero,
                                      std::int64_t group_size) {
  TENON_TRY(const std::int64_t depth, check_self(self, weights_per_chunk));
  TENON_TRY(const std::int32_t group_shift, check_group(group_size, 8, std::int64_t{1} << 30));
  if (depth % group_size != 0) {
    return error(Error::InvalidArgument, "self: expected columns in multiples of ", group_size,
                 " (groups), found ", shape_text(self.shape()));
  }
  TENON_TRY(const std::int64_t columns, check_columns("qdata", qdata));
  TENON_RETURN_IF_ERROR(check_part("qdata", qdata, self, {ScalarType::Char}, {columns, depth}, 16));
  TENON_RETURN_IF_ERROR(
      check_part("scale", scale, self, {ScalarType::BFloat16}, {columns, depth / group_size}, 2));
  TENON_RETURN_IF_ERROR(
      check_part("zero", zero, self, {ScalarType::Char}, {columns, depth / group_size}, 1));
  return make_plan(
      self,
      {qdata.data, nullptr, scale.data, nullptr, zero.data, nullptr,
       static_cast<std::int32_t>(columns), static_cast<std::int32_t>(depth), group_shift, 0, 0},
      int8_plain_mm_functions);
}

Status unpack_weight(const MatmulPlan& plan, void* to, const Launcher& launcher) {
  MatmulArguments arguments = plan.arguments;
  arguments.out = static_cast<std::uint16_t*>(to);
  const std::int64_t chunks = plan.columns * (arguments.weights.depth / weights_per_chunk);
  if (chunks == 0) return ok();
  return launch_blocks(launcher, plan.unpack, {ceil_div(chunks, unpack_threads), 1},
                       {unpack_threads, 1, 1}, arguments);
}

namespace {

[[nodiscard]] Status check_out(const MatmulPlan& plan, const ModelTensor& out) {
  const std::int64_t sizes[] = {plan.rows, plan.columns};
  TENON_RETURN_IF_ERROR(check_type("out", out, {ScalarType::BFloat16}));
  TENON_RETURN_IF_ERROR(check_sizes("out", out, sizes));
  return check_contiguous("out", out);
}

/// Launches tiles for each part of the depth.
[[nodiscard]] Status run_tiles(const MatmulPlan& plan, const MatmulArguments& arguments,
                               std::int64_t num_parts, const Launcher& launcher) {
  return launch_blocks(
      launcher, plan.functions[2],
      {ceil_div(plan.rows, matmul_tile), ceil_div(plan.columns, matmul_tile), num_parts},
      {matmul_tile_threads, 1, 1}, arguments);
}

}  // namespace

Status run(const MatmulPlan& plan, const ModelTensor& out, const Launcher& launcher) {
  TENON_RETURN_IF_ERROR(check_out(plan, out));
  if (plan.rows == 0 || plan.columns == 0) return ok();
  MatmulArguments arguments = plan.arguments;
  arguments.out = out.as<std::uint16_t>();
  if (plan.rows > few_rows_limit) {
    arguments.steps_of_part = steps_of(arguments.weights.depth);
    return run_tiles(plan, arguments, 1, launcher);
  }
  if (plan.rows == 1) {
    return launch_blocks(launcher, plan.functions[0], {ceil_div(plan.columns, plan.row_columns)},
                         {32, plan.row_warps, 1}, arguments);
  }
  return launch_blocks(launcher, plan.functions[1], {ceil_div(plan.columns, plan.few_columns)},
                       {32, plan.few_warps, 1}, arguments);
}

std::int64_t tiles_at_once(std::int64_t multiprocessors, std::int64_t shared_bytes) noexcept {
  // What the system keeps of each block, and how many blocks the registers are for.
  constexpr std::int64_t of_system = 1024, most = 4;
  const std::int64_t fit = shared_bytes / (matmul_tile_shared_bytes + of_system);
  return multiprocessors * std::clamp<std::int64_t>(fit, 1, most);
}

std::int64_t num_parts(const MatmulPlan& plan, std::int64_t at_once) noexcept {
  // A part begins with loads that it waits for, and its sums are written and read. Of the numbers
  // of parts that were measured the one chosen takes at most 1.07 of the shortest time on an H100
  // (docs/measurements/h100.md).
  constexpr std::int64_t least_steps = 4, most = 16;
  if (plan.rows <= few_rows_limit || plan.columns == 0) return 1;
  const std::int64_t steps = steps_of(plan.arguments.weights.depth);
  // Rows are divided by, so that nothing overflows.
  const std::int64_t wanted =
      std::min({at_once / ceil_div(plan.columns, matmul_tile) / ceil_div(plan.rows, matmul_tile),
                steps / least_steps, most});
  return wanted <= 1 ? 1 : ceil_div(steps, ceil_div(steps, wanted));
}

std::size_t partial_bytes(const MatmulPlan& plan, std::int64_t num_parts) noexcept {
  return static_cast<std::size_t>(num_parts * plan.rows *
                                  padded_columns(plan.arguments.weights.columns)) *
         sizeof(float);
}

Status run_in_parts(const MatmulPlan& plan, const ModelTensor& out, std::int64_t num_parts,
                    void* partial, const Launcher& launcher) {
  TENON_RETURN_IF_ERROR(check_out(plan, out));
  if (num_parts < 1) {
    return error(Error::InvalidArgument, "expected parts of the depth, found ", num_parts);
  }
  if (plan.rows == 0 || plan.columns == 0) return ok();
  MatmulArguments arguments = plan.arguments;
  arguments.out = out.as<std::uint16_t>();
  arguments.partial = static_cast<float*>(partial);
  const std::int64_t steps = steps_of(arguments.weights.depth);
  arguments.steps_of_part = static_cast<std::int32_t>(ceil_div(steps, num_parts));
  TENON_RETURN_IF_ERROR(
      run_tiles(plan, arguments, ceil_div(steps, arguments.steps_of_part), launcher));
  const std::int64_t quads = plan.rows * padded_columns(arguments.weights.columns) / sum_columns;
  return launch_blocks(launcher, "tenon_matmul_sum", {ceil_div(quads, sum_threads)},
                       {sum_threads, 1, 1}, arguments);
}

}  // namespace tenon::cuda_aoti::kernels
