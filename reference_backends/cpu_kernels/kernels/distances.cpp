// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

/// The elements of one row, `step` apart.
template <class T>
struct Row {
  const T* at;
  std::int64_t step;
};

/// The norm `p` as a number of the elements' type, which PyTorch chooses the formula by: a float
/// takes 1e300 for infinity, and 1e-300 for 0.
template <class T>
[[nodiscard]] T norm_of(double p) noexcept {
  return p > double{std::numeric_limits<T>::max()} ? std::numeric_limits<T>::infinity()
                                                   : static_cast<T>(p);
}

/// The p-norm of the difference of two rows. For 0 it is the number of elements that differ.
template <class T>
[[nodiscard]] T distance(Row<T> a, Row<T> b, std::int64_t count, T p) noexcept {
  T sum = 0;
  const auto add = [&](const auto& term) {
    for (std::int64_t i = 0; i < count; ++i) {
      sum = term(sum, std::fabs(a.at[i * a.step] - b.at[i * b.step]));
    }
  };
  if (p == 2) {
    add([](T so_far, T x) { return so_far + x * x; });
    return std::sqrt(sum);
  }
  if (p == 1) {
    add([](T so_far, T x) { return so_far + x; });
    return sum;
  }
  if (p == 0) {
    add([](T so_far, T x) { return so_far + (x != 0 ? T{1} : T{0}); });
    return sum;
  }
  if (std::isinf(p)) {
    add([](T so_far, T x) { return x > so_far || x != x ? x : so_far; });
    return sum;
  }
  add([&](T so_far, T x) { return so_far + std::pow(x, p); });
  return std::pow(sum, 1 / p);
}

Status check_norm(const ModelTensor& x, double p) {
  if (x.scalar_type != ScalarType::Float && x.scalar_type != ScalarType::Double) {
    return error(Error::InvalidType, "elements of ", name_of(x.scalar_type),
                 ": expected Float or Double");
  }
  if (p >= 0) return ok();
  return error(Error::InvalidArgument, "a norm ", p, ": expected at least 0");
}

template <class Body>
void with_float(ScalarType type, const Body& body) {
  if (type == ScalarType::Float) {
    body(float{});
  } else {
    body(double{});
  }
}

/// The tensor without its last two dimensions, for `broadcast`.
[[nodiscard]] ModelTensor batch_of(const ModelTensor& x) noexcept {
  ModelTensor out = x;
  out.rank -= 2;
  return out;
}

/// Distances of each row of `x1` to each row of `x2`, [..., P, M] and [..., R, M]; [..., P, R].
Status cdist(const ModelTensor& x1, const ModelTensor& x2, double p, ModelTensor** ret0) {
  TENON_RETURN_IF_ERROR(check_norm(x1, p));
  const auto last = [](const ModelTensor& x, std::int32_t back) {
    return static_cast<std::size_t>(x.rank - back);
  };
  if (x1.rank < 2 || x2.rank < 2 || x1.scalar_type != x2.scalar_type ||
      x1.sizes[last(x1, 1)] != x2.sizes[last(x2, 1)]) {
    return error(Error::InvalidArgument, "rows of ", shape_text(x1.shape()), " of ",
                 name_of(x1.scalar_type), " and ", shape_text(x2.shape()), " of ",
                 name_of(x2.scalar_type),
                 ": expected at least 2 dimensions, rows of one size, and one type");
  }
  TENON_TRY(const BroadcastPair batch, broadcast(batch_of(x1), batch_of(x2)));
  Dims sizes = batch.sizes;
  const std::int64_t rows = sizes[batch.rank] = x1.sizes[last(x1, 2)];
  const std::int64_t columns = sizes[batch.rank + 1] = x2.sizes[last(x2, 2)];
  TENON_TRY(OwnedTensor out,
            new_tensor(Sizes(sizes).first(batch.rank + 2), nullptr, x1.scalar_type));
  const std::int64_t count = x1.sizes[last(x1, 1)];
  with_float(x1.scalar_type, [&]<class T>(T) {
    T* to = out->template as<T>();
    const T norm = norm_of<T>(p);
    for_positions<2>(batch.shape(), no_dim, {batch.a_strides.data(), batch.b_strides.data()},
                     [&](const auto& at) {
                       for (std::int64_t i = 0; i < rows; ++i) {
                         const Row<T> a{x1.as<const T>() + at[0] + i * x1.strides[last(x1, 2)],
                                        x1.strides[last(x1, 1)]};
                         for (std::int64_t j = 0; j < columns; ++j) {
                           const Row<T> b{x2.as<const T>() + at[1] + j * x2.strides[last(x2, 2)],
                                          x2.strides[last(x2, 1)]};
                           *to++ = distance(a, b, count, norm);
                         }
                       }
                     });
  });
  *ret0 = out.take();
  return ok();
}

/// Distances of all pairs of rows i < j, in their order.
Status pdist(const ModelTensor& self, double p, ModelTensor** ret0) {
  TENON_RETURN_IF_ERROR(check_norm(self, p));
  if (self.rank != 2) {
    return error(Error::InvalidArgument, "rows of ", shape_text(self.shape()),
                 ": expected 2 dimensions");
  }
  const std::int64_t rows = self.sizes[0];
  const std::int64_t pairs = rows * (rows - 1) / 2;
  TENON_TRY(OwnedTensor out, new_tensor(Sizes(&pairs, 1), nullptr, self.scalar_type));
  with_float(self.scalar_type, [&]<class T>(T) {
    T* to = out->template as<T>();
    const T norm = norm_of<T>(p);
    const auto row = [&](std::int64_t i) {
      return Row<T>{self.as<const T>() + i * self.strides[0], self.strides[1]};
    };
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = i + 1; j < rows; ++j) {
        *to++ = distance(row(i), row(j), self.sizes[1], norm);
      }
    }
  });
  *ret0 = out.take();
  return ok();
}

/// Which dimensions of a product are in a list.
using DimSet = std::array<bool, max_rank>;

/// Dimensions of `rank`, counted from the end when negative.
/// errors: InvalidArgument when one is outside, or there twice.
Result<DimSet> dim_set(Sizes dims, std::size_t rank) {
  DimSet out{};
  for (const std::int64_t dim : dims) {
    TENON_TRY(const std::size_t d, wrap_dim(dim, static_cast<std::int32_t>(rank)));
    if (out[d]) {
      return error(Error::InvalidArgument, "dimensions ", shape_text(dims), " of ", rank,
                   ": expected none of them twice");
    }
    out[d] = true;
  }
  return out;
}

/// One factor of a trilinear product, with new dimensions of size 1 at `expanded`.
Result<ModelTensor> expand(const ModelTensor& factor, Sizes expanded, std::size_t rank) {
  TENON_TRY(const DimSet is_new, dim_set(expanded, rank));
  if (static_cast<std::size_t>(factor.rank) + expanded.size() != rank) {
    return error(Error::InvalidArgument, "new dimensions ", shape_text(expanded), " of a factor ",
                 shape_text(factor.shape()), ": expected ", rank, " dimensions in all");
  }
  ModelTensor out = factor;
  out.rank = static_cast<std::int32_t>(rank);
  for (std::size_t d = 0, from = 0; d < rank; ++d) {
    out.sizes[d] = is_new[d] ? 1 : factor.sizes[from];
    out.strides[d] = is_new[d] ? 0 : factor.strides[from++];
  }
  return out;
}

/// The sum of products of three factors over the dimensions `sumdim`. The sum is one loop: PyTorch
/// unrolls a dimension of it, and only the number of that dimension is checked here.
Status trilinear(const ModelTensor* const factors[3], const Sizes expanded[3], Sizes sumdim,
                 std::int64_t unroll_dim, ModelTensor** ret0) {
  const std::size_t rank = static_cast<std::size_t>(factors[0]->rank) + expanded[0].size();
  const ScalarType type = factors[0]->scalar_type;
  if (rank > max_rank) {
    return error(Error::InvalidArgument, rank, " dimensions: expected at most ", max_rank);
  }
  if (unroll_dim < 0 || unroll_dim >= static_cast<std::int64_t>(rank)) {
    return error(Error::InvalidArgument, "unroll_dim ", unroll_dim, ": expected 0 to below ", rank,
                 ", the number of dimensions");
  }
  TENON_TRY(const DimSet is_summed, dim_set(sumdim, rank));
  std::array<ModelTensor, 3> all{};
  Dims sizes{};
  std::fill_n(sizes.begin(), rank, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    if (factors[i]->scalar_type != type) {
      return error(Error::InvalidType, "a factor of ", name_of(factors[i]->scalar_type),
                   ": expected the type of the first, ", name_of(type));
    }
    TENON_TRY(all[i], expand(*factors[i], expanded[i], rank));
    for (std::size_t d = 0; d < rank; ++d) sizes[d] = sizes[d] == 1 ? all[i].sizes[d] : sizes[d];
  }
  const Sizes shape = Sizes(sizes).first(rank);
  std::array<Dims, 3> strides{};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!broadcast_strides(all[i], shape, strides[i])) {
      return error(Error::InvalidArgument, "a factor ", shape_text(factors[i]->shape()),
                   ": expected a shape that broadcasts to ", shape_text(shape));
    }
  }
  Dims kept{};
  std::size_t kept_rank = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    if (!is_summed[d]) kept[kept_rank++] = sizes[d];
  }
  TENON_TRY(OwnedTensor out, new_tensor(Sizes(kept).first(kept_rank), nullptr, type));
  Dims to_strides{};
  for (std::size_t d = 0, k = 0; d < rank; ++d) {
    if (!is_summed[d]) to_strides[d] = out->strides[k++];
  }
  TENON_RETURN_IF_ERROR(with_real_type(type, [&]<class T>(T) -> Status {
    TENON_TRY(const Scratch sums,
              Scratch::of(out->numel * static_cast<std::int64_t>(sizeof(Wide<T>))));
    auto* sum = sums.as<Wide<T>>();
    std::fill_n(sum, out->numel, Wide<T>{0});
    for_positions<4>(shape, no_dim,
                     {strides[0].data(), strides[1].data(), strides[2].data(), to_strides.data()},
                     [&](const auto& at) {
                       sum[at[3]] += widen(factors[0]->as<const T>()[at[0]]) *
                                     widen(factors[1]->as<const T>()[at[1]]) *
                                     widen(factors[2]->as<const T>()[at[2]]);
                     });
    for (std::int64_t i = 0; i < out->numel; ++i) out->template as<T>()[i] = narrow<T>(sum[i]);
    return ok();
  }));
  *ret0 = out.take();
  return ok();
}

}  // namespace

// `compute_mode` lets PyTorch use a faster formula for p = 2, which rounds more. Here it is not
// read: results follow the exact formula, also where PyTorch's differ in the last digits.
ShimError aoti_torch_cpu__cdist_forward(ModelTensor* x1, ModelTensor* x2, double p, std::int64_t*,
                                        ModelTensor** ret0) noexcept {
  return shim_call("_cdist_forward", [&] { return cdist(*x1, *x2, p, ret0); });
}

ShimError aoti_torch_cpu__pdist_forward(ModelTensor* self, double p, ModelTensor** ret0) noexcept {
  return shim_call("_pdist_forward", [&] { return pdist(*self, p, ret0); });
}

ShimError aoti_torch_cpu__trilinear(ModelTensor* i1, ModelTensor* i2, ModelTensor* i3,
                                    const std::int64_t* expand1, std::int64_t expand1_len,
                                    const std::int64_t* expand2, std::int64_t expand2_len,
                                    const std::int64_t* expand3, std::int64_t expand3_len,
                                    const std::int64_t* sumdim, std::int64_t sumdim_len,
                                    std::int64_t unroll_dim, ModelTensor** ret0) noexcept {
  return shim_call("_trilinear", [&] {
    const ModelTensor* const factors[] = {i1, i2, i3};
    const Sizes expanded[] = {as_sizes(expand1, expand1_len), as_sizes(expand2, expand2_len),
                              as_sizes(expand3, expand3_len)};
    return trilinear(factors, expanded, as_sizes(sumdim, sumdim_len), unroll_dim, ret0);
  });
}

}  // namespace tenon::cpu_aoti
