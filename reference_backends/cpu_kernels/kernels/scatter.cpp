// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <string_view>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

enum class Reduce { none, sum, product, mean, most, least };

Result<Reduce> find_reduce(std::string_view name) {
  if (name == "sum" || name == "add") return Reduce::sum;
  if (name == "prod" || name == "multiply") return Reduce::product;
  if (name == "mean") return Reduce::mean;
  if (name == "amax") return Reduce::most;
  if (name == "amin") return Reduce::least;
  return error(Error::NotSupported, "reduction '", name,
               "': expected sum, prod, mean, amax or amin");
}

/// Integers wrap around; NaN wins over every number.
template <class T>
[[nodiscard]] T combine(Reduce reduce, T a, T b) noexcept {
  const Wide<T> x = widen(a);
  const Wide<T> y = widen(b);
  switch (reduce) {
    case Reduce::none:
      return b;
    case Reduce::most:
      return x > y || x != x ? a : b;
    case Reduce::least:
      return x < y || x != x ? a : b;
    default:
      break;
  }
  if constexpr (std::is_integral_v<Wide<T>>) {
    const auto p = static_cast<std::uint64_t>(x);
    const auto q = static_cast<std::uint64_t>(y);
    return narrow<T>(static_cast<std::int64_t>(reduce == Reduce::product ? p * q : p + q));
  } else {
    return narrow<T>(reduce == Reduce::product ? x * y : x + y);
  }
}

/// A sum divided by the number of its terms: integers round down.
template <class T>
[[nodiscard]] T divide(T sum, std::int64_t count) noexcept {
  const Wide<T> x = widen(sum);
  if constexpr (std::is_integral_v<Wide<T>>) {
    return narrow<T>(x / count - (x % count < 0 ? 1 : 0));
  } else {
    return narrow<T>(x / static_cast<Wide<T>>(count));
  }
}

/// The arguments of a scatter. A source of strides 0 is one number for all.
struct Scatter {
  ModelTensor out, index, src;
  std::size_t along = 0;
  Reduce reduce = Reduce::none;
  bool include_self = true;
};

/// How often each element was written, contiguous.
struct Counts {
  std::optional<Scratch> memory;
  Dims strides{};
};

/// Writes source elements of type From into `out`, which holds elements of type T.
template <class T, class From, class Index>
Status scatter_elements(const Scatter& s, const Counts& counts) {
  const std::int64_t size = s.out.sizes[s.along];
  const std::int64_t step = s.out.strides[s.along];
  const std::int64_t count_step = counts.strides[s.along];
  Dims out_strides = s.out.strides;
  Dims count_strides = counts.strides;
  out_strides[s.along] = 0;
  count_strides[s.along] = 0;
  auto* seen = counts.memory ? counts.memory->as<std::int64_t>() : nullptr;
  std::optional<std::int64_t> outside;
  for_positions<4>(
      s.index.shape(), no_dim,
      {s.index.strides.data(), s.src.strides.data(), out_strides.data(), count_strides.data()},
      [&](const auto& at) {
        const std::int64_t index = s.index.as<const Index>()[at[0]];
        if (index < 0 || index >= size) {
          outside = index;
          return;
        }
        T& to = s.out.as<T>()[at[2] + index * step];
        const T value = narrow<T>(widen(s.src.as<const From>()[at[1]]));
        const bool first = seen && seen[at[3] + index * count_step]++ == 0 && !s.include_self;
        to = first ? value : combine(s.reduce, to, value);
      });
  if (outside) {
    return error(Error::InvalidArgument, "index ", *outside, ": expected 0 to below ", size,
                 ", the size of dimension ", s.along);
  }
  if (s.reduce != Reduce::mean) return ok();
  for_positions<2>(s.out.shape(), no_dim, {s.out.strides.data(), counts.strides.data()},
                   [&](const auto& at) {
                     const std::int64_t count = seen[at[1]] + (s.include_self ? 1 : 0);
                     T& to = s.out.as<T>()[at[0]];
                     if (count > 1) to = divide(to, count);
                   });
  return ok();
}

template <class T, class From>
Status scatter_typed(const Scatter& s) {
  Counts counts;
  if (s.reduce != Reduce::none && (s.reduce == Reduce::mean || !s.include_self)) {
    aoti::contiguous_strides(s.out.shape(), counts.strides);
    const std::int64_t nbytes = s.out.numel * static_cast<std::int64_t>(sizeof(std::int64_t));
    TENON_TRY(counts.memory, Scratch::of(nbytes));
    std::fill_n(counts.memory->as<std::int64_t>(), s.out.numel, std::int64_t{0});
  }
  if (s.index.scalar_type == ScalarType::Int) {
    return scatter_elements<T, From, std::int32_t>(s, counts);
  }
  return scatter_elements<T, From, std::int64_t>(s, counts);
}

/// Halves are reduced in float, in a copy of the whole result, as PyTorch does.
template <class T>
Status scatter_halves(const Scatter& s) {
  TENON_TRY(const Scratch wide,
            Scratch::of(s.out.numel * static_cast<std::int64_t>(sizeof(float))));
  Scatter in_float = s;
  in_float.out.data = wide.as<std::byte>();
  in_float.out.scalar_type = ScalarType::Float;
  aoti::contiguous_strides(s.out.shape(), in_float.out.strides);
  to_floats(s.out.shape(), s.out.scalar_type, {s.out.data, s.out.strides.data()}, wide.as<float>());
  TENON_RETURN_IF_ERROR((scatter_typed<float, T>(in_float)));
  from_floats(s.out.shape(), s.out.scalar_type, wide.as<float>(),
              {s.out.data, s.out.strides.data()});
  return ok();
}

/// A scalar is treated as one element in one dimension.
void give_rank(ModelTensor& tensor) noexcept {
  if (tensor.rank > 0) return;
  tensor.rank = 1;
  tensor.sizes[0] = 1;
  tensor.strides[0] = 1;
}

Status check(const Scatter& s, bool one_value) {
  const auto shape = [](const ModelTensor& tensor) { return shape_text(tensor.shape()); };
  if (s.index.scalar_type != ScalarType::Long && s.index.scalar_type != ScalarType::Int) {
    return error(Error::InvalidType, "an index of ", name_of(s.index.scalar_type),
                 ": expected Long or Int");
  }
  if (s.src.scalar_type != s.out.scalar_type) {
    return error(Error::InvalidType, "a source of ", name_of(s.src.scalar_type),
                 ": expected the type of the result, ", name_of(s.out.scalar_type));
  }
  bool good = s.index.rank == s.out.rank && (one_value || s.index.rank == s.src.rank);
  for (std::size_t d = 0; good && d < static_cast<std::size_t>(s.index.rank); ++d) {
    good = (d == s.along || s.index.sizes[d] <= s.out.sizes[d]) &&
           (one_value || s.index.sizes[d] <= s.src.sizes[d]);
  }
  if (good) return ok();
  return error(Error::InvalidArgument, "an index ", shape(s.index), " for a result ", shape(s.out),
               " and a source ", one_value ? std::string("of one number") : shape(s.src),
               ": expected it no larger than the source, and than the result but for dimension ",
               s.along);
}

/// out = self with elements of `src` at the positions in `index`. `out` may be `self`.
Status scatter(const ModelTensor& out, const ModelTensor& self, std::int64_t dim,
               const ModelTensor& index, const ModelTensor& src, Reduce reduce, bool include_self) {
  if (!std::ranges::equal(out.shape(), self.shape()) || out.scalar_type != self.scalar_type) {
    return error(Error::InvalidArgument, "a result ", shape_text(out.shape()), " of ",
                 name_of(out.scalar_type), ": expected ", shape_text(self.shape()), " of ",
                 name_of(self.scalar_type));
  }
  Scatter s{out, index, src, 0, reduce, include_self};
  TENON_TRY(s.along, wrap_dim(dim, out.rank));
  const bool same = out.data == self.data && std::ranges::equal(out.step(), self.step());
  if (index.numel > 0) {
    give_rank(s.out);
    give_rank(s.index);
    const bool one_value = src.storage == nullptr;
    if (!one_value) give_rank(s.src);
    TENON_RETURN_IF_ERROR(check(s, one_value));
  }
  if (!same) {
    copy_strided(out.shape(), size_of(out.scalar_type), {out.data, out.strides.data()},
                 {self.data, self.strides.data()});
  }
  if (index.numel == 0) return ok();
  return with_type(out.scalar_type, [&]<class T>(T) -> Status {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      if (s.reduce != Reduce::none) return scatter_halves<T>(s);
    }
    return scatter_typed<T, T>(s);
  });
}

/// out = self, reduced with the slices of `source` along `dim` that belong to its indices.
Status index_reduce(const ModelTensor& self, std::int64_t dim, const ModelTensor& index,
                    const ModelTensor& source, Reduce reduce, bool include_self,
                    ModelTensor** ret0) {
  TENON_TRY(const std::size_t along, wrap_dim(dim, self.rank));
  bool good = index.rank <= 1 && source.rank == self.rank;
  for (std::size_t d = 0; good && d < static_cast<std::size_t>(self.rank); ++d) {
    good = source.sizes[d] == (d == along ? index.numel : self.sizes[d]);
  }
  if (!good || (self.rank == 0 && index.numel != 1)) {
    return error(Error::InvalidArgument, "an index ", shape_text(index.shape()), " and a source ",
                 shape_text(source.shape()), " for dimension ", along, " of ",
                 shape_text(self.shape()),
                 ": expected one index for each slice, and equal sizes elsewhere");
  }
  ModelTensor indices = index;
  indices.rank = source.rank;
  indices.sizes = source.sizes;
  indices.numel = source.numel;
  indices.strides = {};
  if (self.rank > 0) indices.strides[along] = index.rank > 0 ? index.strides[0] : 1;
  TENON_TRY(OwnedTensor out, new_tensor(self.shape(), nullptr, self.scalar_type));
  TENON_RETURN_IF_ERROR(scatter(*out, self, dim, indices, source, reduce, include_self));
  *ret0 = out.take();
  return ok();
}

Status scatter_value(const ModelTensor& out, const ModelTensor& self, std::int64_t dim,
                     const ModelTensor& index, double value) {
  return with_type(out.scalar_type, [&]<class T>(T) {
    T element = narrow<T>(value);
    ModelTensor src{};  // No storage: one number.
    src.scalar_type = out.scalar_type;
    src.data = reinterpret_cast<std::byte*>(&element);
    return scatter(out, self, dim, index, src, Reduce::none, true);
  });
}

}  // namespace

ShimError aoti_torch_cpu_scatter_src_out(ModelTensor* out, ModelTensor* self, std::int64_t dim,
                                         ModelTensor* index, ModelTensor* src) noexcept {
  return shim_call("scatter_src_out",
                   [&] { return scatter(*out, *self, dim, *index, *src, Reduce::none, true); });
}

ShimError aoti_torch_scatter_out(ModelTensor* out, ModelTensor* self, std::int64_t dim,
                                 ModelTensor* index, ModelTensor* src) noexcept {
  return shim_call("scatter_out",
                   [&] { return scatter(*out, *self, dim, *index, *src, Reduce::none, true); });
}

ShimError aoti_torch_cpu_scatter_value_out(ModelTensor* out, ModelTensor* self, std::int64_t dim,
                                           ModelTensor* index, double value) noexcept {
  return shim_call("scatter_value_out",
                   [&] { return scatter_value(*out, *self, dim, *index, value); });
}

ShimError aoti_torch_cpu_scatter_reduce_two_out(ModelTensor* out, ModelTensor* self,
                                                std::int64_t dim, ModelTensor* index,
                                                ModelTensor* src, const char* reduce,
                                                std::int32_t include_self) noexcept {
  return shim_call("scatter_reduce_two_out", [&]() -> Status {
    TENON_TRY(const Reduce kind, find_reduce(reduce));
    return scatter(*out, *self, dim, *index, *src, kind, include_self != 0);
  });
}

ShimError aoti_torch_scatter_reduce_out(ModelTensor* out, ModelTensor* self, std::int64_t dim,
                                        ModelTensor* index, ModelTensor* src, const char* reduce,
                                        std::int32_t include_self) noexcept {
  return shim_call("scatter_reduce_out", [&]() -> Status {
    TENON_TRY(const Reduce kind, find_reduce(reduce));
    return scatter(*out, *self, dim, *index, *src, kind, include_self != 0);
  });
}

ShimError aoti_torch_cpu_index_reduce(ModelTensor* self, std::int64_t dim, ModelTensor* index,
                                      ModelTensor* source, const char* reduce,
                                      std::int32_t include_self, ModelTensor** ret0) noexcept {
  return shim_call("index_reduce", [&]() -> Status {
    TENON_TRY(const Reduce kind, find_reduce(reduce));
    return index_reduce(*self, dim, *index, *source, kind, include_self != 0, ret0);
  });
}

}  // namespace tenon::cpu_aoti
