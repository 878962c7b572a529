// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "arguments.hpp"
#include "tenon/aoti/tensor.hpp"
#include "tenon/core/result.hpp"

/// The fallback functions of models for CUDA that need kernels of ours. Names and parameters are
/// those of ExecuTorch's CUDA backend (backends/cuda/runtime/shims) and, where PyTorch has the
/// function, of its C shim. One list, for declarations, table and the exporter's names.
#define TENON_CUDA_KERNEL_SHIMS(X)                                                                \
  X(aoti_torch_cuda__weight_int4pack_mm, (Tensor * self, Tensor * mat2, std::int64_t group_size,  \
                                          Tensor * scales_and_zeros, Tensor * *ret0))             \
  X(aoti_torch_cuda_int4_plain_mm,                                                                \
    (Tensor * self, Tensor * qdata, Tensor * scale, Tensor * scale_step, Tensor * zero,           \
     Tensor * zero_point_step, std::int64_t group_size, Tensor * *ret0))                          \
  X(aoti_torch_cuda_int5_plain_mm,                                                                \
    (Tensor * self, Tensor * ql, Tensor * qh, Tensor * scale, Tensor * scale_step, Tensor * zero, \
     Tensor * zero_point_step, std::int64_t group_size, Tensor * *ret0))                          \
  X(aoti_torch_cuda_int6_plain_mm, (Tensor * self, Tensor * ql, Tensor * qh, Tensor * scale,      \
                                    Tensor * steps, std::int64_t group_size, Tensor * *ret0))     \
  X(aoti_torch_cuda_int8_plain_mm, (Tensor * self, Tensor * qdata, Tensor * scale, Tensor * zero, \
                                    std::int64_t group_size, Tensor * *ret0))                     \
  X(aoti_torch_cuda_sort_stable, (Tensor * self, std::int32_t * stable, std::int64_t dim,         \
                                  std::int32_t descending, Tensor * *ret0, Tensor * *ret1))       \
  X(aoti_torch_cuda_rand,                                                                         \
    (const std::int64_t* size, std::int64_t size_len, std::int32_t* dtype, std::int32_t* layout,  \
     std::int32_t* device, std::int32_t device_index, std::int32_t* pin_memory, Tensor** ret0))   \
  X(aoti_torch_cuda_randint_low_out, (Tensor * out, std::int64_t low, std::int64_t high,          \
                                      const std::int64_t* size, std::int64_t size_len))

namespace tenon::cuda_aoti::kernels {

using aoti::Tensor;

/// The code of all kernels as nvcc's fat binary (sm_80, sm_90, PTX of compute_90), for
/// `cuModuleLoadData`. Empty when the plugin was built without nvcc: then none of the functions
/// above can be served, and a model that asks for one is to be refused when it is loaded.
/// lifetime: static; threads: any
[[nodiscard]] std::span<const std::byte> fatbin() noexcept;

/// Names of the kernels in `fatbin`, zero-terminated; the same list whether it is empty or not.
[[nodiscard]] std::span<const char* const> functions() noexcept;

/// One kernel to be run on the stream of whoever launches it.
struct Launch {
  const char* function;  ///< One of `functions()`; static.
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  std::span<void* const> parameters;  ///< As cuLaunchKernel takes them; for the call alone.
};

/// Runs kernels: `cuLaunchKernel` in the plugin, a recorder in tests. Launches of one plan are to
/// run in the order in which they are made, on one stream. None uses dynamic shared memory.
struct Launcher {
  Status (*launch)(void* context, const Launch&);
  void* context;

  [[nodiscard]] Status operator()(const Launch& what) const { return launch(context, what); }
};

/// A matrix product whose arguments have been checked: `out` is bfloat16 [rows, columns].
/// Nothing is owned: the tensors stay alive until the stream has run what was launched.
struct MatmulPlan {
  std::int64_t rows;
  std::int64_t columns;
  std::array<const char*, 3> functions;  ///< For one row, a few, and many.
  MatmulArguments arguments;
};

/// self @ weight^T for weights of the five formats (weight_formats.hpp has their layouts). self is
/// bfloat16 [rows, depth], depth a multiple of 32 (of 256 for plain 4, 5 and 6 bits), the elements
/// of a row without gaps; the weight's parts are contiguous. Weights and sums are float32 for up to
/// 16 rows; for more, tensor cores multiply weights rounded to bfloat16. ExecuTorch's kernels for 4
/// to 8 plain bits round `self` to 8 bits instead; these do not.
///
/// errors: InvalidArgument with the name, what was expected and what was found.
/// threads: any
[[nodiscard]] Result<MatmulPlan> plan_weight_int4pack_mm(const Tensor& self, const Tensor& mat2,
                                                         std::int64_t group_size,
                                                         const Tensor& scales_and_zeros);
[[nodiscard]] Result<MatmulPlan> plan_int4_plain_mm(const Tensor& self, const Tensor& qdata,
                                                    const Tensor& scale, const Tensor& scale_step,
                                                    const Tensor& zero,
                                                    const Tensor& zero_point_step,
                                                    std::int64_t group_size);
[[nodiscard]] Result<MatmulPlan> plan_int5_plain_mm(const Tensor& self, const Tensor& ql,
                                                    const Tensor& qh, const Tensor& scale,
                                                    const Tensor& scale_step, const Tensor& zero,
                                                    const Tensor& zero_point_step,
                                                    std::int64_t group_size);
[[nodiscard]] Result<MatmulPlan> plan_int6_plain_mm(const Tensor& self, const Tensor& ql,
                                                    const Tensor& qh, const Tensor& scale,
                                                    const Tensor& steps, std::int64_t group_size);
[[nodiscard]] Result<MatmulPlan> plan_int8_plain_mm(const Tensor& self, const Tensor& qdata,
                                                    const Tensor& scale, const Tensor& zero,
                                                    std::int64_t group_size);

/// Launches it (nothing when `out` has no elements). `out` is contiguous, on the device of `self`.
[[nodiscard]] Status run(const MatmulPlan& plan, const Tensor& out, const Launcher& launcher);

/// A sort along `dim`, stable, NaN as the largest number and -0 equal to 0, as PyTorch has it.
struct SortPlan {
  std::size_t scratch_bytes;  ///< To be given to `run`, aligned to 16; 0 for rows up to 2048.
  std::size_t along;          ///< The dimension, from 0.
  std::int32_t rank;
  std::array<std::int64_t, max_rank> sizes;  ///< Of self, as are `rank` and those of the result.
  SortArguments arguments;
};

/// self: any strides; integers, bool, float16, bfloat16, float32, float64.
/// errors: InvalidArgument (dim, device), NotSupported (element type; 2^31 elements in a row)
/// threads: any
[[nodiscard]] Result<SortPlan> plan_sort_stable(const Tensor& self, std::int64_t dim,
                                                bool descending);

/// `values` (dtype of self) and `indices` (int64) have self's sizes and any strides, and share no
/// memory with it. `scratch` is device memory that may be used again once the stream has run this.
[[nodiscard]] Status run(SortPlan plan, const Tensor& values, const Tensor& indices, void* scratch,
                         const Launcher& launcher);

/// What to copy to the device (`RandomState`, 16 bytes, aligned to 8) before numbers are drawn.
/// One state serves one stream at a time: each run reads it and then moves it on.
[[nodiscard]] constexpr RandomState initial_random_state(std::uint64_t seed) noexcept {
  return {seed, 0};
}

/// Uniform in [0, 1): float16, bfloat16, float32 or float64, with as many random bits as the type
/// has digits, so that 1 never comes. Philox4x32-10 as PyTorch, but not PyTorch's numbers: which
/// element gets which bits is our own.
/// errors: InvalidArgument (device, no state), NotSupported (element type, strides)
[[nodiscard]] Status rand(const Tensor& out, RandomState* state, const Launcher& launcher);

/// Integers in [low, high), 64 random bits modulo the range; uint8, int8, int16, int32 or int64.
/// errors: InvalidArgument (low not below high, bounds outside of the type, `size` not out's),
/// NotSupported (element type, strides)
[[nodiscard]] Status randint_low_out(const Tensor& out, std::int64_t low, std::int64_t high,
                                     std::span<const std::int64_t> size, RandomState* state,
                                     const Launcher& launcher);

}  // namespace tenon::cuda_aoti::kernels
