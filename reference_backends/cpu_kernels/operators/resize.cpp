// SPDX-License-Identifier: MIT
#include "operators/resize.hpp"

#include <algorithm>
#include <cmath>

#include "common/convolution_shape.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

constexpr double support_of(ResizeFilter filter) noexcept {
  return filter == ResizeFilter::linear ? 1 : 2;
}

/// The weight at a distance in elements: a triangle, or the cubic convolution with a = -0.5.
template <class T>
T weight_at(ResizeFilter filter, T distance) noexcept {
  const T x = std::abs(distance);
  if (filter == ResizeFilter::linear) return x < 1 ? 1 - x : T{0};
  constexpr T a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : T{0};
}

/// One dimension of the images.
template <class T>
struct Axis {
  ResizeFilter filter;
  std::int64_t in;
  std::int64_t out;
  T scale;  ///< Elements of the images for one of the result.

  /// Elements that one of the result depends on: `weights` for `count` from `first` on, whose sum
  /// is 1. `weights` has room for `in`.
  void window(std::int64_t index, std::int64_t& first, std::int64_t& count,
              T* weights) const noexcept {
    const T width = std::max(scale, T{1});
    const T support = static_cast<T>(support_of(filter)) * width;
    const T center = scale * (static_cast<T>(index) + T{0.5});
    first = place_of(center - support + T{0.5});
    count = std::max<std::int64_t>(place_of(center + support + T{0.5}) - first, 0);
    T sum{};
    for (std::int64_t i = 0; i < count; ++i) {
      const T position = static_cast<T>(first + i) + T{0.5};
      weights[i] = weight_at(filter, (position - center) / width);
      sum += weights[i];
    }
    for (std::int64_t i = 0; sum != 0 && i < count; ++i) weights[i] /= sum;
  }

 private:
  /// The place of an element, from 0 to `in`, which T may have no number for.
  [[nodiscard]] std::int64_t place_of(T at) const noexcept {
    if (!(at > 0)) return 0;
    if (static_cast<double>(at) >= static_cast<double>(in)) return in;
    return std::min(static_cast<std::int64_t>(at), in);
  }
};

template <class T>
Result<Axis<T>> axis_of(const Resize& how, std::int64_t in, std::int64_t out,
                        std::optional<double> given) {
  if (in == out) return Axis<T>{how.filter, in, out, T{1}};  // Whatever the scale, as PyTorch.
  const auto elements = static_cast<double>(in);
  double scale = given && *given > 0 ? 1 / *given : elements / static_cast<double>(out);
  if (how.align_corners) scale = out > 1 ? (elements - 1) / static_cast<double>(out - 1) : 0;
  // More would be outside of the image, and may not be finite.
  if (scale >= 0 && scale <= elements) {
    return Axis<T>{how.filter, in, out, static_cast<T>(scale)};
  }
  return error(Error::InvalidArgument, "a scale of ", *given, " for ", in,
               " elements: expected a scale that leaves at least one");
}

}  // namespace

Status resize_images(const ModelTensor& images, const Resize& how, OwnedTensor& out) {
  const ScalarType type = images.scalar_type;
  if (type != ScalarType::Float && type != ScalarType::Double) {
    return error(Error::NotSupported, "images of ", name_of(type), ": expected Float or Double");
  }
  const auto no_element = [](std::int64_t size) { return size < 1; };
  if (images.rank != 4 || how.output_size.size() != 2 ||
      std::ranges::any_of(images.shape().subspan(1), no_element) ||
      std::ranges::any_of(how.output_size, no_element)) {
    return error(Error::InvalidArgument, "images ", shape_text(images.shape()), " resized to ",
                 shape_text(how.output_size),
                 ": expected four dimensions, a height and a width, of at least one element");
  }
  const std::int64_t batch = images.sizes[0], channels = images.sizes[1];
  const std::int64_t rows = how.output_size[0], columns = how.output_size[1];
  const std::int64_t shape[] = {batch, channels, rows, columns};
  TENON_TRY(out, new_tensor(shape, nullptr, type));
  if (out->numel == 0) return ok();
  if (aoti_common::is_channels_last(images)) {
    out->strides = aoti_common::channels_last_strides(shape);
  }
  const auto resize = [&]<class T>(T) -> Status {
    TENON_TRY(const Axis<T> vertical, axis_of<T>(how, images.sizes[2], rows, how.scale_height));
    TENON_TRY(const Axis<T> horizontal, axis_of<T>(how, images.sizes[3], columns, how.scale_width));
    // First each row, as PyTorch does.
    const std::int64_t narrow_shape[] = {batch, channels, vertical.in, columns};
    TENON_TRY(const OwnedTensor narrow, new_tensor(narrow_shape, nullptr, type));
    TENON_TRY(const Scratch scratch, Scratch::of(std::max(vertical.in, horizontal.in) *
                                                 static_cast<std::int64_t>(sizeof(T))));
    auto* const weights = scratch.as<T>();
    std::int64_t first = 0, count = 0;
    for (std::int64_t x = 0; x < columns; ++x) {
      horizontal.window(x, first, count, weights);
      T* to = narrow->as<T>() + x;
      for (std::int64_t n = 0; n < batch; ++n) {
        for (std::int64_t c = 0; c < channels; ++c) {
          const T* row = images.as<const T>() + n * images.strides[0] + c * images.strides[1];
          for (std::int64_t y = 0; y < vertical.in; ++y, row += images.strides[2], to += columns) {
            T sum{};
            for (std::int64_t i = 0; i < count; ++i) {
              sum += row[(first + i) * images.strides[3]] * weights[i];
            }
            *to = sum;
          }
        }
      }
    }
    const Dims& strides = out->strides;
    for (std::int64_t y = 0; y < rows; ++y) {
      vertical.window(y, first, count, weights);
      for (std::int64_t plane = 0; plane < batch * channels; ++plane) {
        const T* const from = narrow->as<T>() + (plane * vertical.in + first) * columns;
        T* const to = out->as<T>() + plane / channels * strides[0] + plane % channels * strides[1] +
                      y * strides[2];
        for (std::int64_t x = 0; x < columns; ++x) {
          T sum{};
          for (std::int64_t i = 0; i < count; ++i) sum += from[i * columns + x] * weights[i];
          to[x * strides[3]] = sum;
        }
      }
    }
    return ok();
  };
  return type == ScalarType::Float ? resize(float{}) : resize(double{});
}

}  // namespace tenon::cpu_aoti
