// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

enum Interpolation : std::int64_t { linear = 0, nearest = 1 };
enum Padding : std::int64_t { zeros = 0, border = 1, reflection = 2 };

/// How places of a grid, from -1 to 1, are found in an input.
struct Sampling {
  std::int64_t interpolation, padding;
  bool align_corners;
};

/// Reflects `x` at `low` and at `low + span` until it is between them.
template <class T>
[[nodiscard]] T reflect(T x, T low, T span) noexcept {
  if (span == 0) return 0;
  x = std::fabs(x - low);
  const T extra = std::fmod(x, span);
  const bool even = std::fmod(std::floor(x / span), T{2}) == 0;
  return even ? extra + low : span - extra + low;
}

/// The place in a dimension of `size` elements.
template <class T>
[[nodiscard]] T find_place(const Sampling& s, T x, std::int64_t size) noexcept {
  const auto n = static_cast<T>(size);
  x = s.align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  if (s.padding == reflection) {
    x = s.align_corners ? reflect(x, T{0}, n - 1) : reflect(x, T{-0.5}, n);
  }
  // In this order of arguments, as in PyTorch, NaN becomes the last place.
  if (s.padding != zeros) x = std::min(n - 1, std::max(x, T{0}));
  // What is far outside, or NaN, becomes a place whose neighbours are outside too.
  return x >= -2 && x <= n + 1 ? x : T{-2};
}

/// Neighbours of a place along one dimension: two and their weights, or the nearest one.
template <class T>
struct Neighbours {
  std::int64_t at[2];
  T weights[2];
};

template <class T>
[[nodiscard]] Neighbours<T> find_neighbours(const Sampling& s, T x) noexcept {
  if (s.interpolation == nearest) {
    return {{static_cast<std::int64_t>(std::nearbyint(x)), -1}, {1, 0}};
  }
  const T low = std::floor(x);
  const auto first = static_cast<std::int64_t>(low);
  return {{first, first + 1}, {low + 1 - x, x - low}};
}

/// One place of the grid, for all channels.
template <class T>
void sample(const Sampling& s, const ModelTensor& input, const T* image, const Wide<T> place[3],
            const ModelTensor& out, T* to) noexcept {
  Neighbours<Wide<T>> near[3];
  for (std::size_t d = 0; d < 3; ++d) {
    // The grid's last dimension is x, y, z; the input's are depth, height, width.
    near[d] = find_neighbours(s, find_place(s, place[2 - d], input.sizes[d + 2]));
  }
  for (std::int64_t c = 0; c < input.sizes[1]; ++c) {
    Wide<T> sum = 0;
    for (unsigned corner = 0; corner < 8; ++corner) {
      std::int64_t offset = c * input.strides[1];
      Wide<T> weight = 1;
      bool inside = true;
      for (std::size_t d = 0; d < 3; ++d) {
        const unsigned side = corner >> d & 1;
        const std::int64_t at = near[d].at[side];
        inside = inside && at >= 0 && at < input.sizes[d + 2];
        offset += at * input.strides[d + 2];
        weight *= near[d].weights[side];
      }
      if (inside && (s.interpolation == linear || corner == 0))
        sum += weight * widen(image[offset]);
    }
    to[c * out.strides[1]] = narrow<T>(sum);
  }
}

Status check(const Sampling& s, const ModelTensor& input, const ModelTensor& grid) {
  if (s.interpolation != linear && s.interpolation != nearest) {
    return error(Error::NotSupported, "interpolation mode ", s.interpolation,
                 ": expected 0 (bilinear) or 1 (nearest)");
  }
  if (s.padding < zeros || s.padding > reflection) {
    return error(Error::InvalidArgument, "padding mode ", s.padding,
                 ": expected 0 (zeros), 1 (border) or 2 (reflection)");
  }
  const bool good = input.rank == 5 && grid.rank == 5 && input.sizes[0] == grid.sizes[0] &&
                    grid.sizes[4] == 3 && input.scalar_type == grid.scalar_type &&
                    std::ranges::none_of(input.shape().subspan(2), [](auto n) { return n == 0; });
  if (good) return ok();
  return error(Error::InvalidArgument, "an input ", shape_text(input.shape()), " of ",
               name_of(input.scalar_type), " and a grid ", shape_text(grid.shape()), " of ",
               name_of(grid.scalar_type),
               ": expected [N, C, D, H, W], none of the last three 0, and [N, d, h, w, 3], of one "
               "type");
}

Status grid_sampler(const Sampling& s, const ModelTensor& input, const ModelTensor& grid,
                    ModelTensor** ret0) {
  TENON_RETURN_IF_ERROR(check(s, input, grid));
  const std::int64_t shape[] = {input.sizes[0], input.sizes[1], grid.sizes[1], grid.sizes[2],
                                grid.sizes[3]};
  TENON_TRY(OwnedTensor out, new_tensor(shape, nullptr, input.scalar_type));
  // Positions of the grid's batch, depth, height and width.
  const Dims to{out->strides[0], out->strides[2], out->strides[3], out->strides[4]};
  const Dims images{input.strides[0]};
  TENON_RETURN_IF_ERROR(with_real_type(input.scalar_type, [&]<class T>(T) {
    for_positions<3>(grid.shape().first(4), no_dim, {grid.strides.data(), images.data(), to.data()},
                     [&](const auto& at) {
                       Wide<T> place[3];
                       for (std::int64_t d = 0; d < 3; ++d) {
                         place[d] = widen(grid.as<const T>()[at[0] + d * grid.strides[4]]);
                       }
                       sample<T>(s, input, input.as<const T>() + at[1], place, *out,
                                 out->template as<T>() + at[2]);
                     });
    return ok();
  }));
  *ret0 = out.take();
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu_grid_sampler_3d(ModelTensor* input, ModelTensor* grid,
                                         std::int64_t interpolation_mode, std::int64_t padding_mode,
                                         std::int32_t align_corners, ModelTensor** ret0) noexcept {
  return shim_call("grid_sampler_3d", [&] {
    return grid_sampler({interpolation_mode, padding_mode, align_corners != 0}, *input, *grid,
                        ret0);
  });
}

}  // namespace tenon::cpu_aoti
