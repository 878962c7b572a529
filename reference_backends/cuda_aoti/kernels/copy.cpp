// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

#include "checks.hpp"
#include "tenon/aoti/tensors/strided_copy.hpp"

namespace tenon::cuda_aoti::kernels {
namespace {

static_assert(copy_max_rank == max_rank);

/// It is as aligned as both addresses are.
std::uintptr_t addresses_of(const CopyArguments& arguments) noexcept {
  return reinterpret_cast<std::uintptr_t>(arguments.from) |
         reinterpret_cast<std::uintptr_t>(arguments.to);
}

/// Makes the largest elements of rows that are adjacent on both sides: the last dimension.
void widen(CopyArguments& arguments) {
  if (arguments.rank == 0) return;
  const int last = arguments.rank - 1;
  if (arguments.from_strides[last] != 1 || arguments.to_strides[last] != 1) return;
  const std::uintptr_t addresses = addresses_of(arguments);
  for (std::int32_t width = 16; width > arguments.element_size; width /= 2) {
    const std::int64_t elements = width / arguments.element_size;
    bool fits = addresses % static_cast<std::uintptr_t>(width) == 0 &&
                arguments.sizes[last] % elements == 0;
    for (int d = 0; d < last; ++d) {
      fits = fits && arguments.from_strides[d] % elements == 0 &&
             arguments.to_strides[d] % elements == 0;
    }
    if (!fits) continue;
    for (int d = 0; d < last; ++d) {
      arguments.from_strides[d] /= elements;
      arguments.to_strides[d] /= elements;
    }
    arguments.sizes[last] /= elements;
    arguments.numel /= elements;
    arguments.element_size = width;
    if (arguments.sizes[last] == 1) --arguments.rank;
    return;
  }
}

/// See `CopyArguments::transposed`.
std::int32_t find_transposed(const CopyArguments& arguments) {
  // A quarter of a tile's side or more, so that a block has work for most of its threads.
  const std::int64_t least = copy_tile(arguments.element_size) / 4;
  const std::int32_t last = arguments.rank - 1;
  if (last < 1 || arguments.from_strides[last] == 1 || arguments.sizes[last] < least) return -1;
  for (std::int32_t d = 0; d < last; ++d) {
    if (arguments.from_strides[d] == 1 && arguments.sizes[d] >= least) return d;
  }
  return -1;
}

/// See `CopyArguments::has_pairs`.
bool has_pairs(const CopyArguments& arguments) {
  const std::int32_t last = arguments.rank - 1;
  if (arguments.transposed < 0 || arguments.element_size != 2 || arguments.to_strides[last] != 1 ||
      addresses_of(arguments) % 4 != 0) {
    return false;
  }
  for (std::int32_t d = 0; d <= last; ++d) {
    const bool is_of_tile = d == last || d == arguments.transposed;
    if (is_of_tile && arguments.sizes[d] % 2 != 0) return false;
    if (d != arguments.transposed && arguments.from_strides[d] % 2 != 0) return false;
    if (d != last && arguments.to_strides[d] % 2 != 0) return false;
  }
  return true;
}

}  // namespace

Result<CopyArguments> plan_copy_strided(const aoti::StridedCopy& copy) {
  const std::size_t size = copy.element_size;
  if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16) {
    return error(Error::NotSupported, "a copy of elements of ", size, " bytes");
  }
  CopyArguments out{};
  out.transposed = -1;
  if (std::ranges::find(copy.sizes, 0) != copy.sizes.end()) return out;
  const auto plan = aoti::detail::plan_copy(copy.sizes, copy.to_strides, copy.from_strides);
  std::array<std::size_t, max_rank> order{};
  const auto used = std::span(order).first(plan.rank);
  std::iota(used.begin(), used.end(), std::size_t{0});
  std::ranges::stable_sort(used, std::ranges::greater{}, [&](std::size_t d) { return plan.to[d]; });
  out.from = copy.from;
  out.to = copy.to;
  out.numel = 1;
  out.element_size = static_cast<std::int32_t>(size);
  // Dimensions that are adjacent in this order alone are joined as well.
  std::int32_t& rank = out.rank;
  for (const std::size_t d : used) {
    if (plan.to[d] == 0) {
      return error(Error::InvalidArgument,
                   "a copy that writes an element more than once: the target's strides are ",
                   shape_text(copy.to_strides), " for sizes ", shape_text(copy.sizes));
    }
    out.numel *= plan.sizes[d];
    const std::int32_t last = rank - 1;
    const bool is_adjacent = rank != 0 && out.to_strides[last] == plan.to[d] * plan.sizes[d] &&
                             out.from_strides[last] == plan.from[d] * plan.sizes[d];
    const std::int32_t at = is_adjacent ? last : rank++;
    out.sizes[at] = is_adjacent ? out.sizes[at] * plan.sizes[d] : plan.sizes[d];
    out.from_strides[at] = plan.from[d];
    out.to_strides[at] = plan.to[d];
  }
  widen(out);
  if (addresses_of(out) % static_cast<std::uintptr_t>(out.element_size) != 0) {
    return error(Error::NotSupported, "a copy of elements of ", size,
                 " bytes that are not aligned to it");
  }
  out.transposed = find_transposed(out);
  out.has_pairs = has_pairs(out);
  out.is_large = out.numel > std::numeric_limits<std::int32_t>::max();
  for (std::int32_t d = 0; d < rank && out.is_large == 0; ++d) {
    out.divisors[d] = Divisor::of(static_cast<std::uint32_t>(out.sizes[d]));
  }
  return out;
}

Status run(const CopyArguments& copy, const Launcher& launcher) {
  if (copy.numel == 0) return ok();
  if (copy.transposed >= 0) {
    const std::int64_t side = copy_tile(copy.element_size);
    std::int64_t blocks = 1;
    for (std::int32_t d = 0; d < copy.rank; ++d) {
      const bool is_of_tile = d == copy.rank - 1 || d == copy.transposed;
      blocks *= is_of_tile ? ceil_div(copy.sizes[d], side) : copy.sizes[d];
    }
    return launch_blocks(launcher, "tenon_copy_transposed", {blocks}, {copy_threads, 1, 1}, copy);
  }
  return launch_blocks(launcher, "tenon_copy_strided", {ceil_div(copy.numel, copy_threads), 1},
                       {copy_threads, 1, 1}, copy);
}

}  // namespace tenon::cuda_aoti::kernels
