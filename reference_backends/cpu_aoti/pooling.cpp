// SPDX-License-Identifier: MIT
#include <algorithm>

#include "convolution_shape.hpp"
#include "elements.hpp"
#include "kernel_list.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

/// What one element of the result looks at, along one dimension.
struct Window {
  std::int64_t first, end, step;
};

/// One spatial dimension. Without a kernel it is adaptive: windows of about equal size cover it.
struct Axis {
  std::int64_t in = 1, out = 1;
  std::int64_t kernel = 0, stride = 1, padding = 0, dilation = 1;

  [[nodiscard]] Window window(std::int64_t o) const noexcept {
    if (kernel == 0) return {o * in / out, ((o + 1) * in + out - 1) / out, 1};
    std::int64_t first = o * stride - padding;
    const std::int64_t end = std::min(first + (kernel - 1) * dilation + 1, in);
    if (first < 0) first += (-first + dilation - 1) / dilation * dilation;
    return {first, end, dilation};
  }
};

using Strides = std::array<std::int64_t, 5>;

/// A pooling over batch, channels and three spatial dimensions; missing ones have size 1.
struct Pooling {
  std::int64_t batch = 1, channels = 1;
  std::array<Axis, 3> axes;
  Strides in_strides{}, out_strides{}, index_strides{};
  bool channels_last = false;
};

/// Sums and divides.
template <class T>
struct Average {
  using Element = T;
  struct Best {
    Wide<T> sum;
  };
  static void start(Best& best, std::int64_t) noexcept { best.sum = 0; }
  static void take(Best& best, T value, std::int64_t) noexcept { best.sum += widen(value); }
  static T finish(const Best& best, std::int64_t count) noexcept {
    return narrow<T>(best.sum / static_cast<Wide<T>>(count));
  }
};

/// The largest element and its place in the image. NaN is the largest.
template <class T>
struct Most {
  using Element = T;
  struct Best {
    Wide<T> value;
    std::int64_t place;
  };
  static void start(Best& best, std::int64_t place) noexcept {
    using Limits = std::numeric_limits<Wide<T>>;
    best = {Limits::has_infinity ? -Limits::infinity() : Limits::lowest(), place};
  }
  static void take(Best& best, T element, std::int64_t place) noexcept {
    const Wide<T> value = widen(element);
    if (value > best.value || value != value) best = {value, place};
  }
  static T finish(const Best& best, std::int64_t) noexcept { return narrow<T>(best.value); }
};

/// One element of the result for `lanes` channels, which lie side by side if there are several.
template <class Kind, bool several, class T = typename Kind::Element>
void pool_position(const Pooling& p, const std::array<Window, 3>& windows, const T* in, T* out,
                   std::int64_t* indices, typename Kind::Best* best) {
  const std::int64_t lanes = several ? p.channels : 1;
  const auto& [z, y, x] = windows;
  const std::int64_t height = p.axes[1].in;
  const std::int64_t width = p.axes[2].in;
  std::int64_t count = 0;
  for (std::int64_t c = 0; c < lanes; ++c) {
    Kind::start(best[c], (z.first * height + y.first) * width + x.first);
  }
  for (std::int64_t d = z.first; d < z.end; d += z.step) {
    for (std::int64_t h = y.first; h < y.end; h += y.step) {
      const T* row = in + d * p.in_strides[2] + h * p.in_strides[3];
      const std::int64_t place = (d * height + h) * width;
      for (std::int64_t w = x.first; w < x.end; w += x.step) {
        const T* at = row + w * p.in_strides[4];
        for (std::int64_t c = 0; c < lanes; ++c) Kind::take(best[c], at[c], place + w);
        ++count;
      }
    }
  }
  for (std::int64_t c = 0; c < lanes; ++c) {
    out[c] = Kind::finish(best[c], count);
    if constexpr (requires { best->place; }) indices[c] = best[c].place;
  }
}

template <class Kind, bool several, class T = typename Kind::Element>
void pool_all(const Pooling& p, const T* in, T* out, std::int64_t* indices,
              typename Kind::Best* best) {
  const std::int64_t channels = several ? 1 : p.channels;
  for (std::int64_t image = 0; image < p.batch * channels; ++image) {
    const std::int64_t n = image / channels;
    const std::int64_t c = image % channels;
    const auto start = [&](const Strides& strides) { return n * strides[0] + c * strides[1]; };
    std::array<Window, 3> windows;
    for (std::int64_t d = 0; d < p.axes[0].out; ++d) {
      windows[0] = p.axes[0].window(d);
      for (std::int64_t h = 0; h < p.axes[1].out; ++h) {
        windows[1] = p.axes[1].window(h);
        for (std::int64_t w = 0; w < p.axes[2].out; ++w) {
          windows[2] = p.axes[2].window(w);
          const auto at = [&](const Strides& strides) {
            return start(strides) + d * strides[2] + h * strides[3] + w * strides[4];
          };
          pool_position<Kind, several>(p, windows, in + start(p.in_strides),
                                       out + at(p.out_strides), indices + at(p.index_strides),
                                       best);
        }
      }
    }
  }
}

/// Strides of a tensor of the caller's rank, in the place where a `Pooling` has them.
Strides place_strides(const Tensor& tensor, std::size_t spatial) noexcept {
  Strides out{};
  const auto rank = static_cast<std::size_t>(tensor.rank);
  const std::size_t lead = rank - spatial;
  for (std::size_t d = 0; d < lead; ++d) out[2 - lead + d] = tensor.strides[d];
  for (std::size_t d = 0; d < spatial; ++d) out[5 - spatial + d] = tensor.strides[lead + d];
  return out;
}

/// Runs `p`, whose axes are set. `indices` is null for averages.
template <template <class> class Kind>
Status run(const Tensor& self, std::size_t spatial, bool channels_last, Pooling& p, Tensor** values,
           Tensor** indices) {
  const auto rank = static_cast<std::size_t>(self.rank);
  Dims sizes = self.sizes;
  for (std::size_t d = 0; d < spatial; ++d) sizes[rank - spatial + d] = p.axes[3 - spatial + d].out;
  const Sizes shape = Sizes(sizes).first(rank);
  Dims strides{};
  if (channels_last) strides = channels_last_strides(shape);
  const std::int64_t* given = channels_last ? strides.data() : nullptr;
  TENON_TRY(OwnedTensor out, new_tensor(shape, given, self.scalar_type));
  OwnedTensor places(nullptr);
  if (indices) {
    TENON_TRY(places, new_tensor(shape, given, ScalarType::Long));
  }
  p.batch = rank > spatial + 1 ? self.sizes[0] : 1;
  p.channels = self.sizes[rank - spatial - 1];
  p.in_strides = place_strides(self, spatial);
  p.out_strides = place_strides(*out, spatial);
  p.index_strides = p.out_strides;
  const auto pool = [&]<class T>(T) -> Status {
    using K = Kind<T>;
    using Best = typename K::Best;
    const bool several = p.channels > 1 && p.in_strides[1] == 1 && p.out_strides[1] == 1;
    TENON_TRY(const Scratch scratch,
              Scratch::of((several ? p.channels : 1) * static_cast<std::int64_t>(sizeof(Best))));
    auto* to = indices ? places->template as<std::int64_t>() : nullptr;
    if (several) {
      pool_all<K, true>(p, self.as<const T>(), out->template as<T>(), to, scratch.as<Best>());
    } else {
      pool_all<K, false>(p, self.as<const T>(), out->template as<T>(), to, scratch.as<Best>());
    }
    return ok();
  };
  if (out->numel > 0) {
    if constexpr (std::is_same_v<Kind<float>, Average<float>>) {
      TENON_CHECK(with_real_type(self.scalar_type, pool));
    } else {
      TENON_CHECK(with_type(self.scalar_type, pool));
    }
  }
  *values = out.hand_over();
  if (indices) *indices = places.hand_over();
  return ok();
}

Status check_input(const Tensor& self, std::size_t spatial) {
  const auto rank = static_cast<std::size_t>(self.rank);
  const bool good = rank == spatial + 1 || rank == spatial + 2;
  const auto first = self.shape().begin() + (rank > spatial + 1 ? 1 : 0);
  if (good && std::all_of(first, self.shape().end(), [](std::int64_t n) { return n > 0; })) {
    return ok();
  }
  return error(Error::InvalidArgument, "an input ", shape_text(self.shape()), ": expected ",
               spatial + 1, " or ", spatial + 2, " dimensions, none but the batch empty");
}

template <template <class> class Kind>
Status adaptive(const Tensor& self, std::size_t spatial, Sizes output_size, Tensor** values,
                Tensor** indices) {
  TENON_CHECK(check_input(self, spatial));
  if (output_size.size() != spatial ||
      std::any_of(output_size.begin(), output_size.end(), [](std::int64_t n) { return n < 0; })) {
    return error(Error::InvalidArgument, "an output size ", shape_text(output_size), ": expected ",
                 spatial, " sizes of at least 0");
  }
  Pooling p;
  const auto rank = static_cast<std::size_t>(self.rank);
  for (std::size_t d = 0; d < spatial; ++d) {
    p.axes[3 - spatial + d] = {.in = self.sizes[rank - spatial + d], .out = output_size[d]};
  }
  const bool channels_last = spatial == 2 && rank == 4 && is_channels_last(self);
  return run<Kind>(self, spatial, channels_last, p, values, indices);
}

/// One number for each spatial dimension, from a list of all or of one for all.
Result<std::int64_t> pick(Sizes list, std::size_t d, std::size_t spatial, const char* what,
                          std::int64_t least) {
  if (list.size() != 1 && list.size() != spatial) {
    return error(Error::InvalidArgument, what, " ", shape_text(list), ": expected 1 or ", spatial,
                 " numbers");
  }
  const std::int64_t value = list[list.size() == 1 ? 0 : d];
  if (value < least) {
    return error(Error::InvalidArgument, what, " ", value, ": expected at least ", least);
  }
  return value;
}

Status max_pool(const Tensor& self, std::size_t spatial, Sizes kernel, Sizes stride, Sizes padding,
                Sizes dilation, bool ceil_mode, Tensor** values, Tensor** indices) {
  TENON_CHECK(check_input(self, spatial));
  const auto rank = static_cast<std::size_t>(self.rank);
  Pooling p;
  for (std::size_t d = 0; d < spatial; ++d) {
    Axis& axis = p.axes[3 - spatial + d];
    axis.in = self.sizes[rank - spatial + d];
    TENON_TRY(axis.kernel, pick(kernel, d, spatial, "a kernel size", 1));
    TENON_TRY(axis.stride, pick(stride.empty() ? kernel : stride, d, spatial, "a stride", 1));
    TENON_TRY(axis.padding, pick(padding, d, spatial, "a padding", 0));
    TENON_TRY(axis.dilation, pick(dilation, d, spatial, "a dilation", 1));
    const std::int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
    if (axis.padding > reach / 2) {
      return error(Error::InvalidArgument, "a padding ", axis.padding,
                   ": expected at most half of what the kernel covers, ", reach);
    }
    const std::int64_t room = axis.in + 2 * axis.padding - reach;
    axis.out = (room + (ceil_mode ? axis.stride - 1 : 0)) / axis.stride + 1;
    // The last window must begin inside the input or the padding before it.
    if (ceil_mode && (axis.out - 1) * axis.stride >= axis.in + axis.padding) --axis.out;
    if (room + (ceil_mode ? axis.stride - 1 : 0) < 0 || axis.out < 1) {
      return error(Error::InvalidArgument, "an input ", shape_text(self.shape()),
                   ": expected one in which a kernel of ", reach, " has place");
    }
  }
  const bool channels_last = rank == spatial + 2 && is_channels_last(self);
  return run<Most>(self, spatial, channels_last, p, values, indices);
}

Sizes list(const std::int64_t* values, std::int64_t count) {
  return {values, static_cast<std::size_t>(count)};
}

}  // namespace

ShimError aoti_torch_cpu__adaptive_avg_pool2d(Tensor* self, const std::int64_t* output_size,
                                              std::int64_t output_size_len,
                                              Tensor** ret0) noexcept {
  return shim_call("_adaptive_avg_pool2d", [&] {
    return adaptive<Average>(*self, 2, list(output_size, output_size_len), ret0, nullptr);
  });
}

ShimError aoti_torch_cpu__adaptive_avg_pool3d(Tensor* self, const std::int64_t* output_size,
                                              std::int64_t output_size_len,
                                              Tensor** ret0) noexcept {
  return shim_call("_adaptive_avg_pool3d", [&] {
    return adaptive<Average>(*self, 3, list(output_size, output_size_len), ret0, nullptr);
  });
}

ShimError aoti_torch_cpu_adaptive_max_pool2d(Tensor* self, const std::int64_t* output_size,
                                             std::int64_t output_size_len, Tensor** ret0,
                                             Tensor** ret1) noexcept {
  return shim_call("adaptive_max_pool2d", [&] {
    return adaptive<Most>(*self, 2, list(output_size, output_size_len), ret0, ret1);
  });
}

ShimError aoti_torch_cpu_adaptive_max_pool3d(Tensor* self, const std::int64_t* output_size,
                                             std::int64_t output_size_len, Tensor** ret0,
                                             Tensor** ret1) noexcept {
  return shim_call("adaptive_max_pool3d", [&] {
    return adaptive<Most>(*self, 3, list(output_size, output_size_len), ret0, ret1);
  });
}

ShimError aoti_torch_cpu_max_pool2d_with_indices(
    Tensor* self, const std::int64_t* kernel_size, std::int64_t kernel_size_len,
    const std::int64_t* stride, std::int64_t stride_len, const std::int64_t* padding,
    std::int64_t padding_len, const std::int64_t* dilation, std::int64_t dilation_len,
    std::int32_t ceil_mode, Tensor** ret0, Tensor** ret1) noexcept {
  return shim_call("max_pool2d_with_indices", [&] {
    return max_pool(*self, 2, list(kernel_size, kernel_size_len), list(stride, stride_len),
                    list(padding, padding_len), list(dilation, dilation_len), ceil_mode != 0, ret0,
                    ret1);
  });
}

ShimError aoti_torch_cpu_max_pool3d_with_indices(
    Tensor* self, const std::int64_t* kernel_size, std::int64_t kernel_size_len,
    const std::int64_t* stride, std::int64_t stride_len, const std::int64_t* padding,
    std::int64_t padding_len, const std::int64_t* dilation, std::int64_t dilation_len,
    std::int32_t ceil_mode, Tensor** ret0, Tensor** ret1) noexcept {
  return shim_call("max_pool3d_with_indices", [&] {
    return max_pool(*self, 3, list(kernel_size, kernel_size_len), list(stride, stride_len),
                    list(padding, padding_len), list(dilation, dilation_len), ceil_mode != 0, ret0,
                    ret1);
  });
}

}  // namespace tenon::cpu_aoti
