// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tenon/core/tensor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

namespace detail {

/// The dimensions of a copy; dimensions that are adjacent in memory on both sides are joined.
struct CopyPlan {
  std::size_t rank = 0;
  std::array<std::int64_t, max_rank> sizes;
  std::array<std::int64_t, max_rank> to;
  std::array<std::int64_t, max_rank> from;
};

inline CopyPlan plan_copy(std::span<const std::int64_t> sizes, std::span<const std::int64_t> to,
                          std::span<const std::int64_t> from) noexcept {
  CopyPlan plan;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    const std::size_t last = plan.rank - 1;
    if (plan.rank != 0 && plan.to[last] == to[d] * sizes[d] &&
        plan.from[last] == from[d] * sizes[d]) {
      plan.sizes[last] *= sizes[d];
      plan.to[last] = to[d];
      plan.from[last] = from[d];
      continue;
    }
    plan.sizes[plan.rank] = sizes[d];
    plan.to[plan.rank] = to[d];
    plan.from[plan.rank] = from[d];
    ++plan.rank;
  }
  return plan;
}

template <std::size_t element>
void copy_elements(std::byte* to, const std::byte* from, const CopyPlan& plan) noexcept {
  constexpr auto width = static_cast<std::int64_t>(element);
  const std::size_t inner = plan.rank == 0 ? 0 : plan.rank - 1;
  const std::int64_t count = plan.rank == 0 ? 1 : plan.sizes[inner];
  const std::int64_t to_step = (plan.rank == 0 ? 0 : plan.to[inner]) * width;
  const std::int64_t from_step = (plan.rank == 0 ? 0 : plan.from[inner]) * width;
  std::array<std::int64_t, max_rank> index{};
  for (;;) {
    if (to_step == width && from_step == width) {
      std::memcpy(to, from, static_cast<std::size_t>(count) * element);
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(to + i * to_step, from + i * from_step, element);
      }
    }
    std::size_t d = inner;
    for (; d-- > 0;) {
      to += plan.to[d] * width;
      from += plan.from[d] * width;
      if (++index[d] < plan.sizes[d]) break;
      to -= plan.to[d] * plan.sizes[d] * width;
      from -= plan.from[d] * plan.sizes[d] * width;
      index[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace detail

/// Copies elements of `element_size` bytes (1, 2, 4, 8 or 16) between two layouts of the same
/// sizes. Strides are in elements; a stride of 0 repeats an element. The two must not overlap.
/// Allocates nothing. Returns false for another element size.
inline bool copy_strided(std::byte* to, std::span<const std::int64_t> to_strides,
                         const std::byte* from, std::span<const std::int64_t> from_strides,
                         std::span<const std::int64_t> sizes, std::size_t element_size) noexcept {
  for (const std::int64_t size : sizes) {
    if (size == 0) return true;
  }
  const detail::CopyPlan plan = detail::plan_copy(sizes, to_strides, from_strides);
  switch (element_size) {
    case 1:
      detail::copy_elements<1>(to, from, plan);
      return true;
    case 2:
      detail::copy_elements<2>(to, from, plan);
      return true;
    case 4:
      detail::copy_elements<4>(to, from, plan);
      return true;
    case 8:
      detail::copy_elements<8>(to, from, plan);
      return true;
    case 16:
      detail::copy_elements<16>(to, from, plan);
      return true;
    default:
      return false;
  }
}

}}}  // namespace tenon::TENON_RELEASE::aoti
