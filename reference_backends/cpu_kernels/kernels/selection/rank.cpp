// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/lines.hpp"
#include "kernels/selection/rank.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

void remove_dim(ModelTensor& tensor, std::size_t dim) noexcept {
  const auto rank = static_cast<std::size_t>(tensor.rank);
  for (std::size_t d = dim + 1; d < rank; ++d) {
    tensor.sizes[d - 1] = tensor.sizes[d];
    tensor.strides[d - 1] = tensor.strides[d];
  }
  --tensor.rank;
}

/// The element of each line that `choose(items, count)` returns, and its index.
template <class Choose>
Status choose_from_lines(const ModelTensor& self, std::size_t along, bool keepdim,
                         ModelTensor** ret0, ModelTensor** ret1, const Choose& choose) {
  Dims sizes = self.sizes;
  if (self.rank > 0) sizes[along] = 1;
  const Sizes shape = Sizes(sizes).first(static_cast<std::size_t>(self.rank));
  TENON_TRY(OwnedTensor values, new_tensor(shape, nullptr, self.scalar_type));
  TENON_TRY(OwnedTensor indices, new_tensor(shape, nullptr, ScalarType::Long));
  TENON_RETURN_IF_ERROR(with_type(self.scalar_type, [&]<class T>(T) {
    return order_lines<T>({self, *values, *indices, along}, [&](auto* items, std::int64_t count) {
      items[0] = choose(items, count);
    });
  }));
  if (!keepdim && self.rank > 0) {
    remove_dim(*values, along);
    remove_dim(*indices, along);
  }
  *ret0 = values.take();
  *ret1 = indices.take();
  return ok();
}

Result<std::size_t> find_line(const ModelTensor& self, std::int64_t dim) {
  TENON_TRY(const std::size_t along, wrap_dim(dim, self.rank));
  if (self.rank > 0 && self.sizes[along] == 0) {
    return error(Error::InvalidArgument, "dimension ", along, " of ", shape_text(self.shape()),
                 ": expected at least one element");
  }
  return along;
}

Status kthvalue(const ModelTensor& self, std::int64_t k, std::int64_t dim, bool keepdim,
                ModelTensor** ret0, ModelTensor** ret1) {
  TENON_TRY(const std::size_t along, find_line(self, dim));
  const std::int64_t size = self.rank > 0 ? self.sizes[along] : 1;
  if (k < 1 || k > size) {
    return error(Error::InvalidArgument, "k ", k, ": expected 1 to ", size,
                 ", the size of dimension ", along, " of ", shape_text(self.shape()));
  }
  return choose_from_lines(
      self, along, keepdim, ret0, ret1, [&]<class I>(I* items, std::int64_t count) {
        std::nth_element(items, items + k - 1, items + count, before<decltype(I::key)>);
        return items[k - 1];
      });
}

/// Sorts a line for `most_frequent`. PyTorch's std::sort compares by `<`, for which NaN is in order
/// anywhere. Up to 16 elements it inserts one after the other, and the order that NaN gives then is
/// followed here. Longer lines with NaN have no defined order there; here NaN is last.
template <class Key>
void sort_by_less(Item<Key>* items, std::int64_t count) {
  constexpr std::int64_t inserted = 16;
  if (count > inserted) return std::sort(items, items + count, before<Key>);
  for (std::int64_t i = 1; i < count; ++i) {
    std::int64_t to = 0;
    if (!(items[i].key < items[0].key)) {
      for (to = i; items[i].key < items[to - 1].key;) --to;
    }
    std::rotate(items + to, items + i, items + i + 1);
  }
}

/// The most frequent element, of several the first one of the sorted line, at its last place. No
/// NaN is equal to another.
template <class Key>
Item<Key> most_frequent(Item<Key>* items, std::int64_t count) {
  sort_by_less(items, count);
  Item<Key> best = items[0];
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < count;) {
    std::int64_t end = i + 1;
    while (end < count && items[i].key == items[end].key) ++end;
    if (end - i > most) {
      most = end - i;
      best = items[end - 1];
    }
    i = end;
  }
  return best;
}

/// The lower median of all elements; NaN of none. With `skip_nan` those that are NaN do not count.
template <class T>
T median_of(const ModelTensor& self, Wide<T>* keys, bool skip_nan) {
  std::int64_t count = 0;
  bool any_nan = false;
  for_positions<1>(self.shape(), no_dim, {self.strides.data()}, [&](const auto& at) {
    const Wide<T> value = widen(self.as<const T>()[at[0]]);
    if (value != value) {
      any_nan = true;
    } else {
      keys[count++] = value;
    }
  });
  if (count == 0 || (any_nan && !skip_nan)) {
    return narrow<T>(std::numeric_limits<Wide<T>>::quiet_NaN());
  }
  std::nth_element(keys, keys + (count - 1) / 2, keys + count);
  return narrow<T>(keys[(count - 1) / 2]);
}

Status median(const ModelTensor& self, bool skip_nan, ModelTensor** ret0) {
  TENON_TRY(OwnedTensor out, new_tensor({}, nullptr, self.scalar_type));
  TENON_RETURN_IF_ERROR(with_type(self.scalar_type, [&]<class T>(T) -> Status {
    if (std::is_same_v<Wide<T>, std::int64_t> && self.numel == 0) {
      return error(Error::InvalidArgument, "no element in ", shape_text(self.shape()), " of ",
                   name_of(self.scalar_type), ": expected at least one");
    }
    TENON_TRY(const Scratch keys,
              Scratch::of(self.numel * static_cast<std::int64_t>(sizeof(Wide<T>))));
    *out->template as<T>() = median_of<T>(self, keys.as<Wide<T>>(), skip_nan);
    return ok();
  }));
  *ret0 = out.take();
  return ok();
}

/// The place of the lower median of a line; of the first NaN when it has one. With `skip_nan` those
/// that are NaN do not count.
template <class Key>
Item<Key> median_of_line(Item<Key>* items, std::int64_t count, bool skip_nan) {
  Item<Key>* const end = items + count;
  const auto is_nan = [](const Item<Key>& item) { return item.key != item.key; };
  const std::int64_t num_nan = std::count_if(items, end, is_nan);
  if (num_nan == count || (num_nan != 0 && !skip_nan)) return *std::find_if(items, end, is_nan);
  Item<Key>* const middle = items + (count - num_nan - 1) / 2;
  std::nth_element(items, middle, end, before<Key>);
  return *middle;
}

}  // namespace

Status median_along(const ModelTensor& self, std::int64_t dim, bool keepdim, bool skip_nan,
                    OwnedTensor& values, OwnedTensor& indices) {
  TENON_TRY(const std::size_t along, find_line(self, dim));
  ModelTensor* made[2]{};
  TENON_RETURN_IF_ERROR(choose_from_lines(
      self, along, keepdim, &made[0], &made[1],
      [&](auto* items, std::int64_t count) { return median_of_line(items, count, skip_nan); }));
  values = OwnedTensor(made[0]);
  indices = OwnedTensor(made[1]);
  return ok();
}

ShimError aoti_torch_cpu_kthvalue(ModelTensor* self, std::int64_t k, std::int64_t dim,
                                  std::int32_t keepdim, ModelTensor** ret0,
                                  ModelTensor** ret1) noexcept {
  return shim_call("kthvalue", [&] { return kthvalue(*self, k, dim, keepdim != 0, ret0, ret1); });
}

ShimError aoti_torch_cpu_mode(ModelTensor* self, std::int64_t dim, std::int32_t keepdim,
                              ModelTensor** ret0, ModelTensor** ret1) noexcept {
  return shim_call("mode", [&]() -> Status {
    TENON_TRY(const std::size_t along, find_line(*self, dim));
    return choose_from_lines(
        *self, along, keepdim != 0, ret0, ret1,
        [](auto* items, std::int64_t count) { return most_frequent(items, count); });
  });
}

ShimError aoti_torch_cpu_median(ModelTensor* self, ModelTensor** ret0) noexcept {
  return shim_call("median", [&] { return median(*self, false, ret0); });
}

ShimError aoti_torch_cpu_nanmedian(ModelTensor* self, ModelTensor** ret0) noexcept {
  return shim_call("nanmedian", [&] { return median(*self, true, ret0); });
}

}  // namespace tenon::cpu_aoti
