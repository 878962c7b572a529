// SPDX-License-Identifier: MIT
#include "operators/unique.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include "kernels/elements.hpp"
#include "kernels/lines.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

/// An empty list, or one number for each element or distinct element.
Result<OwnedTensor> new_numbers(bool wanted, Sizes sizes) {
  constexpr std::int64_t none[] = {0};
  return new_tensor(wanted ? sizes : Sizes(none), nullptr, ScalarType::Long);
}

/// True for an element that is not equal to the one before; NaN equals nothing.
template <class Key>
bool differs(const Item<Key>& a, const Item<Key>& b) noexcept {
  return !(a.key == b.key);
}

}  // namespace

Status find_unique(const ModelTensor& self, bool sorted, bool with_inverse, bool with_counts,
                   OperatorResults results) {
  return with_type(self.scalar_type, [&]<class T>(T) -> Status {
    using Key = Wide<T>;
    TENON_TRY(const Scratch scratch,
              Scratch::of(self.numel * static_cast<std::int64_t>(sizeof(Item<Key>))));
    auto* const items = scratch.as<Item<Key>>();
    std::int64_t count = 0;
    for_positions<1>(self.shape(), no_dim, {self.strides.data()}, [&](const auto& at) {
      items[count] = {widen(self.as<const T>()[at[0]]), count};
      ++count;
    });
    if (sorted) std::sort(items, items + count, before<Key>);
    std::int64_t distinct = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      distinct += i == 0 || differs(items[i - 1], items[i]) ? 1 : 0;
    }

    const std::int64_t size[] = {distinct};
    TENON_TRY(results[0], new_tensor(size, nullptr, self.scalar_type));
    TENON_TRY(results[1], new_numbers(with_inverse, self.shape()));
    TENON_TRY(results[2], new_numbers(with_counts, size));
    auto* const values = results[0]->template as<T>();
    auto* const inverse = results[1]->template as<std::int64_t>();
    auto* const counts = results[2]->template as<std::int64_t>();
    std::int64_t last = -1;
    for (std::int64_t i = 0; i < count; ++i) {
      if (i == 0 || differs(items[i - 1], items[i])) {
        values[++last] = narrow<T>(items[i].key);
        if (with_counts) counts[last] = 0;
      }
      if (with_inverse) inverse[items[i].index] = last;
      if (with_counts) ++counts[last];
    }
    return ok();
  });
}

Status find_unique_along(const ModelTensor& self, std::int64_t dim, bool sorted,
                         OperatorResults results) {
  TENON_TRY(const std::size_t along, wrap_dim(dim, self.rank));
  const auto rank = static_cast<std::size_t>(self.rank);
  const std::int64_t count = rank > 0 ? self.sizes[along] : 0;
  if (rank == 0 || std::ranges::count(self.shape(), 0) > (count == 0 ? 1 : 0)) {
    return error(Error::InvalidArgument, "slices of ", shape_text(self.shape()),
                 " along dimension ", dim, ": expected elements in each");
  }
  // The slices one after the other: dimension `along` is first.
  Dims sizes{}, strides{};
  sizes[0] = count;
  strides[0] = self.strides[along];
  for (std::size_t d = 0, next = 1; d < rank; ++d) {
    if (d == along) continue;
    sizes[next] = self.sizes[d];
    strides[next++] = self.strides[d];
  }
  TENON_TRY(const OwnedTensor slices,
            new_tensor(Sizes(sizes).first(rank), nullptr, self.scalar_type));
  copy_strided(slices->shape(), size_of(self.scalar_type), {slices->data, slices->strides.data()},
               {self.data, strides.data()});
  TENON_TRY(const Scratch scratch,
            Scratch::of(count * static_cast<std::int64_t>(sizeof(std::int64_t))));
  auto* const order = scratch.as<std::int64_t>();
  std::iota(order, order + count, std::int64_t{0});
  TENON_TRY(results[1], new_tensor({&count, 1}, nullptr, ScalarType::Long));
  auto* const inverse = results[1]->as<std::int64_t>();

  const std::int64_t length = count == 0 ? 0 : self.numel / count;
  std::int64_t distinct = 0;
  TENON_RETURN_IF_ERROR(with_type(self.scalar_type, [&]<class T>(T) -> Status {
    const auto* const elements = slices->as<const T>();
    const auto key = [&](std::int64_t slice, std::int64_t i) {
      return widen(elements[slice * length + i]);
    };
    if (sorted) {
      std::sort(order, order + count, [&](std::int64_t a, std::int64_t b) {
        for (std::int64_t i = 0; i < length; ++i) {
          if (less(key(a, i), key(b, i))) return true;
          if (less(key(b, i), key(a, i))) return false;
        }
        return a < b;
      });
    }
    const auto is_new = [&](std::int64_t a, std::int64_t b) {
      for (std::int64_t i = 0; i < length; ++i) {
        if (!(key(a, i) == key(b, i))) return true;  // NaN equals nothing.
      }
      return false;
    };
    for (std::int64_t i = 0; i < count; ++i) {
      distinct += i == 0 || is_new(order[i - 1], order[i]) ? 1 : 0;
      inverse[order[i]] = distinct - 1;
    }
    return ok();
  }));

  // In row-major order, which compiled code reads. What eager PyTorch returns may have other
  // strides.
  Dims shape = self.sizes;
  shape[along] = distinct;
  TENON_TRY(results[0], new_tensor(Sizes(shape).first(rank), nullptr, self.scalar_type));
  TENON_TRY(results[2], new_tensor({&distinct, 1}, nullptr, ScalarType::Long));
  auto* const counts = results[2]->as<std::int64_t>();
  std::fill_n(counts, distinct, std::int64_t{0});
  Dims to = results[0]->strides;
  std::rotate(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(along),
              to.begin() + static_cast<std::ptrdiff_t>(along) + 1);
  const auto element = static_cast<std::int64_t>(size_of(self.scalar_type));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t group = inverse[order[i]];
    if (counts[group]++ != 0) continue;
    copy_strided(slices->shape().subspan(1), size_of(self.scalar_type),
                 {results[0]->data + group * to[0] * element, to.data() + 1},
                 {slices->data + order[i] * length * element, slices->strides.data() + 1});
  }
  return ok();
}

Status count_bins(const ModelTensor& self, const ModelTensor* weights, std::int64_t minlength,
                  OwnedTensor& out) {
  if (self.rank != 1 || (weights && (weights->rank != 1 || weights->numel != self.numel))) {
    return error(Error::InvalidArgument, "a list ", shape_text(self.shape()), " and weights ",
                 weights ? shape_text(weights->shape()) : "none",
                 ": expected one dimension, and a weight for each number");
  }
  if (minlength < 0) {
    return error(Error::InvalidArgument, "minlength ", minlength, ": expected at least 0");
  }
  const ScalarType type = !weights                                    ? ScalarType::Long
                          : weights->scalar_type == ScalarType::Float ? ScalarType::Float
                                                                      : ScalarType::Double;
  return with_type(self.scalar_type, [&]<class T>(T) -> Status {
    if constexpr (!std::is_integral_v<T>) {
      return error(Error::InvalidType, "numbers of ", name_of(self.scalar_type),
                   ": expected whole ones");
    } else {
      const auto* const numbers = self.as<const T>();
      std::int64_t size = minlength;
      for (std::int64_t i = 0; i < self.numel; ++i) {
        const auto number = static_cast<std::int64_t>(numbers[i * self.strides[0]]);
        if (number < 0) {
          return error(Error::InvalidArgument, "number ", number, ": expected at least 0");
        }
        if (number >= max_bins) {
          return error(Error::InvalidArgument, "number ", number, ": expected below ", max_bins);
        }
        size = std::max(size, number + 1);
      }
      TENON_TRY(out, new_tensor({&size, 1}, nullptr, type));
      std::fill_n(out->data, out->nbytes(), std::byte{0});
      const auto add = [&](const auto& weight_of) {
        using Sum = std::remove_cvref_t<decltype(weight_of(std::int64_t{0}))>;
        auto* const sums = out->template as<Sum>();
        for (std::int64_t i = 0; i < self.numel; ++i) {
          sums[numbers[i * self.strides[0]]] += weight_of(i);
        }
        return ok();
      };
      if (!weights) return add([](std::int64_t) { return std::int64_t{1}; });
      return with_type(weights->scalar_type, [&]<class W>(W) {
        const auto* const from = weights->as<const W>();
        const std::int64_t step = weights->strides[0];
        if constexpr (std::is_same_v<W, float>) {
          return add([&](std::int64_t i) { return from[i * step]; });
        } else {
          return add([&](std::int64_t i) { return static_cast<double>(widen(from[i * step])); });
        }
      });
    }
  });
}

}  // namespace tenon::cpu_aoti
