// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

/// out = a b, of 8-bit numbers in 32 bits. The inner loop follows the memory of b. Sums wrap
/// around, as PyTorch's do: they are computed without sign, because an overflow of `int` is
/// undefined.
template <class A, class B>
void multiply(const ModelTensor& a, const ModelTensor& b, const ModelTensor& out) {
  const std::int64_t inner = a.sizes[1];
  const std::int64_t columns = b.sizes[1];
  for (std::int64_t i = 0; i < a.sizes[0]; ++i) {
    const A* const row = a.as<const A>() + i * a.strides[0];
    auto* const to = out.as<std::uint32_t>() + i * out.strides[0];
    if (b.strides[0] == 1 && a.strides[1] == 1) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const B* const column = b.as<const B>() + j * b.strides[1];
        std::uint32_t sum = 0;
        for (std::int64_t k = 0; k < inner; ++k) {
          sum += static_cast<std::uint32_t>(row[k] * column[k]);
        }
        to[j * out.strides[1]] = sum;
      }
      continue;
    }
    for (std::int64_t j = 0; j < columns; ++j) to[j * out.strides[1]] = 0;
    for (std::int64_t k = 0; k < inner; ++k) {
      const B* const other = b.as<const B>() + k * b.strides[0];
      const std::int32_t factor = row[k * a.strides[1]];
      for (std::int64_t j = 0; j < columns; ++j) {
        to[j * out.strides[1]] += static_cast<std::uint32_t>(factor * other[j * b.strides[1]]);
      }
    }
  }
}

Status int_mm(const ModelTensor& out, const ModelTensor& a, const ModelTensor& b) {
  const auto is = [&](ScalarType left, ScalarType right) {
    return a.scalar_type == left && b.scalar_type == right;
  };
  const bool both_byte = is(ScalarType::Byte, ScalarType::Byte);
  const bool both_char = is(ScalarType::Char, ScalarType::Char);
  // Activations without a sign and weights with one: torchao's dynamic quantisation.
  const bool mixed = is(ScalarType::Byte, ScalarType::Char);
  if (!(both_byte || both_char || mixed) || out.scalar_type != ScalarType::Int) {
    return error(
        Error::InvalidType, "a product of ", name_of(a.scalar_type), " and ",
        name_of(b.scalar_type), " in ", name_of(out.scalar_type),
        ": expected Char for both, Byte for both, or Byte and Char; and Int for the result");
  }
  if (a.rank != 2 || b.rank != 2 || out.rank != 2 || a.sizes[1] != b.sizes[0] ||
      out.sizes[0] != a.sizes[0] || out.sizes[1] != b.sizes[1]) {
    return error(Error::InvalidArgument, "a product of ", shape_text(a.shape()), " and ",
                 shape_text(b.shape()), " in ", shape_text(out.shape()),
                 ": expected [M, K], [K, N] and [M, N]");
  }
  if (both_byte) {
    multiply<std::uint8_t, std::uint8_t>(a, b, out);
  } else if (mixed) {
    multiply<std::uint8_t, std::int8_t>(a, b, out);
  } else {
    multiply<std::int8_t, std::int8_t>(a, b, out);
  }
  return ok();
}

/// One row of floats times rows of 8-bit weights, each with its scale.
template <class T>
void multiply_row(const float* row, const ModelTensor& weights, const ModelTensor& scales,
                  T* to) noexcept {
  const std::int64_t inner = weights.sizes[1];
  // Several sums, so that compilers vectorise the loop: they may not reorder one sum of floats.
  constexpr std::int64_t lanes = 16;
  for (std::int64_t j = 0; j < weights.sizes[0]; ++j) {
    const auto* const weight = weights.as<const std::int8_t>() + j * weights.strides[0];
    float sums[lanes] = {};
    std::int64_t k = 0;
    for (; k + lanes <= inner; k += lanes) {
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        sums[lane] += row[k + lane] * static_cast<float>(weight[k + lane]);
      }
    }
    for (; k < inner; ++k) sums[0] += row[k] * static_cast<float>(weight[k]);
    for (std::int64_t lane = 1; lane < lanes; ++lane) sums[0] += sums[lane];
    to[j] =
        narrow<T>(sums[0] * static_cast<float>(widen(scales.as<const T>()[j * scales.strides[0]])));
  }
}

/// self [M, K] times weights [N, K] of Char; scales [N] have the type of `self`.
Status int8pack_mm(const ModelTensor& self, const ModelTensor& weights, const ModelTensor& scales,
                   ModelTensor** ret0) {
  if (self.rank != 2 || weights.rank != 2 || scales.rank != 1 ||
      self.sizes[1] != weights.sizes[1] || scales.sizes[0] != weights.sizes[0]) {
    return error(Error::InvalidArgument, "an input ", shape_text(self.shape()), ", weights ",
                 shape_text(weights.shape()), " and scales ", shape_text(scales.shape()),
                 ": expected [M, K], [N, K] and [N]");
  }
  if (weights.scalar_type != ScalarType::Char || scales.scalar_type != self.scalar_type) {
    return error(Error::InvalidType, "weights of ", name_of(weights.scalar_type), " and scales of ",
                 name_of(scales.scalar_type), ": expected Char, and ", name_of(self.scalar_type),
                 ", the type of the input");
  }
  if (weights.strides[1] != 1 && weights.sizes[1] > 1) {
    return error(Error::InvalidArgument, "weights with stride ", weights.strides[1],
                 " within a row: expected 1");
  }
  const std::int64_t shape[] = {self.sizes[0], weights.sizes[0]};
  TENON_TRY(OwnedTensor out, new_tensor(shape, nullptr, self.scalar_type));
  TENON_TRY(const Scratch row,
            Scratch::of(self.sizes[1] * static_cast<std::int64_t>(sizeof(float))));
  TENON_RETURN_IF_ERROR(with_real_type(self.scalar_type, [&]<class T>(T) -> Status {
    for (std::int64_t i = 0; i < self.sizes[0]; ++i) {
      auto* const data = self.data + i * self.strides[0] * static_cast<std::int64_t>(sizeof(T));
      to_floats(self.shape().subspan(1), self.scalar_type, {data, self.strides.data() + 1},
                row.as<float>());
      multiply_row<T>(row.as<float>(), weights, scales,
                      out->template as<T>() + i * weights.sizes[0]);
    }
    return ok();
  }));
  *ret0 = out.take();
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu__int_mm_out(ModelTensor* out, ModelTensor* self,
                                     ModelTensor* mat2) noexcept {
  return shim_call("_int_mm_out", [&] { return int_mm(*out, *self, *mat2); });
}

ShimError aoti_torch_cpu__weight_int8pack_mm(ModelTensor* self, ModelTensor* mat2,
                                             ModelTensor* scales, ModelTensor** ret0) noexcept {
  return shim_call("_weight_int8pack_mm", [&] { return int8pack_mm(*self, *mat2, *scales, ret0); });
}

}  // namespace tenon::cpu_aoti
