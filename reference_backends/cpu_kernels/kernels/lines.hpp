// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/elements.hpp"
#include "strided.hpp"

/// Elements along one dimension, put in order.
namespace tenon::cpu_aoti {

/// One element of a line and its index.
template <class Key>
struct Item {
  Key key;
  std::int64_t index;
};

/// NaN is larger than every number.
template <class Key>
[[nodiscard]] bool less(Key a, Key b) noexcept {
  if constexpr (std::is_floating_point_v<Key>) return a < b || (b != b && a == a);
  return a < b;
}

/// Elements of `self` along one dimension, and the addresses of the results.
struct Lines {
  const ModelTensor& self;
  const ModelTensor& values;
  const ModelTensor& indices;
  std::size_t along;

  [[nodiscard]] std::int64_t size(const ModelTensor& tensor) const noexcept {
    return self.rank > 0 ? tensor.sizes[along] : tensor.numel;
  }
  [[nodiscard]] std::int64_t stride(const ModelTensor& tensor) const noexcept {
    return self.rank > 0 ? tensor.strides[along] : 1;
  }
};

/// Calls `order(items, count)` for each line and writes the first items. Values are copied from
/// `self`, so that NaN and -0 keep their bits.
template <class T, class Order>
Status order_lines(const Lines& lines, const Order& order) {
  using Key = Wide<T>;
  const ModelTensor& self = lines.self;
  const std::int64_t count = lines.size(self);
  const std::int64_t kept = lines.size(lines.values);
  if (kept == 0) return ok();
  TENON_TRY(const Scratch scratch,
            Scratch::of(count * static_cast<std::int64_t>(sizeof(Item<Key>))));
  auto* items = scratch.as<Item<Key>>();
  const std::int64_t from_step = lines.stride(self);
  const std::int64_t value_step = lines.stride(lines.values);
  const std::int64_t index_step = lines.stride(lines.indices);
  for_positions<3>(self.shape(), self.rank > 0 ? lines.along : no_dim,
                   {self.strides.data(), lines.values.strides.data(), lines.indices.strides.data()},
                   [&](const auto& offset) {
                     const T* from = self.as<const T>() + offset[0];
                     T* values = lines.values.template as<T>() + offset[1];
                     auto* indices = lines.indices.template as<std::int64_t>() + offset[2];
                     for (std::int64_t i = 0; i < count; ++i)
                       items[i] = {widen(from[i * from_step]), i};
                     order(items, count);
                     for (std::int64_t i = 0; i < kept; ++i) {
                       values[i * value_step] = from[items[i].index * from_step];
                       indices[i * index_step] = items[i].index;
                     }
                   });
  return ok();
}

/// Before in ascending order; of equal elements the first one.
template <class Key>
[[nodiscard]] bool before(const Item<Key>& a, const Item<Key>& b) noexcept {
  return less(a.key, b.key) || (!less(b.key, a.key) && a.index < b.index);
}

}  // namespace tenon::cpu_aoti
