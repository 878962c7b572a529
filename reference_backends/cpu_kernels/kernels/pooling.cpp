// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <type_traits>

#include "common/convolution_shape.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/pooling_lines.hpp"
#include "kernels/pooling_windows.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;
using aoti_common::channels_last_strides;
using aoti_common::is_channels_last;

/// Strides of a tensor of any rank, at their positions in a `Pooling`.
Strides place_strides(const ModelTensor& tensor, std::size_t spatial) noexcept {
  Strides out{};
  const auto rank = static_cast<std::size_t>(tensor.rank);
  const std::size_t lead = rank - spatial;
  for (std::size_t d = 0; d < lead; ++d) out[2 - lead + d] = tensor.strides[d];
  for (std::size_t d = 0; d < spatial; ++d) out[5 - spatial + d] = tensor.strides[lead + d];
  return out;
}

/// Strides of an image in the channels-last order, without the batch.
[[nodiscard]] Dims image_channels_last_strides(Sizes sizes) noexcept {
  Dims batched{1};
  std::copy(sizes.begin(), sizes.end(), batched.begin() + 1);
  batched = channels_last_strides(Sizes(batched).first(sizes.size() + 1));
  std::copy_n(batched.begin() + 1, sizes.size(), batched.begin());
  return batched;
}

/// PyTorch's test for one image, which only has three dimensions.
[[nodiscard]] bool is_channels_last_image(const ModelTensor& image) noexcept {
  if (image.is_contiguous()) return false;
  const Dims strides = image_channels_last_strides(image.shape());
  for (std::size_t d = 0; d < 4; ++d) {
    if (image.sizes[d] != 1 && image.strides[d] != strides[d]) return false;
  }
  return true;
}

/// Runs `p`, whose axes are set. `indices` is null for averages.
template <template <class> class Kind>
Status run(const ModelTensor& self, std::size_t spatial, bool channels_last, Pooling& p,
           ModelTensor** values, ModelTensor** indices) {
  const auto rank = static_cast<std::size_t>(self.rank);
  Dims sizes = self.sizes;
  for (std::size_t d = 0; d < spatial; ++d) sizes[rank - spatial + d] = p.axes[3 - spatial + d].out;
  const Sizes shape = Sizes(sizes).first(rank);
  Dims strides{};
  if (channels_last && rank == spatial + 2) {
    strides = channels_last_strides(shape);
  } else if (channels_last) {
    strides = image_channels_last_strides(shape);
  }
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
    auto* to = indices ? places->template as<std::int64_t>() : nullptr;
    if constexpr (!std::is_integral_v<Wide<T>> && !std::is_same_v<T, double>) {
      if (has_rows(p)) {
        TENON_TRY(const Scratch rows,
                  Scratch::of(p.channels * static_cast<std::int64_t>(2 * sizeof(float))));
        auto* const best = rows.as<float>();
        pool_rows<K>(p, self.as<const T>(), out->template as<T>(), to, best,
                     reinterpret_cast<std::int32_t*>(best + p.channels));
        return ok();
      }
    }
    if constexpr (!std::is_integral_v<Wide<T>>) {
      if (has_lines(p)) {
        pool_lines<K>(p, self.as<const T>(), out->template as<T>(), to);
        return ok();
      }
    }
    const bool several = p.channels > 1 && p.in_strides[1] == 1 && p.out_strides[1] == 1;
    TENON_TRY(const Scratch scratch,
              Scratch::of((several ? p.channels : 1) * static_cast<std::int64_t>(sizeof(Best))));
    if (several) {
      pool_all<K, true>(p, self.as<const T>(), out->template as<T>(), to, scratch.as<Best>());
    } else {
      pool_all<K, false>(p, self.as<const T>(), out->template as<T>(), to, scratch.as<Best>());
    }
    return ok();
  };
  if (out->numel > 0) {
    if constexpr (std::is_same_v<Kind<float>, Average<float>>) {
      // As in PyTorch, adaptive averages are of floating-point numbers.
      const bool is_whole = self.scalar_type == ScalarType::Long && p.axes[2].kernel != 0;
      TENON_RETURN_IF_ERROR(is_whole ? pool(std::int64_t{})
                                     : with_real_type(self.scalar_type, pool));
    } else {
      TENON_RETURN_IF_ERROR(with_type(self.scalar_type, pool));
    }
  }
  *values = out.take();
  if (indices) *indices = places.take();
  return ok();
}

Status check_input(const ModelTensor& self, std::size_t spatial) {
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
Status adaptive(const ModelTensor& self, std::size_t spatial, Sizes output_size,
                ModelTensor** values, ModelTensor** indices) {
  TENON_RETURN_IF_ERROR(check_input(self, spatial));
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
  // As in PyTorch, whose numbers are of 32 bits; products of two cannot overflow.
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (value < least || value > most) {
    return error(Error::InvalidArgument, what, " ", value, ": expected ", least, " to ", most);
  }
  return value;
}

/// A pooling with windows of one size; the averages have no dilation.
Result<Pooling> find_windows(const ModelTensor& self, std::size_t spatial, Sizes kernel,
                             Sizes stride, Sizes padding, Sizes dilation, bool ceil_mode) {
  TENON_RETURN_IF_ERROR(check_input(self, spatial));
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
  return p;
}

Status max_pool(const ModelTensor& self, std::size_t spatial, Sizes kernel, Sizes stride,
                Sizes padding, Sizes dilation, bool ceil_mode, ModelTensor** values,
                ModelTensor** indices) {
  TENON_TRY(Pooling p, find_windows(self, spatial, kernel, stride, padding, dilation, ceil_mode));
  const auto rank = static_cast<std::size_t>(self.rank);
  const bool channels_last =
      rank == spatial + 2 ? is_channels_last(self) : spatial == 3 && is_channels_last_image(self);
  return run<Most>(self, spatial, channels_last, p, values, indices);
}

Status avg_pool(const ModelTensor& self, std::size_t spatial, Sizes kernel, Sizes stride,
                Sizes padding, bool ceil_mode, bool count_include_pad,
                const std::int64_t* divisor_override, ModelTensor** values) {
  const std::int64_t dilation = 1;
  TENON_TRY(Pooling p,
            find_windows(self, spatial, kernel, stride, padding, Sizes(&dilation, 1), ceil_mode));
  if (divisor_override && *divisor_override == 0) {
    return error(Error::InvalidArgument, "a divisor 0: expected another number");
  }
  // A window has at most so many elements, with its padding.
  const auto& [z, y, x] = p.axes;
  if (z.kernel > 0 && y.kernel * x.kernel > std::numeric_limits<std::int64_t>::max() / z.kernel) {
    return error(Error::InvalidArgument, "a kernel of ", z.kernel, " x ", y.kernel, " x ", x.kernel,
                 " elements: expected fewer than 2^63");
  }
  p.divisor = divisor_override ? *divisor_override : 0;
  p.counts_padding = count_include_pad;
  const bool channels_last = spatial == 2 && self.rank == 4 && is_channels_last(self);
  return run<Average>(self, spatial, channels_last, p, values, nullptr);
}

}  // namespace

ShimError aoti_torch_cpu__adaptive_avg_pool2d(ModelTensor* self, const std::int64_t* output_size,
                                              std::int64_t output_size_len,
                                              ModelTensor** ret0) noexcept {
  return shim_call("_adaptive_avg_pool2d", [&] {
    return adaptive<Average>(*self, 2, as_sizes(output_size, output_size_len), ret0, nullptr);
  });
}

ShimError aoti_torch_cpu__adaptive_avg_pool3d(ModelTensor* self, const std::int64_t* output_size,
                                              std::int64_t output_size_len,
                                              ModelTensor** ret0) noexcept {
  return shim_call("_adaptive_avg_pool3d", [&] {
    return adaptive<Average>(*self, 3, as_sizes(output_size, output_size_len), ret0, nullptr);
  });
}

ShimError aoti_torch_cpu_adaptive_max_pool2d(ModelTensor* self, const std::int64_t* output_size,
                                             std::int64_t output_size_len, ModelTensor** ret0,
                                             ModelTensor** ret1) noexcept {
  return shim_call("adaptive_max_pool2d", [&] {
    return adaptive<Most>(*self, 2, as_sizes(output_size, output_size_len), ret0, ret1);
  });
}

ShimError aoti_torch_cpu_adaptive_max_pool3d(ModelTensor* self, const std::int64_t* output_size,
                                             std::int64_t output_size_len, ModelTensor** ret0,
                                             ModelTensor** ret1) noexcept {
  return shim_call("adaptive_max_pool3d", [&] {
    return adaptive<Most>(*self, 3, as_sizes(output_size, output_size_len), ret0, ret1);
  });
}

ShimError aoti_torch_cpu_max_pool2d_with_indices(
    ModelTensor* self, const std::int64_t* kernel_size, std::int64_t kernel_size_len,
    const std::int64_t* stride, std::int64_t stride_len, const std::int64_t* padding,
    std::int64_t padding_len, const std::int64_t* dilation, std::int64_t dilation_len,
    std::int32_t ceil_mode, ModelTensor** ret0, ModelTensor** ret1) noexcept {
  return shim_call("max_pool2d_with_indices", [&] {
    return max_pool(*self, 2, as_sizes(kernel_size, kernel_size_len), as_sizes(stride, stride_len),
                    as_sizes(padding, padding_len), as_sizes(dilation, dilation_len),
                    ceil_mode != 0, ret0, ret1);
  });
}

ShimError aoti_torch_cpu_max_pool3d_with_indices(
    ModelTensor* self, const std::int64_t* kernel_size, std::int64_t kernel_size_len,
    const std::int64_t* stride, std::int64_t stride_len, const std::int64_t* padding,
    std::int64_t padding_len, const std::int64_t* dilation, std::int64_t dilation_len,
    std::int32_t ceil_mode, ModelTensor** ret0, ModelTensor** ret1) noexcept {
  return shim_call("max_pool3d_with_indices", [&] {
    return max_pool(*self, 3, as_sizes(kernel_size, kernel_size_len), as_sizes(stride, stride_len),
                    as_sizes(padding, padding_len), as_sizes(dilation, dilation_len),
                    ceil_mode != 0, ret0, ret1);
  });
}

ShimError aoti_torch_cpu_avg_pool2d(ModelTensor* self, const std::int64_t* kernel_size,
                                    std::int64_t kernel_size_len, const std::int64_t* stride,
                                    std::int64_t stride_len, const std::int64_t* padding,
                                    std::int64_t padding_len, std::int32_t ceil_mode,
                                    std::int32_t count_include_pad, std::int64_t* divisor_override,
                                    ModelTensor** ret0) noexcept {
  return shim_call("avg_pool2d", [&] {
    return avg_pool(*self, 2, as_sizes(kernel_size, kernel_size_len), as_sizes(stride, stride_len),
                    as_sizes(padding, padding_len), ceil_mode != 0, count_include_pad != 0,
                    divisor_override, ret0);
  });
}

ShimError aoti_torch_cpu_avg_pool3d(ModelTensor* self, const std::int64_t* kernel_size,
                                    std::int64_t kernel_size_len, const std::int64_t* stride,
                                    std::int64_t stride_len, const std::int64_t* padding,
                                    std::int64_t padding_len, std::int32_t ceil_mode,
                                    std::int32_t count_include_pad, std::int64_t* divisor_override,
                                    ModelTensor** ret0) noexcept {
  return shim_call("avg_pool3d", [&] {
    return avg_pool(*self, 3, as_sizes(kernel_size, kernel_size_len), as_sizes(stride, stride_len),
                    as_sizes(padding, padding_len), ceil_mode != 0, count_include_pad != 0,
                    divisor_override, ret0);
  });
}

}  // namespace tenon::cpu_aoti
