// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <optional>

#include "common/convolution_shape.hpp"
#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

// Inductor leaves to these what it does not generate code for, which is mostly complex numbers.
namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;
using aoti_common::channels_last_strides;
using aoti_common::is_channels_last;

/// Another tensor of type `type` on the memory of `self`. `storage_offset` is in elements of that
/// type, from the beginning of the storage.
Status make_view(const ModelTensor& self, ScalarType type, Sizes sizes, const Dims& strides,
                 std::int64_t storage_offset, ModelTensor** ret0) {
  ModelTensor typed = self;
  typed.scalar_type = type;
  ModelTensor* const made = self.storage->pool->view(typed, sizes, strides.data(), storage_offset);
  if (!made) return error(Error::InvalidArgument, "no view ", shape_text(sizes));
  *ret0 = made;
  return ok();
}

/// `size` elements of dimension `along` from `start` on, `step` apart.
Status slice(const ModelTensor& self, std::size_t along, std::int64_t start, std::int64_t size,
             std::int64_t step, ModelTensor** ret0) {
  Dims sizes = self.sizes;
  Dims strides = self.strides;
  sizes[along] = size;
  if (__builtin_mul_overflow(self.strides[along], step, &strides[along])) {
    // The stride of a single element is not used.
    strides[along] = self.strides[along];
    if (size > 1) {
      return error(Error::InvalidArgument, "a step ", step, " in dimension ", along, " of stride ",
                   self.strides[along], ": expected a product that fits into 64 bits");
    }
  }
  // Where nothing is read, the start may be beyond the storage.
  const std::int64_t skipped = size > 0 && self.numel > 0 ? start * self.strides[along] : 0;
  return make_view(self, self.scalar_type, Sizes(sizes).first(static_cast<std::size_t>(self.rank)),
                   strides, self.storage_offset + skipped, ret0);
}

Status expect_dims(const ModelTensor& self) {
  if (self.rank > 0) return ok();
  return error(Error::InvalidArgument, "a tensor ", shape_text(self.shape()),
               ": expected at least one dimension");
}

/// A bound of a slice: counted from the end when negative, and moved into the dimension.
[[nodiscard]] std::int64_t bound(const std::int64_t* given, std::int64_t usual,
                                 std::int64_t size) noexcept {
  if (!given) return usual;
  return std::clamp<std::int64_t>(*given < 0 ? *given + size : *given, 0, size);
}

Status slice_tensor(const ModelTensor& self, std::int64_t dim, const std::int64_t* start,
                    const std::int64_t* end, std::int64_t step, ModelTensor** ret0) {
  TENON_RETURN_IF_ERROR(expect_dims(self));
  TENON_TRY(const std::size_t along, wrap_dim(dim, self.rank));
  if (step < 1) return error(Error::InvalidArgument, "a step ", step, ": expected at least 1");
  const std::int64_t size = self.sizes[along];
  const std::int64_t first = bound(start, 0, size);
  const std::int64_t last = std::max(first, bound(end, size, size));
  const std::int64_t covered = last - first;
  return slice(self, along, first, covered / step + (covered % step != 0 ? 1 : 0), step, ret0);
}

Status narrow_tensor(const ModelTensor& self, std::int64_t dim, std::int64_t start,
                     std::int64_t length, ModelTensor** ret0) {
  TENON_RETURN_IF_ERROR(expect_dims(self));
  TENON_TRY(const std::size_t along, wrap_dim(dim, self.rank));
  const std::int64_t size = self.sizes[along];
  const std::int64_t first = start < 0 ? start + size : start;
  if (first < 0 || length < 0 || first > size || length > size - first) {
    return error(Error::InvalidArgument, length, " elements from ", start, " on: expected them in ",
                 size, ", the size of dimension ", along);
  }
  return slice(self, along, first, length, 1, ret0);
}

Status permute(const ModelTensor& self, Sizes dims, ModelTensor** ret0) {
  Dims sizes{};
  Dims strides{};
  std::uint64_t seen = 0;
  bool good = dims.size() == static_cast<std::size_t>(self.rank);
  for (std::size_t d = 0; good && d < dims.size(); ++d) {
    TENON_TRY(const std::size_t from, wrap_dim(dims[d], self.rank));
    good = (seen >> from & 1) == 0;
    seen |= std::uint64_t{1} << from;
    sizes[d] = self.sizes[from];
    strides[d] = self.strides[from];
  }
  if (!good) {
    return error(Error::InvalidArgument, "dimensions ", shape_text(dims), ": expected each of ",
                 self.rank, " once");
  }
  return make_view(self, self.scalar_type, Sizes(sizes).first(dims.size()), strides,
                   self.storage_offset, ret0);
}

Status squeeze(const ModelTensor& self, std::int64_t dim, ModelTensor** ret0) {
  TENON_TRY(const std::size_t along, wrap_dim(dim, self.rank));
  Dims sizes{};
  Dims strides{};
  std::size_t rank = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(self.rank); ++d) {
    if (d == along && self.sizes[d] == 1) continue;
    sizes[rank] = self.sizes[d];
    strides[rank++] = self.strides[d];
  }
  return make_view(self, self.scalar_type, Sizes(sizes).first(rank), strides, self.storage_offset,
                   ret0);
}

/// Adds the last dimension of complex numbers, real and imaginary part, or removes it.
Status view_complex(const ModelTensor& self, ScalarType from, ScalarType to, ModelTensor** ret0) {
  Dims sizes = self.sizes;
  Dims strides = self.strides;
  auto rank = static_cast<std::size_t>(self.rank);
  const bool split = size_of(to) < size_of(from);
  if (split) {
    if (rank == max_rank) {
      return error(Error::InvalidArgument, "a tensor ", shape_text(self.shape()),
                   ": expected fewer than ", max_rank, " dimensions");
    }
    for (std::size_t d = 0; d < rank; ++d) strides[d] *= 2;
    sizes[rank] = 2;
    strides[rank++] = 1;
    return make_view(self, to, Sizes(sizes).first(rank), strides, self.storage_offset * 2, ret0);
  }
  bool good =
      rank > 0 && sizes[rank - 1] == 2 && strides[rank - 1] == 1 && self.storage_offset % 2 == 0;
  for (std::size_t d = 0; good && d + 1 < rank; ++d) {
    good = strides[d] % 2 == 0;
    strides[d] /= 2;
  }
  if (!good) {
    return error(Error::InvalidArgument, "a tensor ", shape_text(self.shape()),
                 ": expected a last dimension of 2 adjacent elements, and even strides");
  }
  return make_view(self, to, Sizes(sizes).first(rank - 1), strides, self.storage_offset / 2, ret0);
}

/// Views the bytes as another type: the last dimension changes with the size of elements.
Status view_dtype(const ModelTensor& self, ScalarType type, ModelTensor** ret0) {
  const auto from = static_cast<std::int64_t>(size_of(self.scalar_type));
  const auto to = static_cast<std::int64_t>(size_of(type));
  if (to == 0) {
    return error(Error::InvalidArgument, "dtype number ", static_cast<int>(type),
                 ": expected a dtype of PyTorch");
  }
  const auto rank = static_cast<std::size_t>(self.rank);
  Dims sizes = self.sizes;
  Dims strides = self.strides;
  const std::int64_t bytes = self.storage_offset * from;
  bool good = bytes % to == 0 && (from == to || (rank > 0 && strides[rank - 1] == 1));
  for (std::size_t d = 0; good && from != to && d < rank; ++d) {
    std::int64_t& scaled = d + 1 == rank ? sizes[d] : strides[d];
    good = scaled * from % to == 0;
    scaled = scaled * from / to;
  }
  if (!good) {
    return error(Error::InvalidArgument, "elements of ", name_of(self.scalar_type), " in ",
                 shape_text(self.shape()), " as ", name_of(type),
                 ": expected a last dimension without gaps that holds whole elements");
  }
  return make_view(self, type, Sizes(sizes).first(rank), strides, bytes / to, ret0);
}

/// Writes the strides with which `shape` reads the elements of `self` in order and in place. False
/// when there are none. PyTorch's rule, so that a result is a view when PyTorch's is.
[[nodiscard]] bool view_strides(const ModelTensor& self, Sizes shape, Dims& strides) noexcept {
  if (self.numel == 0 || self.rank == 0) {
    if (self.numel == 0 && std::ranges::equal(shape, self.shape())) {
      strides = self.strides;
    } else {
      aoti::contiguous_strides(shape, std::span(strides).first(shape.size()));
    }
    return true;
  }
  // From the last dimension on: dimensions that continue each other are a run of elements at one
  // distance. Each run must be the product of the next new sizes.
  std::size_t next = shape.size();
  for (auto d = static_cast<std::size_t>(self.rank); d > 0;) {
    const std::int64_t distance = self.strides[d - 1];
    std::int64_t run = 1;
    do {
      run *= self.sizes[--d];
    } while (d > 0 && (self.sizes[d - 1] == 1 || self.strides[d - 1] == run * distance));
    std::int64_t covered = 1;
    while (next > 0 && (covered < run || shape[next - 1] == 1)) {
      strides[--next] = covered * distance;
      covered *= shape[next];
    }
    if (covered != run) return false;
  }
  return next == 0;
}

/// A view where one has the shape, else a contiguous copy.
Status reshape(const ModelTensor& self, Sizes shape, ModelTensor** ret0) {
  Dims sizes{};
  std::optional<std::size_t> open;
  std::int64_t known = 1;
  bool good = shape.size() <= max_rank;
  for (std::size_t d = 0; good && d < shape.size(); ++d) {
    sizes[d] = shape[d];
    if (shape[d] == -1 && !open) {
      open = d;
    } else {
      good = shape[d] >= 0 && !__builtin_mul_overflow(known, shape[d], &known);
    }
  }
  if (good && open) {
    good = known > 0 && self.numel % known == 0;
    if (good) sizes[*open] = self.numel / known;
  } else {
    good = good && known == self.numel;
  }
  if (!good) {
    return error(Error::InvalidArgument, "a shape ", shape_text(shape), ": expected one for ",
                 self.numel, " elements");
  }
  const Sizes wanted = Sizes(sizes).first(shape.size());
  Dims strides{};
  if (view_strides(self, wanted, strides)) {
    return make_view(self, self.scalar_type, wanted, strides, self.storage_offset, ret0);
  }
  TENON_TRY(OwnedTensor out, new_tensor(wanted, nullptr, self.scalar_type));
  Dims plain{};
  aoti::contiguous_strides(self.shape(), std::span(plain).first(self.shape().size()));
  copy_strided(self.shape(), size_of(self.scalar_type), {out->data, plain.data()},
               {self.data, self.strides.data()});
  *ret0 = out.take();
  return ok();
}

/// True for a tensor that PyTorch leaves out of a concatenation, whatever its other sizes.
[[nodiscard]] bool is_skipped(const ModelTensor& tensor) noexcept {
  return tensor.rank == 1 && tensor.numel == 0;
}

Status cat(std::span<ModelTensor* const> tensors, std::int64_t dim, ModelTensor** ret0) {
  if (tensors.empty()) return error(Error::InvalidArgument, "no tensors: expected at least one");
  const auto found =
      std::ranges::find_if_not(tensors, [](auto* each) { return is_skipped(*each); });
  const ModelTensor& first = found == tensors.end() ? *tensors.front() : **found;
  TENON_RETURN_IF_ERROR(expect_dims(first));
  TENON_TRY(const std::size_t along, wrap_dim(dim, first.rank));
  Dims sizes = first.sizes;
  sizes[along] = 0;
  for (const ModelTensor* each : tensors) {
    const bool skipped = is_skipped(*each);
    bool good = each->scalar_type == first.scalar_type && (skipped || each->rank == first.rank);
    for (std::size_t d = 0; good && !skipped && d < first.shape().size(); ++d) {
      good = d == along || each->sizes[d] == first.sizes[d];
    }
    if (!good ||
        (!skipped && __builtin_add_overflow(sizes[along], each->sizes[along], &sizes[along]))) {
      return error(Error::InvalidArgument, "a tensor ", shape_text(each->shape()), " of ",
                   name_of(each->scalar_type), " next to ", shape_text(first.shape()), " of ",
                   name_of(first.scalar_type), ": expected the same but for the size of dimension ",
                   along);
    }
  }
  // The result is channels-last when all tensors are.
  const Sizes shape = Sizes(sizes).first(first.shape().size());
  const bool channels_last = std::ranges::all_of(tensors, [](const ModelTensor* each) {
    return (each->rank == 4 || each->rank == 5) && is_channels_last(*each);
  });
  const Dims strides = channels_last ? channels_last_strides(shape) : Dims{};
  TENON_TRY(OwnedTensor out,
            new_tensor(shape, channels_last ? strides.data() : nullptr, first.scalar_type));
  std::byte* to = out->data;
  const std::size_t element = size_of(first.scalar_type);
  for (const ModelTensor* each : tensors) {
    if (is_skipped(*each)) continue;
    copy_strided(each->shape(), element, {to, out->strides.data()},
                 {each->data, each->strides.data()});
    to += each->sizes[along] * out->strides[along] * static_cast<std::int64_t>(element);
  }
  *ret0 = out.take();
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu_slice_Tensor(ModelTensor* self, std::int64_t dim, std::int64_t* start,
                                      std::int64_t* end, std::int64_t step,
                                      ModelTensor** ret0) noexcept {
  return shim_call("slice_Tensor",
                   [&] { return slice_tensor(*self, dim, start, end, step, ret0); });
}

ShimError aoti_torch_cpu_narrow(ModelTensor* self, std::int64_t dim, std::int64_t start,
                                std::int64_t length, ModelTensor** ret0) noexcept {
  return shim_call("narrow", [&] { return narrow_tensor(*self, dim, start, length, ret0); });
}

ShimError aoti_torch_cpu_permute(ModelTensor* self, const std::int64_t* dims, std::int64_t dims_len,
                                 ModelTensor** ret0) noexcept {
  return shim_call("permute", [&] { return permute(*self, as_sizes(dims, dims_len), ret0); });
}

ShimError aoti_torch_cpu_squeeze_dim(ModelTensor* self, std::int64_t dim,
                                     ModelTensor** ret0) noexcept {
  return shim_call("squeeze_dim", [&] { return squeeze(*self, dim, ret0); });
}

ShimError aoti_torch_cpu_reshape(ModelTensor* self, const std::int64_t* shape,
                                 std::int64_t shape_len, ModelTensor** ret0) noexcept {
  return shim_call("reshape", [&] { return reshape(*self, as_sizes(shape, shape_len), ret0); });
}

ShimError aoti_torch_cpu_view_dtype(ModelTensor* self, std::int32_t dtype,
                                    ModelTensor** ret0) noexcept {
  return shim_call("view_dtype",
                   [&] { return view_dtype(*self, static_cast<ScalarType>(dtype), ret0); });
}

ShimError aoti_torch_cpu_view_as_complex(ModelTensor* self, ModelTensor** ret0) noexcept {
  return shim_call("view_as_complex", [&]() -> Status {
    switch (self->scalar_type) {
      case ScalarType::Float:
        return view_complex(*self, self->scalar_type, ScalarType::ComplexFloat, ret0);
      case ScalarType::Double:
        return view_complex(*self, self->scalar_type, ScalarType::ComplexDouble, ret0);
      default:
        return error(Error::NotSupported, "elements of ", name_of(self->scalar_type),
                     ": expected Float or Double");
    }
  });
}

ShimError aoti_torch_cpu_view_as_real(ModelTensor* self, ModelTensor** ret0) noexcept {
  return shim_call("view_as_real", [&]() -> Status {
    switch (self->scalar_type) {
      case ScalarType::ComplexFloat:
        return view_complex(*self, self->scalar_type, ScalarType::Float, ret0);
      case ScalarType::ComplexDouble:
        return view_complex(*self, self->scalar_type, ScalarType::Double, ret0);
      default:
        return error(Error::NotSupported, "elements of ", name_of(self->scalar_type),
                     ": expected ComplexFloat or ComplexDouble");
    }
  });
}

ShimError aoti_torch_cpu_cat(ModelTensor* const* tensors, std::int64_t tensors_len,
                             std::int64_t dim, ModelTensor** ret0) noexcept {
  return shim_call("cat", [&] {
    return cat(std::span(tensors, static_cast<std::size_t>(tensors_len)), dim, ret0);
  });
}

}  // namespace tenon::cpu_aoti
