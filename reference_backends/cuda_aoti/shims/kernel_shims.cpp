// SPDX-License-Identifier: MIT
#include "shims/kernel_shims.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <utility>

#include "driver/device.hpp"
#include "products.hpp"
#include "shims/made_tensor.hpp"
#include "tenon/aoti/shims/host_shims.hpp"
#include "tenon/aoti/tensors/dense_strides.hpp"

namespace tenon::cuda_aoti {

namespace {

/// Launches on the pool's stream. The context is the pool.
Status launch(void* context, const kernels::Launch& what) {
  const auto& pool = *static_cast<const aoti::TensorPool*>(context);
  CudaDevice& device = *model_context(pool.memory()).device;
  TENON_TRY(const CUfunction function, device.kernel(what.function));
  return TENON_CUDA(device.driver(), cuLaunchKernel, function, what.grid[0], what.grid[1],
                    what.grid[2], what.block[0], what.block[1], what.block[2], 0u,
                    static_cast<CUstream>(pool.stream()),
                    const_cast<void**>(what.parameters.data()), nullptr);
}

kernels::Launcher launcher(aoti::TensorPool& pool) noexcept { return {&launch, &pool}; }

template <class Plan>
ShimError matmul(const char* name, ModelTensor** out, Plan plan) noexcept {
  return aoti::shim_call(name, [&]() -> Status {
    TENON_TRY(const kernels::MatmulPlan planned, plan());
    aoti::TensorPool& pool = aoti::current_pool();
    const std::int64_t sizes[] = {planned.rows, planned.columns};
    MadeTensor made(pool, sizes, nullptr, ScalarType::BFloat16);
    TENON_RETURN_IF_ERROR(made.status());
    TENON_RETURN_IF_ERROR(run_product(planned, *made, pool, launcher(pool)));
    *out = made.take();
    return ok();
  });
}

/// The position in a model's random numbers, on the device.
struct Random {
  std::optional<aoti::DeviceBlock> state;
};

/// As PyTorch's generators of a process: other numbers each time.
std::uint64_t new_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

/// The state of the running model, with the seed that the application gave, or one of its own. The
/// numbers are not PyTorch's. A model's seeds (Inductor's `inductor_seeds`) are integers drawn
/// here.
Result<kernels::RandomState*> random_state(aoti::TensorPool& pool) {
  auto& random = pool.cache<Random>();
  if (!random.state) {
    const auto seed = model_context(pool.memory()).seed;
    const kernels::RandomState initial = kernels::initial_random_state(seed ? *seed : new_seed());
    TENON_TRY(aoti::DeviceBlock block,
              aoti::DeviceBlock::upload(pool.memory(), std::as_bytes(std::span(&initial, 1))));
    random.state.emplace(std::move(block));
  }
  return reinterpret_cast<kernels::RandomState*>(random.state->data());
}

}  // namespace

ShimError aoti_torch_cuda__weight_int4pack_mm(ModelTensor* self, ModelTensor* mat2,
                                              std::int64_t group_size,
                                              ModelTensor* scales_and_zeros,
                                              ModelTensor** ret0) noexcept {
  return matmul("aoti_torch_cuda__weight_int4pack_mm", ret0, [&] {
    return kernels::plan_weight_int4pack_mm(*self, *mat2, group_size, *scales_and_zeros);
  });
}
ShimError aoti_torch_cuda_int4_plain_mm(ModelTensor* self, ModelTensor* qdata, ModelTensor* scale,
                                        ModelTensor* scale_step, ModelTensor* zero,
                                        ModelTensor* zero_point_step, std::int64_t group_size,
                                        ModelTensor** ret0) noexcept {
  return matmul("aoti_torch_cuda_int4_plain_mm", ret0, [&] {
    return kernels::plan_int4_plain_mm(*self, *qdata, *scale, *scale_step, *zero, *zero_point_step,
                                       group_size);
  });
}
ShimError aoti_torch_cuda_int5_plain_mm(ModelTensor* self, ModelTensor* ql, ModelTensor* qh,
                                        ModelTensor* scale, ModelTensor* scale_step,
                                        ModelTensor* zero, ModelTensor* zero_point_step,
                                        std::int64_t group_size, ModelTensor** ret0) noexcept {
  return matmul("aoti_torch_cuda_int5_plain_mm", ret0, [&] {
    return kernels::plan_int5_plain_mm(*self, *ql, *qh, *scale, *scale_step, *zero,
                                       *zero_point_step, group_size);
  });
}
ShimError aoti_torch_cuda_int6_plain_mm(ModelTensor* self, ModelTensor* ql, ModelTensor* qh,
                                        ModelTensor* scale, ModelTensor* steps,
                                        std::int64_t group_size, ModelTensor** ret0) noexcept {
  return matmul("aoti_torch_cuda_int6_plain_mm", ret0, [&] {
    return kernels::plan_int6_plain_mm(*self, *ql, *qh, *scale, *steps, group_size);
  });
}
ShimError aoti_torch_cuda_int8_plain_mm(ModelTensor* self, ModelTensor* qdata, ModelTensor* scale,
                                        ModelTensor* zero, std::int64_t group_size,
                                        ModelTensor** ret0) noexcept {
  return matmul("aoti_torch_cuda_int8_plain_mm", ret0, [&] {
    return kernels::plan_int8_plain_mm(*self, *qdata, *scale, *zero, group_size);
  });
}

/// Always stable. Results have the order in memory of `self`, without its gaps.
ShimError aoti_torch_cuda_sort_stable(ModelTensor* self, std::int32_t*, std::int64_t dim,
                                      std::int32_t descending, ModelTensor** ret0,
                                      ModelTensor** ret1) noexcept {
  return aoti::shim_call("aoti_torch_cuda_sort_stable", [&]() -> Status {
    TENON_TRY(kernels::SortPlan plan, kernels::plan_sort_stable(*self, dim, descending != 0));
    aoti::TensorPool& pool = aoti::current_pool();
    const auto strides = aoti::dense_strides_like(*self);
    const std::int64_t scratch_size[] = {static_cast<std::int64_t>(plan.scratch_bytes)};
    MadeTensor values(pool, self->shape(), strides.data(), self->scalar_type);
    MadeTensor indices(pool, self->shape(), strides.data(), ScalarType::Long);
    // Released at once: its next use is later on the same stream.
    const MadeTensor scratch(pool, scratch_size, nullptr, ScalarType::Byte);
    for (const MadeTensor* made : {&std::as_const(values), &std::as_const(indices), &scratch}) {
      TENON_RETURN_IF_ERROR(made->status());
    }
    TENON_RETURN_IF_ERROR(kernels::run(plan, *values, *indices, scratch.data(), launcher(pool)));
    *ret0 = values.take();
    *ret1 = indices.take();
    return ok();
  });
}

ShimError aoti_torch_cuda_rand(const std::int64_t* size, std::int64_t size_len, std::int32_t* dtype,
                               std::int32_t*, std::int32_t*, std::int32_t, std::int32_t*,
                               ModelTensor** ret0) noexcept {
  return aoti::shim_call("aoti_torch_cuda_rand", [&]() -> Status {
    aoti::TensorPool& pool = aoti::current_pool();
    const auto type = dtype ? static_cast<ScalarType>(*dtype) : ScalarType::Float;
    MadeTensor made(pool, aoti::shims::detail::list(size, size_len), nullptr, type);
    TENON_RETURN_IF_ERROR(made.status());
    TENON_TRY(kernels::RandomState* const state, random_state(pool));
    TENON_RETURN_IF_ERROR(kernels::rand(*made, state, launcher(pool)));
    *ret0 = made.take();
    return ok();
  });
}
ShimError aoti_torch_cuda_randint_low_out(ModelTensor* out, std::int64_t low, std::int64_t high,
                                          const std::int64_t* size,
                                          std::int64_t size_len) noexcept {
  return aoti::shim_call("aoti_torch_cuda_randint_low_out", [&]() -> Status {
    aoti::TensorPool& pool = aoti::current_pool();
    TENON_TRY(kernels::RandomState* const state, random_state(pool));
    return kernels::randint_low_out(*out, low, high, aoti::shims::detail::list(size, size_len),
                                    state, launcher(pool));
  });
}

std::span<const aoti::Shim> kernel_shims() {
  static const aoti::Shim list[] = {TENON_CUDA_KERNEL_SHIMS(TENON_AOTI_ENTRY)};
  if (kernels::fatbin().empty()) return {};
  return list;
}

}  // namespace tenon::cuda_aoti
