// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "arguments.hpp"
#include "tenon/aoti/tensors/device_memory_api.hpp"
#include "tenon/aoti/tensors/model_tensor.hpp"
#include "tenon/core/result.hpp"

/// The fallback functions of models for CUDA that this plugin implements with kernels. Names and
/// parameters follow ExecuTorch's CUDA backend (backends/cuda/runtime/shims) and, where PyTorch has
/// the function, its C shim. Declarations, table and the exporter's names come from this list.
#define TENON_CUDA_KERNEL_SHIMS(X)                                                                \
  X(aoti_torch_cuda__weight_int4pack_mm,                                                          \
    (ModelTensor * self, ModelTensor * mat2, std::int64_t group_size,                             \
     ModelTensor* scales_and_zeros, ModelTensor** ret0))                                          \
  X(aoti_torch_cuda_int4_plain_mm,                                                                \
    (ModelTensor * self, ModelTensor * qdata, ModelTensor * scale, ModelTensor * scale_step,      \
     ModelTensor * zero, ModelTensor * zero_point_step, std::int64_t group_size,                  \
     ModelTensor** ret0))                                                                         \
  X(aoti_torch_cuda_int5_plain_mm,                                                                \
    (ModelTensor * self, ModelTensor * ql, ModelTensor * qh, ModelTensor * scale,                 \
     ModelTensor * scale_step, ModelTensor * zero, ModelTensor * zero_point_step,                 \
     std::int64_t group_size, ModelTensor** ret0))                                                \
  X(aoti_torch_cuda_int6_plain_mm,                                                                \
    (ModelTensor * self, ModelTensor * ql, ModelTensor * qh, ModelTensor * scale,                 \
     ModelTensor * steps, std::int64_t group_size, ModelTensor** ret0))                           \
  X(aoti_torch_cuda_int8_plain_mm,                                                                \
    (ModelTensor * self, ModelTensor * qdata, ModelTensor * scale, ModelTensor * zero,            \
     std::int64_t group_size, ModelTensor** ret0))                                                \
  X(aoti_torch_cuda_sort_stable,                                                                  \
    (ModelTensor * self, std::int32_t* stable, std::int64_t dim, std::int32_t descending,         \
     ModelTensor** ret0, ModelTensor** ret1))                                                     \
  X(aoti_torch_cuda_rand, (const std::int64_t* size, std::int64_t size_len, std::int32_t* dtype,  \
                           std::int32_t* layout, std::int32_t* device, std::int32_t device_index, \
                           std::int32_t* pin_memory, ModelTensor** ret0))                         \
  X(aoti_torch_cuda_randint_low_out, (ModelTensor * out, std::int64_t low, std::int64_t high,     \
                                      const std::int64_t* size, std::int64_t size_len))

namespace tenon::cuda_aoti::kernels {

using aoti::ModelTensor;

/// The modules that the kernels are in: a model that copies between layouts and needs nothing else
/// loads a small one.
enum class Module : std::uint8_t { copies, others };
inline constexpr Module all_modules[] = {Module::copies, Module::others};

/// The code of a module's kernels as nvcc's fat binary (sm_80, sm_90, and from
/// CUDA 12.8 on sm_100, sm_120), for `cuModuleLoadData`. Empty when
/// the plugin was built without nvcc: the functions above are then not available, and a model that
/// needs one must be refused when it is loaded.
/// lifetime: static; threads: any
[[nodiscard]] std::span<const std::byte> fatbin(Module module = Module::others) noexcept;

/// The code of the module as PTX for compute_80, with a zero behind it, for devices and drivers
/// that have no use for the binaries: drivers for CUDA 11.8 and later compile it. Empty as
/// `fatbin`.
/// lifetime: static; threads: any
[[nodiscard]] std::string_view ptx(Module module = Module::others) noexcept;

/// Names of the kernels in `fatbin`, zero-terminated; the same list whether it is empty or not.
[[nodiscard]] std::span<const char* const> functions(Module module) noexcept;

/// One kernel, to be run on the stream of the caller.
struct Launch {
  const char* function;  ///< One of `functions`; static.
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  std::span<void* const> parameters;  ///< In cuLaunchKernel's form; valid during the call.
};

/// Runs kernels: `cuLaunchKernel` in the plugin, a recorder in tests. Launches of one plan are to
/// run in the order in which they are made, on one stream. None uses dynamic shared memory.
struct Launcher {
  Status (*launch)(void* context, const Launch&);
  void* context;

  [[nodiscard]] Status operator()(const Launch& what) const { return launch(context, what); }
};

/// A copy between two layouts as one launch. Adjacent dimensions are joined, and elements that are
/// adjacent on both sides are copied by up to 16 bytes at once; where another dimension is adjacent
/// in the source than in the target, tiles are transposed in shared memory.
/// errors: InvalidArgument when an element of the target is written twice (a stride of 0);
/// NotSupported for elements of another size than 1, 2, 4, 8 and 16 bytes, and for addresses that
/// are not aligned to an element.
/// threads: any
[[nodiscard]] Result<CopyArguments> plan_copy_strided(const aoti::StridedCopy& copy);

/// Launches it (nothing when there are no elements).
[[nodiscard]] Status run(const CopyArguments& copy, const Launcher& launcher);

/// A matrix product whose arguments have been checked: `out` is bfloat16 [rows, columns]. Owns
/// nothing: the tensors must outlive the launched work.
struct MatmulPlan {
  std::int64_t rows;
  std::int64_t columns;
  std::array<const char*, 3> functions;  ///< For one row, a few, and many.
  const char* unpack;                    ///< Of the weight alone.
  std::int64_t row_columns;              ///< Columns of a block of the first.
  std::int64_t few_columns;              ///< Of the second.
  unsigned row_warps;                    ///< Of a block of the first.
  unsigned few_warps;                    ///< Of the second.
  MatmulArguments arguments;
};

/// self @ weight^T for weights of the five formats (weight_formats.hpp has their layouts). self is
/// bfloat16 [rows, depth], depth a multiple of 32 (of 256 for plain 4, 5 and 6 bits), the elements
/// of a row without gaps; the weight's parts are contiguous. For up to `few_rows_limit` rows the
/// packed format is multiplied in float32; for the plain ones 32 values of `self` become integers
/// of 16 bits with a power of 2 in common (device/plain_rows.cuh), where ExecuTorch's kernels round
/// them to 8 bits, and an infinite value makes its element NaN. For more rows tensor cores multiply
/// weights rounded to bfloat16.
///
/// errors: InvalidArgument with the name, what was expected and what was found.
/// threads: any
[[nodiscard]] Result<MatmulPlan> plan_weight_int4pack_mm(const ModelTensor& self,
                                                         const ModelTensor& mat2,
                                                         std::int64_t group_size,
                                                         const ModelTensor& scales_and_zeros);
[[nodiscard]] Result<MatmulPlan> plan_int4_plain_mm(
    const ModelTensor& self, const ModelTensor& qdata, const ModelTensor& scale,
    const ModelTensor& scale_step, const ModelTensor& zero, const ModelTensor& zero_point_step,
    std::int64_t group_size);
[[nodiscard]] Result<MatmulPlan> plan_int5_plain_mm(const ModelTensor& self, const ModelTensor& ql,
                                                    const ModelTensor& qh, const ModelTensor& scale,
                                                    const ModelTensor& scale_step,
                                                    const ModelTensor& zero,
                                                    const ModelTensor& zero_point_step,
                                                    std::int64_t group_size);
[[nodiscard]] Result<MatmulPlan> plan_int6_plain_mm(const ModelTensor& self, const ModelTensor& ql,
                                                    const ModelTensor& qh, const ModelTensor& scale,
                                                    const ModelTensor& steps,
                                                    std::int64_t group_size);
[[nodiscard]] Result<MatmulPlan> plan_int8_plain_mm(const ModelTensor& self,
                                                    const ModelTensor& qdata,
                                                    const ModelTensor& scale,
                                                    const ModelTensor& zero,
                                                    std::int64_t group_size);

/// Launches it (nothing when `out` has no elements). `out` is contiguous, on the device of `self`.
[[nodiscard]] Status run(const MatmulPlan& plan, const ModelTensor& out, const Launcher& launcher);

/// Tiles that a device computes at once, all of its multiprocessors together, by their number and
/// the bytes of shared memory of each.
[[nodiscard]] std::int64_t tiles_at_once(std::int64_t multiprocessors,
                                         std::int64_t shared_bytes) noexcept;

/// How many parts the depth of a product should have: 1 unless its tiles leave multiprocessors
/// without work, as tiles of 5 to 191 rows do, else as many as there are blocks for.
[[nodiscard]] std::int64_t num_parts(const MatmulPlan& plan, std::int64_t at_once) noexcept;

/// Bytes of the sums of so many parts.
[[nodiscard]] std::size_t partial_bytes(const MatmulPlan& plan, std::int64_t num_parts) noexcept;

/// Launches it as tiles of `num_parts` parts of the depth, whose sums in float32 go to `partial`
/// (`partial_bytes`, aligned to 16, which may be used again once the stream has run this), and the
/// addition of the parts, always in the same order. For any number of rows.
/// errors: as `run`; InvalidArgument for fewer than one part.
[[nodiscard]] Status run_in_parts(const MatmulPlan& plan, const ModelTensor& out,
                                  std::int64_t num_parts, void* partial, const Launcher& launcher);

/// Launches the unpacking of its weight to bfloat16 [columns, depth] at `to`, memory of the device
/// that is aligned to 16, without the product.
[[nodiscard]] Status unpack_weight(const MatmulPlan& plan, void* to, const Launcher& launcher);

/// A sort along `dim`, stable, NaN as the largest number and -0 equal to 0, as PyTorch has it.
struct SortPlan {
  std::size_t scratch_bytes;  ///< Of the argument of `run`, aligned to 16; 0 for rows up to 2048.
  std::size_t along;          ///< The dimension, from 0.
  std::int32_t rank;
  std::array<std::int64_t, max_rank> sizes;  ///< Of self and the result, as is `rank`.
  SortArguments arguments;
};

/// self: any strides; integers, bool, float16, bfloat16, float32, float64.
/// errors: InvalidArgument (dim, device), NotSupported (element type; 2^31 elements in a row)
/// threads: any
[[nodiscard]] Result<SortPlan> plan_sort_stable(const ModelTensor& self, std::int64_t dim,
                                                bool descending);

/// `values` (dtype of self) and `indices` (int64) have self's sizes and any strides, and share no
/// memory with it. `scratch` is device memory that may be used again once the stream has run this.
[[nodiscard]] Status run(SortPlan plan, const ModelTensor& values, const ModelTensor& indices,
                         void* scratch, const Launcher& launcher);

/// The bytes to copy to the device (`RandomState`, 16 bytes, aligned to 8) before numbers are
/// drawn. A state serves one stream at a time: each run reads and then advances it.
[[nodiscard]] constexpr RandomState initial_random_state(std::uint64_t seed) noexcept {
  return {seed, 0};
}

/// Uniform in [0, 1): float16, bfloat16, float32 or float64, with as many random bits as the type
/// has digits, so that 1 never occurs. Philox4x32-10 as in PyTorch, but not PyTorch's numbers:
/// elements get other bits.
/// errors: InvalidArgument (device, no state), NotSupported (element type, strides)
[[nodiscard]] Status rand(const ModelTensor& out, RandomState* state, const Launcher& launcher);

/// Integers in [low, high), 64 random bits modulo the range; uint8, int8, int16, int32 or int64.
/// errors: InvalidArgument (low not below high, bounds outside of the type, `size` not out's),
/// NotSupported (element type, strides)
[[nodiscard]] Status randint_low_out(const ModelTensor& out, std::int64_t low, std::int64_t high,
                                     std::span<const std::int64_t> size, RandomState* state,
                                     const Launcher& launcher);

}  // namespace tenon::cuda_aoti::kernels
