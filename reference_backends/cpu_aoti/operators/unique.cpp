// SPDX-License-Identifier: MIT
#include "operators/unique.hpp"

#include <algorithm>
#include <cstdint>
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
