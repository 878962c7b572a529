// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/selection/nonzero.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

/// A tensor and a mask, broadcast to one shape. The mask is read as a tensor of that shape.
struct Masked {
  BroadcastPair pair;
  ModelTensor mask;

  [[nodiscard]] Sizes shape() const noexcept { return pair.shape(); }
};

Result<Masked> apply_mask(const ModelTensor& self, const ModelTensor& mask) {
  if (mask.scalar_type != ScalarType::Bool) {
    return error(Error::InvalidType, "a mask of ", name_of(mask.scalar_type), ": expected Bool");
  }
  TENON_TRY(const BroadcastPair pair, broadcast(self, mask));
  Masked out{pair, mask};
  out.mask.rank = static_cast<std::int32_t>(pair.rank);
  out.mask.sizes = pair.sizes;
  out.mask.strides = pair.b_strides;
  return out;
}

/// Offset of the element at `position`, in row-major order of `sizes`.
[[nodiscard]] std::int64_t offset_at(Sizes sizes, const Dims& strides,
                                     std::int64_t position) noexcept {
  const Dims index = unravel(sizes, position);
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) offset += index[d] * strides[d];
  return offset;
}

/// out = self, with elements of `source` in their order where the mask is true.
Status masked_scatter(const ModelTensor& self, const ModelTensor& mask, const ModelTensor& source,
                      ModelTensor** ret0) {
  if (source.scalar_type != self.scalar_type) {
    return error(Error::InvalidType, "a source of ", name_of(source.scalar_type),
                 ": expected the type of the result, ", name_of(self.scalar_type));
  }
  TENON_TRY(const Masked masked, apply_mask(self, mask));
  TENON_TRY(const std::int64_t count, count_nonzero(masked.mask));
  if (count > source.numel) {
    return error(Error::InvalidArgument, "a source of ", source.numel, " elements: expected ",
                 count, ", the number of true elements of the mask");
  }
  TENON_TRY(OwnedTensor out, new_tensor(masked.shape(), nullptr, self.scalar_type));
  const std::size_t element = size_of(self.scalar_type);
  copy_strided(masked.shape(), element, {out->data, out->strides.data()},
               {self.data, masked.pair.a_strides.data()});
  std::int64_t next = 0;
  TENON_RETURN_IF_ERROR(for_nonzero(masked.mask, [&](std::int64_t, std::int64_t position) {
    const std::int64_t offset = offset_at(source.shape(), source.strides, next++);
    const auto size = static_cast<std::int64_t>(element);
    std::memcpy(out->data + position * size, source.data + offset * size, element);
  }));
  *ret0 = out.take();
  return ok();
}

Status masked_select(const ModelTensor& self, const ModelTensor& mask, ModelTensor** ret0) {
  TENON_TRY(const Masked masked, apply_mask(self, mask));
  TENON_TRY(const std::int64_t count, count_nonzero(masked.mask));
  TENON_TRY(OwnedTensor out, new_tensor(Sizes(&count, 1), nullptr, self.scalar_type));
  const std::size_t element = size_of(self.scalar_type);
  const auto size = static_cast<std::int64_t>(element);
  std::int64_t next = 0;
  TENON_RETURN_IF_ERROR(for_nonzero(masked.mask, [&](std::int64_t, std::int64_t position) {
    const std::int64_t offset = offset_at(masked.shape(), masked.pair.a_strides, position);
    std::memcpy(out->data + next++ * size, self.data + offset * size, element);
  }));
  *ret0 = out.take();
  return ok();
}

/// A row of indices for each element that is not 0, at most `rows`; the rest is filled. The strides
/// of the result are PyTorch's, which Inductor relies on.
Status write_nonzero(const ModelTensor& self, std::int64_t rows, std::int64_t fill,
                     const std::int64_t (&strides)[2], ModelTensor** ret0) {
  const std::int64_t shape[] = {rows, self.rank};
  TENON_TRY(OwnedTensor out, new_tensor(shape, strides, ScalarType::Long));
  auto* to = out->as<std::int64_t>();
  const auto rank = static_cast<std::size_t>(self.rank);
  std::int64_t row = 0;
  TENON_RETURN_IF_ERROR(for_nonzero(self, [&](std::int64_t, std::int64_t position) {
    if (row >= rows) return;
    const Dims index = unravel(self.shape(), position);
    for (std::size_t d = 0; d < rank; ++d) {
      to[row * strides[0] + static_cast<std::int64_t>(d) * strides[1]] = index[d];
    }
    ++row;
  }));
  // A row of rank 0 has nothing to be filled, and there may be 2^62 of them.
  for (; rank != 0 && row < rows; ++row) {
    for (std::int64_t d = 0; d < self.rank; ++d) to[row * strides[0] + d * strides[1]] = fill;
  }
  *ret0 = out.take();
  return ok();
}

/// Index i, repeats[i] times.
Status repeat_indices(const ModelTensor& repeats, const std::int64_t* output_size,
                      ModelTensor** ret0) {
  if (repeats.rank != 1) {
    return error(Error::InvalidArgument, "repeats ", shape_text(repeats.shape()),
                 ": expected one dimension");
  }
  if (repeats.scalar_type != ScalarType::Long && repeats.scalar_type != ScalarType::Int) {
    return error(Error::InvalidType, "repeats of ", name_of(repeats.scalar_type),
                 ": expected Long or Int");
  }
  return with_type(repeats.scalar_type, [&]<class T>(T) -> Status {
    const auto read = [&](std::int64_t i) {
      return static_cast<std::int64_t>(widen(repeats.as<const T>()[i * repeats.strides[0]]));
    };
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < repeats.numel; ++i) {
      if (read(i) < 0 || __builtin_add_overflow(sum, read(i), &sum)) {
        return error(Error::InvalidArgument, "repeats ", read(i), " at place ", i,
                     ": expected at least 0, and a sum that fits into 64 bits");
      }
    }
    if (output_size && *output_size != sum) {
      return error(Error::InvalidArgument, "an output size ", *output_size, ": expected ", sum,
                   ", the sum of the repeats");
    }
    TENON_TRY(OwnedTensor out, new_tensor(Sizes(&sum, 1), nullptr, repeats.scalar_type));
    T* to = out->template as<T>();
    for (std::int64_t i = 0; i < repeats.numel; ++i) to = std::fill_n(to, read(i), narrow<T>(i));
    *ret0 = out.take();
    return ok();
  });
}

}  // namespace

ShimError aoti_torch_cpu_masked_scatter(ModelTensor* self, ModelTensor* mask, ModelTensor* source,
                                        ModelTensor** ret0) noexcept {
  return shim_call("masked_scatter", [&] { return masked_scatter(*self, *mask, *source, ret0); });
}

ShimError aoti_torch_cpu_masked_select(ModelTensor* self, ModelTensor* mask,
                                       ModelTensor** ret0) noexcept {
  return shim_call("masked_select", [&] { return masked_select(*self, *mask, ret0); });
}

ShimError aoti_torch_cpu_nonzero(ModelTensor* self, ModelTensor** ret0) noexcept {
  return shim_call("nonzero", [&]() -> Status {
    TENON_TRY(const std::int64_t count, count_nonzero(*self));
    return write_nonzero(*self, count, 0, {1, count}, ret0);
  });
}

ShimError aoti_torch_cpu_nonzero_static(ModelTensor* self, std::int64_t size,
                                        std::int64_t fill_value, ModelTensor** ret0) noexcept {
  return shim_call("nonzero_static", [&]() -> Status {
    if (size < 0) {
      return error(Error::InvalidArgument, "a size ", size, ": expected at least 0");
    }
    return write_nonzero(*self, size, fill_value, {self->rank, 1}, ret0);
  });
}

ShimError aoti_torch_cpu_repeat_interleave_Tensor(ModelTensor* repeats, std::int64_t* output_size,
                                                  ModelTensor** ret0) noexcept {
  return shim_call("repeat_interleave_Tensor",
                   [&] { return repeat_indices(*repeats, output_size, ret0); });
}

}  // namespace tenon::cpu_aoti
