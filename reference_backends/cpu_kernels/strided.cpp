// SPDX-License-Identifier: MIT
#include "strided.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "kernels/vectors/rows.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

/// A copy without dimensions of one element, and with adjacent dimensions joined. The last
/// dimension has the smallest stride of the target, so that writes are sequential.
struct Plan {
  std::size_t rank = 0;
  Dims sizes{}, to{}, from{};
};

Plan plan_copy(Sizes sizes, const std::int64_t* to, const std::int64_t* from) noexcept {
  Plan plan;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    std::size_t at = plan.rank++;
    for (; at > 0 && plan.to[at - 1] < to[d]; --at) {
      plan.sizes[at] = plan.sizes[at - 1];
      plan.to[at] = plan.to[at - 1];
      plan.from[at] = plan.from[at - 1];
    }
    plan.sizes[at] = sizes[d];
    plan.to[at] = to[d];
    plan.from[at] = from[d];
  }
  std::size_t kept = 0;
  for (std::size_t d = 1; d < plan.rank; ++d) {
    if (plan.to[kept] == plan.to[d] * plan.sizes[d] &&
        plan.from[kept] == plan.from[d] * plan.sizes[d]) {
      plan.sizes[kept] *= plan.sizes[d];
    } else {
      plan.sizes[++kept] = plan.sizes[d];
    }
    plan.to[kept] = plan.to[d];
    plan.from[kept] = plan.from[d];
  }
  if (plan.rank > 0) plan.rank = kept + 1;
  return plan;
}

/// Calls `row(to, from)` with the offset of the first element of every innermost run.
template <class Row>
void for_rows(const Plan& plan, const Row& row) {
  const std::size_t outer = plan.rank > 0 ? plan.rank - 1 : 0;
  Dims index{};
  std::int64_t to = 0;
  std::int64_t from = 0;
  for (;;) {
    row(to, from);
    std::size_t d = outer;
    for (; d > 0; --d) {
      to += plan.to[d - 1];
      from += plan.from[d - 1];
      if (++index[d - 1] < plan.sizes[d - 1]) break;
      to -= plan.to[d - 1] * plan.sizes[d - 1];
      from -= plan.from[d - 1] * plan.sizes[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

[[nodiscard]] bool is_empty(Sizes sizes) noexcept {
  for (const std::int64_t size : sizes) {
    if (size == 0) return true;
  }
  return false;
}

template <class T>
constexpr bool is_narrow = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class To, class From, class Convert>
void convert_rows(Sizes sizes, Layout to, Layout from, Convert convert) noexcept {
  if (is_empty(sizes)) return;
  const Plan plan = plan_copy(sizes, to.strides, from.strides);
  const std::size_t last = plan.rank > 0 ? plan.rank - 1 : 0;
  const std::int64_t count = plan.rank > 0 ? plan.sizes[last] : 1;
  const std::int64_t to_step = plan.to[last];
  const std::int64_t from_step = plan.from[last];
  for_rows(plan, [&](std::int64_t to_at, std::int64_t from_at) {
    auto* out = reinterpret_cast<To*>(to.data) + to_at;
    const auto* in = reinterpret_cast<const From*>(from.data) + from_at;
    if (to_step == 1 && from_step == 1) {
      if constexpr (std::is_same_v<To, float> && is_narrow<From>) {
        widen_row(in, count, out);
      } else if constexpr (std::is_same_v<From, float> && is_narrow<To>) {
        narrow_row(in, count, out);
      } else {
        for (std::int64_t i = 0; i < count; ++i) out[i] = convert(in[i]);
      }
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[i * to_step] = convert(in[i * from_step]);
    }
  });
}

template <class T>
void copy_elements(Sizes sizes, Layout to, Layout from) noexcept {
  const Plan plan = plan_copy(sizes, to.strides, from.strides);
  const std::size_t last = plan.rank > 0 ? plan.rank - 1 : 0;
  if (plan.rank == 0 || (plan.to[last] == 1 && plan.from[last] == 1)) {
    const std::int64_t count = plan.rank > 0 ? plan.sizes[last] : 1;
    return for_rows(plan, [&](std::int64_t to_at, std::int64_t from_at) {
      std::memcpy(to.data + to_at * std::int64_t{sizeof(T)},
                  from.data + from_at * std::int64_t{sizeof(T)},
                  static_cast<std::size_t>(count) * sizeof(T));
    });
  }
  convert_rows<T, T>(sizes, to, from, [](T value) { return value; });
}

struct SixteenBytes {
  std::uint64_t low, high;
};

}  // namespace

Result<OwnedTensor> new_tensor(Sizes sizes, const std::int64_t* strides, ScalarType type) {
  auto& pool = aoti::current_pool();
  ModelTensor* tensor = pool.empty_strided(sizes, strides, type, pool.memory().device_type, 0);
  if (!tensor) {
    return error(Error::MemoryAllocationFailed, "no new tensor ", shape_text(sizes), " of ",
                 name_of(type));
  }
  return OwnedTensor(tensor);
}

Result<Scratch> Scratch::of(std::int64_t nbytes) {
  TENON_TRY(OwnedTensor memory, new_tensor(Sizes(&nbytes, 1), nullptr, ScalarType::Byte));
  return Scratch(std::move(memory));
}

void copy_strided(Sizes sizes, std::size_t element, Layout to, Layout from) noexcept {
  if (is_empty(sizes)) return;
  switch (element) {
    case 1:
      return copy_elements<std::uint8_t>(sizes, to, from);
    case 2:
      return copy_elements<std::uint16_t>(sizes, to, from);
    case 4:
      return copy_elements<std::uint32_t>(sizes, to, from);
    case 8:
      return copy_elements<std::uint64_t>(sizes, to, from);
    default:
      return copy_elements<SixteenBytes>(sizes, to, from);
  }
}

bool broadcast_strides(const ModelTensor& from, Sizes sizes, Dims& strides) noexcept {
  const auto rank = static_cast<std::size_t>(from.rank);
  if (rank > sizes.size()) return false;
  const std::size_t added = sizes.size() - rank;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (d < added || (from.sizes[d - added] == 1 && sizes[d] != 1)) {
      strides[d] = 0;
    } else if (from.sizes[d - added] == sizes[d]) {
      strides[d] = from.strides[d - added];
    } else {
      return false;
    }
  }
  return true;
}

Result<BroadcastPair> broadcast(const ModelTensor& a, const ModelTensor& b) {
  BroadcastPair out;
  out.rank = static_cast<std::size_t>(std::max(a.rank, b.rank));
  for (std::size_t d = 0; d < out.rank; ++d) {
    const auto size = [&](const ModelTensor& tensor) -> std::int64_t {
      const std::size_t added = out.rank - static_cast<std::size_t>(tensor.rank);
      return d < added ? 1 : tensor.sizes[d - added];
    };
    out.sizes[d] = size(a) == 1 ? size(b) : size(a);
  }
  if (broadcast_strides(a, out.shape(), out.a_strides) &&
      broadcast_strides(b, out.shape(), out.b_strides)) {
    return out;
  }
  return error(Error::InvalidArgument, "tensors ", shape_text(a.shape()), " and ",
               shape_text(b.shape()), ": expected shapes that broadcast");
}

void to_floats(Sizes sizes, ScalarType type, Layout from, float* to) noexcept {
  Dims strides{};
  aoti::contiguous_strides(sizes, std::span(strides).first(sizes.size()));
  const Layout out{reinterpret_cast<std::byte*>(to), strides.data()};
  if (type == ScalarType::Float) return copy_strided(sizes, sizeof(float), out, from);
  if (type == ScalarType::BFloat16) {
    return convert_rows<float, BFloat16>(sizes, out, from, [](BFloat16 x) { return x.to_float(); });
  }
  if (type == ScalarType::Half) {
    return convert_rows<float, Half>(sizes, out, from, [](Half x) { return x.to_float(); });
  }
  if (type == ScalarType::Bool) {
    return convert_rows<float, std::uint8_t>(sizes, out, from,
                                             [](std::uint8_t x) { return x ? 1.0f : 0.0f; });
  }
  convert_rows<float, double>(sizes, out, from, [](double x) { return static_cast<float>(x); });
}

void from_floats(Sizes sizes, ScalarType type, const float* from, Layout to) noexcept {
  Dims strides{};
  aoti::contiguous_strides(sizes, std::span(strides).first(sizes.size()));
  // Only read; a layout has one pointer type for both directions.
  const Layout in{reinterpret_cast<std::byte*>(const_cast<float*>(from)), strides.data()};
  if (type == ScalarType::Float) return copy_strided(sizes, sizeof(float), to, in);
  if (type == ScalarType::BFloat16) {
    return convert_rows<BFloat16, float>(sizes, to, in,
                                         [](float x) { return BFloat16::from_float(x); });
  }
  if (type == ScalarType::Half) {
    return convert_rows<Half, float>(sizes, to, in, [](float x) { return Half::from_float(x); });
  }
  convert_rows<double, float>(sizes, to, in, [](float x) { return double{x}; });
}

}  // namespace tenon::cpu_aoti
