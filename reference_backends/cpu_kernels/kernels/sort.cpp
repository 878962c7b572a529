// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/lines.hpp"
#include "strided.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

Status sort(const ModelTensor& self, std::int64_t dim, bool descending, ModelTensor** ret0,
            ModelTensor** ret1) {
  TENON_TRY(const std::size_t along, wrap_dim(dim, self.rank));
  const Dims strides = dense_strides_like(self);
  TENON_TRY(OwnedTensor values, new_tensor(self.shape(), strides.data(), self.scalar_type));
  TENON_TRY(OwnedTensor indices, new_tensor(self.shape(), strides.data(), ScalarType::Long));
  // std::stable_sort allocates; comparing the indices too makes any sort stable.
  TENON_RETURN_IF_ERROR(with_type(self.scalar_type, [&]<class T>(T) {
    return order_lines<T>({self, *values, *indices, along}, [&](auto* items, std::int64_t count) {
      using I = std::remove_pointer_t<decltype(items)>;
      if (descending) {
        std::sort(items, items + count, [](const I& a, const I& b) {
          return less(b.key, a.key) || (!less(a.key, b.key) && a.index < b.index);
        });
      } else {
        std::sort(items, items + count, [](const I& a, const I& b) { return before(a, b); });
      }
    });
  }));
  *ret0 = values.take();
  *ret1 = indices.take();
  return ok();
}

/// The first k items, in order when `sorted`. A small k uses a heap.
template <class I, class Before>
void select(I* items, std::int64_t count, std::int64_t k, bool sorted, Before before) {
  if (k * 64 <= count) {
    std::partial_sort(items, items + k, items + count, before);
    return;
  }
  std::nth_element(items, items + k - 1, items + count, before);
  if (sorted) std::sort(items, items + k - 1, before);
}

Status topk(const ModelTensor& self, std::int64_t k, std::int64_t dim, bool largest, bool sorted,
            ModelTensor** ret0, ModelTensor** ret1) {
  TENON_TRY(const std::size_t along, wrap_dim(dim, self.rank));
  const std::int64_t count = self.rank > 0 ? self.sizes[along] : 1;
  if (k < 0 || k > count) {
    return error(Error::InvalidArgument, "k ", k, ": expected 0 to ", count,
                 ", the size of dimension ", along, " of ", shape_text(self.shape()));
  }
  Dims sizes = self.sizes;
  if (self.rank > 0) sizes[along] = k;
  const Sizes shape = Sizes(sizes).first(static_cast<std::size_t>(self.rank));
  TENON_TRY(OwnedTensor values, new_tensor(shape, nullptr, self.scalar_type));
  TENON_TRY(OwnedTensor indices, new_tensor(shape, nullptr, ScalarType::Long));
  const std::int64_t kept =
      self.rank > 0 ? k : 1;  // The result for a scalar is a scalar, whatever k is.
  TENON_RETURN_IF_ERROR(with_type(self.scalar_type, [&]<class T>(T) {
    return order_lines<T>({self, *values, *indices, along}, [&](auto* items, std::int64_t n) {
      using I = std::remove_pointer_t<decltype(items)>;
      if (largest) {
        select(items, n, kept, sorted, [](const I& a, const I& b) { return less(b.key, a.key); });
      } else {
        select(items, n, kept, sorted, [](const I& a, const I& b) { return less(a.key, b.key); });
      }
    });
  }));
  *ret0 = values.take();
  *ret1 = indices.take();
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu_sort(ModelTensor* self, std::int64_t dim, std::int32_t descending,
                              ModelTensor** ret0, ModelTensor** ret1) noexcept {
  return shim_call("sort", [&] { return sort(*self, dim, descending != 0, ret0, ret1); });
}

ShimError aoti_torch_cpu_sort_stable(ModelTensor* self, std::int32_t*, std::int64_t dim,
                                     std::int32_t descending, ModelTensor** ret0,
                                     ModelTensor** ret1) noexcept {
  return shim_call("sort_stable", [&] { return sort(*self, dim, descending != 0, ret0, ret1); });
}

ShimError aoti_torch_cpu_topk(ModelTensor* self, std::int64_t k, std::int64_t dim,
                              std::int32_t largest, std::int32_t sorted, ModelTensor** ret0,
                              ModelTensor** ret1) noexcept {
  return shim_call("topk",
                   [&] { return topk(*self, k, dim, largest != 0, sorted != 0, ret0, ret1); });
}

}  // namespace tenon::cpu_aoti
