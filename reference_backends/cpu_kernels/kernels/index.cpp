// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <span>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/selection/nonzero.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

/// One tensor for each dimension from the first on; null for a dimension without an index.
using Indices = std::span<const ModelTensor* const>;

/// The elements that index tensors select: a shape, and the offset of each element.
struct Choice {
  Dims sizes{};    ///< With the dimensions of the index tensors instead of the indexed ones.
  Dims strides{};  ///< Of the tensor; 0 in dimensions of the index tensors.
  Dims offsets{};  ///< Strides of `memory` in those; 0 in the others.
  Dims order{};    ///< Strides by which PyTorch orders the dimensions of a result.
  std::size_t rank = 0;
  std::optional<Scratch> memory;  ///< Offsets of the elements from the index tensors.

  [[nodiscard]] Sizes shape() const noexcept { return Sizes(sizes).first(rank); }
};

/// Indices in which each mask is replaced by one tensor of indices for each of its dimensions.
struct WithoutMasks {
  std::array<const ModelTensor*, max_rank> list{};
  std::size_t count = 0;
  std::array<std::optional<OwnedTensor>, max_rank> memory;

  [[nodiscard]] Indices indices() const noexcept { return Indices(list).first(count); }
};

/// Adds the places where `mask` is true, for the dimensions of `self` from the next one on.
Status add_mask(const ModelTensor& self, const ModelTensor& mask, WithoutMasks& out) {
  const auto rank = static_cast<std::size_t>(mask.rank);
  const auto covered = self.shape().subspan(out.count).first(rank);
  if (rank == 0 || !std::ranges::equal(mask.shape(), covered)) {
    return error(Error::InvalidArgument, "a mask ", shape_text(mask.shape()),
                 " as an index from dimension ", out.count, " of ", shape_text(self.shape()),
                 " on: expected ", shape_text(covered));
  }
  TENON_TRY(const std::int64_t count, count_nonzero(mask));
  const std::size_t first = out.count;
  for (std::size_t d = 0; d < rank; ++d, ++out.count) {
    TENON_TRY(OwnedTensor places, new_tensor(Sizes(&count, 1), nullptr, ScalarType::Long));
    out.memory[out.count].emplace(std::move(places));
    out.list[out.count] = &**out.memory[out.count];
  }
  std::int64_t next = 0;
  return for_nonzero(mask, [&](std::int64_t, std::int64_t position) {
    const Dims index = unravel(mask.shape(), position);
    for (std::size_t d = 0; d < rank; ++d) {
      out.list[first + d]->as<std::int64_t>()[next] = index[d];
    }
    ++next;
  });
}

Status replace_masks(const ModelTensor& self, Indices indices, WithoutMasks& out) {
  for (const ModelTensor* index : indices) {
    const bool is_mask = index && index->scalar_type == ScalarType::Bool;
    const std::size_t taken = is_mask ? static_cast<std::size_t>(index->rank) : 1;
    if (out.count + taken > static_cast<std::size_t>(self.rank)) {
      return error(Error::InvalidArgument, "indices for ", out.count + taken, " dimensions of ",
                   shape_text(self.shape()), ": expected at most ", self.rank);
    }
    if (is_mask) {
      TENON_RETURN_IF_ERROR(add_mask(self, *index, out));
    } else {
      out.list[out.count++] = index;
    }
  }
  return ok();
}

Status check(const ModelTensor& self, Indices indices) {
  if (indices.size() > static_cast<std::size_t>(self.rank)) {
    return error(Error::InvalidArgument, indices.size(), " indices for ", shape_text(self.shape()),
                 ": expected at most ", self.rank);
  }
  bool any = false;
  for (const ModelTensor* index : indices) {
    if (!index) continue;
    any = true;
    const ScalarType type = index->scalar_type;
    if (type != ScalarType::Long && type != ScalarType::Int) {
      return error(Error::InvalidType, "an index of ", name_of(type),
                   ": expected Long, Int or Bool");
    }
  }
  if (any) return ok();
  return error(Error::InvalidArgument, "no index tensor: expected at least one");
}

/// The shape that all index tensors broadcast to.
Status common_shape(Indices indices, Dims& sizes, std::size_t& rank) {
  for (const ModelTensor* index : indices) {
    if (index) rank = std::max(rank, static_cast<std::size_t>(index->rank));
  }
  std::fill_n(sizes.begin(), rank, 1);
  for (const ModelTensor* index : indices) {
    if (!index) continue;
    const std::size_t added = rank - static_cast<std::size_t>(index->rank);
    for (std::size_t d = added; d < rank; ++d) {
      const std::int64_t size = index->sizes[d - added];
      if (size == 1 || size == sizes[d]) continue;
      if (sizes[d] != 1) {
        return error(Error::InvalidArgument, "an index ", shape_text(index->shape()),
                     ": expected a shape that broadcasts with ",
                     shape_text(Sizes(sizes).first(rank)));
      }
      sizes[d] = size;
    }
  }
  return ok();
}

/// Adds the offsets of one index tensor in its dimension.
Status add_offsets(const ModelTensor& self, std::size_t dim, const ModelTensor& index, Sizes shape,
                   std::int64_t* offsets) {
  Dims strides{};
  Dims plain{};
  if (!broadcast_strides(index, shape, strides)) {
    return error(Error::Internal, "an index ", shape_text(index.shape()), " does not broadcast to ",
                 shape_text(shape));
  }
  aoti::contiguous_strides(shape, std::span(plain).first(shape.size()));
  const std::int64_t size = self.sizes[dim];
  std::optional<std::int64_t> outside;
  for_positions<2>(shape, no_dim, {strides.data(), plain.data()}, [&](const auto& at) {
    const std::int64_t found = index.scalar_type == ScalarType::Int
                                   ? index.as<const std::int32_t>()[at[0]]
                                   : index.as<const std::int64_t>()[at[0]];
    if (found < -size || found >= size) {
      outside = found;
    } else {
      offsets[at[1]] += (found < 0 ? found + size : found) * self.strides[dim];
    }
  });
  if (!outside) return ok();
  return error(Error::InvalidArgument, "index ", *outside, ": expected ", -size, " to below ", size,
               ", the size of dimension ", dim);
}

Status choose(const ModelTensor& self, Indices given, Choice& choice) {
  WithoutMasks without;
  TENON_RETURN_IF_ERROR(replace_masks(self, given, without));
  const Indices indices = without.indices();
  TENON_RETURN_IF_ERROR(check(self, indices));
  Dims sizes{};
  std::size_t rank = 0;
  TENON_RETURN_IF_ERROR(common_shape(indices, sizes, rank));
  const Sizes shape = Sizes(sizes).first(rank);
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  TENON_TRY(choice.memory, Scratch::of(count * static_cast<std::int64_t>(sizeof(std::int64_t))));
  auto* offsets = choice.memory->as<std::int64_t>();
  std::fill_n(offsets, count, std::int64_t{0});

  const auto self_rank = static_cast<std::size_t>(self.rank);
  const auto at = [&](std::size_t d) { return d < indices.size() ? indices[d] : nullptr; };
  std::size_t first = self_rank, last = 0, indexed = 0;
  for (std::size_t d = 0; d < self_rank; ++d) {
    if (!at(d)) continue;
    TENON_RETURN_IF_ERROR(add_offsets(self, d, *at(d), shape, offsets));
    first = std::min(first, d);
    last = d;
    ++indexed;
  }
  // The dimensions of the index tensors replace the indexed ones, or come first when those are not
  // adjacent.
  const std::size_t place = last - first + 1 == indexed ? first : 0;
  if (self_rank - indexed + rank > max_rank) {
    return error(Error::NotSupported, "a choice of ", self_rank - indexed + rank,
                 " dimensions: expected at most ", max_rank);
  }
  const auto add_indexed = [&] {
    aoti::contiguous_strides(shape, std::span(choice.offsets).subspan(choice.rank, rank));
    std::copy_n(sizes.begin(), rank,
                choice.sizes.begin() + static_cast<std::ptrdiff_t>(choice.rank));
    choice.rank += rank;
  };
  bool added = false;
  for (std::size_t d = 0; d < self_rank; ++d) {
    if (!added && d == place) {
      add_indexed();
      added = true;
    }
    if (at(d)) continue;
    choice.sizes[choice.rank] = self.sizes[d];
    choice.strides[choice.rank++] = self.strides[d];
  }
  choice.order = choice.strides;
  if (rank == 0) {
    // Compiled code has the layout that `meta_index_Tensor` computes. For index tensors without
    // dimensions it takes the first strides, after indexed dimensions that are not adjacent were
    // moved to the front, and not the strides of the dimensions that are left.
    Dims moved{};
    std::size_t next = 0;
    const bool adjacent = last - first + 1 == indexed;
    for (std::size_t d = 0; d < self_rank; ++d) {
      if (adjacent || at(d)) moved[next++] = self.strides[d];
    }
    for (std::size_t d = 0; d < self_rank; ++d) {
      if (!adjacent && !at(d)) moved[next++] = self.strides[d];
    }
    std::copy_n(moved.begin(), choice.rank, choice.order.begin());
  }
  return ok();
}

/// Writes elements of T in order. With `accumulate` they are added; integers wrap around.
template <class T>
void put(const Choice& choice, const ModelTensor& self, const ModelTensor& values,
         const std::int64_t* value_strides, bool accumulate) {
  const auto* offsets = choice.memory->as<const std::int64_t>();
  for_positions<3>(
      choice.shape(), no_dim, {choice.strides.data(), choice.offsets.data(), value_strides},
      [&](const auto& at) {
        T& to = self.as<T>()[at[0] + offsets[at[1]]];
        const T value = values.as<const T>()[at[2]];
        if (!accumulate) {
          to = value;
        } else if constexpr (std::is_integral_v<Wide<T>>) {
          to = narrow<T>(static_cast<std::int64_t>(static_cast<std::uint64_t>(widen(to)) +
                                                   static_cast<std::uint64_t>(widen(value))));
        } else {
          to = narrow<T>(widen(to) + widen(value));
        }
      });
}

/// The indexed elements, with the dimensions in the order of the strides of `self`.
Status index_tensor(const ModelTensor& self, Indices indices, ModelTensor** ret0) {
  Choice choice;
  TENON_RETURN_IF_ERROR(choose(self, indices, choice));
  const Dims strides = dense_strides(choice.shape(), {choice.order.data()});
  TENON_TRY(OwnedTensor out, new_tensor(choice.shape(), strides.data(), self.scalar_type));
  const auto* offsets = choice.memory->as<const std::int64_t>();
  const std::size_t element = size_of(self.scalar_type);
  const auto size = static_cast<std::int64_t>(element);
  for_positions<3>(
      choice.shape(), no_dim, {choice.strides.data(), choice.offsets.data(), out->strides.data()},
      [&](const auto& at) {
        std::memcpy(out->data + at[2] * size, self.data + (at[0] + offsets[at[1]]) * size, element);
      });
  *ret0 = out.take();
  return ok();
}

/// A list of indices as the C shim passes it: null pointers are dimensions without an index.
Result<Indices> read_indices(ModelTensor* const* const* indices, std::int64_t count,
                             std::array<const ModelTensor*, max_rank>& list) {
  if (count < 0 || count > static_cast<std::int64_t>(max_rank)) {
    return error(Error::InvalidArgument, count, " indices: expected at most ", max_rank);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    list[i] = indices[i] ? *indices[i] : nullptr;
  }
  return Indices(list).first(static_cast<std::size_t>(count));
}

/// out = self with `values` at the indexed elements. `out` may be `self`.
Status index_put(const ModelTensor& out, const ModelTensor& self, Indices indices,
                 const ModelTensor& values, bool accumulate) {
  if (!std::ranges::equal(out.shape(), self.shape()) || out.scalar_type != self.scalar_type) {
    return error(Error::InvalidArgument, "a result ", shape_text(out.shape()), " of ",
                 name_of(out.scalar_type), ": expected ", shape_text(self.shape()), " of ",
                 name_of(self.scalar_type));
  }
  if (values.scalar_type != out.scalar_type) {
    return error(Error::InvalidType, "values of ", name_of(values.scalar_type),
                 ": expected the type of the result, ", name_of(out.scalar_type));
  }
  Choice choice;
  TENON_RETURN_IF_ERROR(choose(out, indices, choice));
  Dims strides{};
  if (!broadcast_strides(values, choice.shape(), strides)) {
    return error(Error::InvalidArgument, "values ", shape_text(values.shape()),
                 ": expected some that broadcast to ", shape_text(choice.shape()));
  }
  if (out.data != self.data || !std::ranges::equal(out.step(), self.step())) {
    copy_strided(out.shape(), size_of(out.scalar_type), {out.data, out.strides.data()},
                 {self.data, self.strides.data()});
  }
  return with_type(out.scalar_type, [&]<class T>(T) {
    put<T>(choice, out, values, strides.data(), accumulate);
    return ok();
  });
}

}  // namespace

ShimError aoti_torch_index_put_out(ModelTensor* out, ModelTensor* self, ModelTensor* const* indices,
                                   std::uint32_t num_indices, ModelTensor* values,
                                   bool accumulate) noexcept {
  return shim_call("index_put_out", [&] {
    return index_put(*out, *self, Indices(indices, num_indices), *values, accumulate);
  });
}

ShimError aoti_torch_cpu_index_put(ModelTensor* self, ModelTensor* const* const* indices,
                                   std::int64_t indices_len, ModelTensor* values,
                                   std::int32_t accumulate, ModelTensor** ret0) noexcept {
  return shim_call("index_put", [&]() -> Status {
    std::array<const ModelTensor*, max_rank> list{};
    TENON_TRY(const Indices read, read_indices(indices, indices_len, list));
    const Dims strides = dense_strides_like(*self);
    TENON_TRY(OwnedTensor out, new_tensor(self->shape(), strides.data(), self->scalar_type));
    TENON_RETURN_IF_ERROR(index_put(*out, *self, read, *values, accumulate != 0));
    *ret0 = out.take();
    return ok();
  });
}

ShimError aoti_torch_cpu_index_Tensor(ModelTensor* self, ModelTensor* const* const* indices,
                                      std::int64_t indices_len, ModelTensor** ret0) noexcept {
  return shim_call("index_Tensor", [&]() -> Status {
    std::array<const ModelTensor*, max_rank> list{};
    TENON_TRY(const Indices read, read_indices(indices, indices_len, list));
    return index_tensor(*self, read, ret0);
  });
}

}  // namespace tenon::cpu_aoti
