// SPDX-License-Identifier: MIT
#include <iterator>
#include <numeric>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/quantized/weight_products.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

Status check_arguments(const ModelTensor& self, const ModelTensor& weights,
                       const ModelTensor& group, const ModelTensor& scales) {
  const ScalarType type = self.scalar_type;
  if (type != ScalarType::Float && type != ScalarType::BFloat16 && type != ScalarType::Half) {
    return error(Error::InvalidType, "an input of ", name_of(type),
                 ": expected Float, BFloat16 or Half");
  }
  if (weights.scalar_type != ScalarType::Byte || scales.scalar_type != type ||
      group.scalar_type != ScalarType::Long) {
    return error(Error::InvalidType, "weights of ", name_of(weights.scalar_type), ", scales of ",
                 name_of(scales.scalar_type), " and a group size of ", name_of(group.scalar_type),
                 ": expected Byte, ", name_of(type), ", the type of the input, and Long");
  }
  if (group.numel != 1) {
    return error(Error::InvalidArgument, "a group size ", shape_text(group.shape()),
                 ": expected one number");
  }
  const std::int64_t size = *group.as<const std::int64_t>();
  if (size != 32 && size != 64 && size != 128 && size != 256) {
    return error(Error::InvalidArgument, "groups of ", size, ": expected 32, 64, 128 or 256");
  }
  if (self.rank != 2 || weights.rank != 2 || scales.rank != 3 || self.sizes[1] % size != 0 ||
      weights.sizes[0] % 16 != 0 || weights.sizes[1] != self.sizes[1] / 2 ||
      scales.sizes[0] != self.sizes[1] / size || scales.sizes[1] != weights.sizes[0] ||
      scales.sizes[2] != 2) {
    return error(Error::InvalidArgument, "an input ", shape_text(self.shape()), ", weights ",
                 shape_text(weights.shape()), " and scales ", shape_text(scales.shape()),
                 ": expected [M, K], [N, K/2] and [K/", size, ", N, 2], with K a multiple of ",
                 size, " and N of 16");
  }
  if (!weights.is_contiguous() || !scales.is_contiguous()) {
    return error(Error::InvalidArgument,
                 "weights or scales with gaps or in another order: expected contiguous ones");
  }
  return ok();
}

/// The sum of `count` numbers, a multiple of 8, with eight additions side by side.
float sum_of(const float* numbers, std::int64_t count) noexcept {
  float sums[8] = {};
  for (std::int64_t k = 0; k < count; k += 8) {
    for (std::int64_t i = 0; i < 8; ++i) sums[i] += numbers[k + i];
  }
  return std::accumulate(std::begin(sums), std::end(sums), 0.0f);
}

/// self [M, K] times packed weights [N, K/2] of Byte; `group` has the size of groups, `scales` [K /
/// size, N, 2] have the type of `self` (aten/src/ATen/native/LinearAlgebra.cpp,
/// _weight_int4pack_mm_cpu).
Status int4pack_mm(const ModelTensor& self, const ModelTensor& weights, const ModelTensor& group,
                   const ModelTensor& scales, ModelTensor** ret0) {
  TENON_RETURN_IF_ERROR(check_arguments(self, weights, group, scales));
  const std::int64_t rows = self.sizes[0];
  const std::int64_t inner = self.sizes[1];
  const std::int64_t size = *group.as<const std::int64_t>();
  const std::int64_t shape[] = {rows, weights.sizes[0]};
  TENON_TRY(OwnedTensor out, new_tensor(shape, nullptr, self.scalar_type));
  TENON_TRY(const FloatRows x, FloatRows::of(self));
  TENON_TRY(const FloatResult result, FloatResult::of(*out));
  TENON_TRY(const Scratch sums, Scratch::of(rows * (inner / size) * std::int64_t{sizeof(float)}));
  for (std::int64_t i = 0; i < rows * (inner / size); ++i) {
    sums.as<float>()[i] = sum_of(x.data() + i * size, size);
  }
  const VectorLevel level = vector_level();
  multiply({weights.as<const std::uint8_t>(), weights.sizes[0], inner, size,
            scales.as<const void>(), scales.scalar_type},
           x.data(), sums.as<float>(), rows, result.data(), int4_layout(level), level);
  TENON_RETURN_IF_ERROR(aoti::cancel_flag().check());
  result.round_to(*out);
  *ret0 = out.take();
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu__weight_int4pack_mm_cpu_tensor(ModelTensor* self, ModelTensor* weights,
                                                        ModelTensor* group_size,
                                                        ModelTensor* scales_and_zeros,
                                                        ModelTensor** ret0) noexcept {
  return shim_call("_weight_int4pack_mm_cpu_tensor", [&] {
    return int4pack_mm(*self, *weights, *group_size, *scales_and_zeros, ret0);
  });
}

}  // namespace tenon::cpu_aoti
