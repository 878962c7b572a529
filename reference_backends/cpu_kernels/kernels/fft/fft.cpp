// SPDX-License-Identifier: MIT
#include "kernels/fft/fft.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <span>

#include "kernels/elements.hpp"
#include "kernels/fft/kissfft.hpp"
#include "kernels/kernel_list.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;
using Complex = std::complex<float>;

/// The dimensions to transform, checked, in the order in which PyTorch lays out the result.
struct Axes {
  std::array<std::size_t, max_rank> of{};
  std::size_t count = 0;

  [[nodiscard]] std::span<const std::size_t> all() const noexcept {
    return std::span(of).first(count);
  }
  [[nodiscard]] bool has(std::size_t dim) const noexcept {
    return std::ranges::find(all(), dim) != all().end();
  }
  [[nodiscard]] std::size_t last() const noexcept { return of[count - 1]; }
  void drop_last() noexcept { --count; }

  /// Sorts by descending strides, those that are equal in their order, but for the last `kept`.
  void sort(const ModelTensor& self, std::size_t kept) noexcept {
    const auto end = of.begin() + static_cast<std::ptrdiff_t>(count - std::min(kept, count));
    for (auto at = of.begin(); at != end; ++at) {
      for (auto back = at; back != of.begin(); --back) {
        if (self.strides[back[-1]] >= self.strides[back[0]]) break;
        std::swap(back[-1], back[0]);
      }
    }
  }
};

Result<Axes> read_axes(const ModelTensor& self, Sizes dims) {
  Axes out;
  for (const std::int64_t dim : dims) {
    TENON_TRY(const std::size_t axis, wrap_dim(dim, self.rank));
    if (self.rank == 0 || out.has(axis)) {
      return error(Error::InvalidArgument, "dimension ", dim, " of ", self.rank,
                   ": expected each at most once, of a tensor with dimensions");
    }
    out.of[out.count++] = axis;
  }
  return out;
}

Status expect_type(const ModelTensor& self, ScalarType type) {
  if (self.scalar_type == type) return ok();
  return error(Error::NotSupported, "elements of ", name_of(self.scalar_type), ": expected ",
               name_of(type));
}

/// Strides of a result of `sizes` as PyTorch's transform through MKL lays it out
/// (torch/_meta_registrations.py, `_exec_fft`), which compiled code relies on: dimensions that are
/// not transformed come first, in the order of the operand's strides, then `axes` in theirs.
Dims result_strides(const ModelTensor& self, Sizes sizes, const Axes& axes) noexcept {
  Axes order;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (!axes.has(d)) order.of[order.count++] = d;
  }
  order.sort(self, 0);
  for (const std::size_t axis : axes.all()) order.of[order.count++] = axis;
  Dims out{};
  std::int64_t step = 1;
  const bool is_empty = std::ranges::find(sizes, 0) != sizes.end();
  for (std::size_t i = order.count; i-- > 0;) {
    // A result without elements is contiguous.
    const std::size_t dim = is_empty ? i : order.of[i];
    out[dim] = step;
    step = aoti::outer_stride(step, sizes[dim]);
  }
  return out;
}

double scale_of(std::int64_t scaling, double count) noexcept {
  return scaling == 1 ? 1 / std::sqrt(count) : scaling == 2 ? 1 / count : 1;
}

Result<double> read_scale(const ModelTensor& self, const Axes& axes, std::int64_t scaling,
                          std::int64_t last_size) {
  double count = 1;
  for (const std::size_t axis : axes.all()) {
    const std::int64_t size = axis == axes.last() && last_size >= 0 ? last_size : self.sizes[axis];
    if (size < 1) {
      return error(Error::InvalidArgument, "dimension ", axis, " of ", shape_text(self.shape()),
                   ": expected at least one element");
    }
    count *= static_cast<double>(size);
  }
  if (scaling < 0 || scaling > 2) {
    return error(Error::InvalidArgument, "normalization ", scaling, ": expected 0, 1 or 2");
  }
  return scale_of(scaling, count);
}

/// Two lines of complex numbers, one to read and one to write.
struct LineBuffers {
  Scratch memory;
  std::size_t size;
  [[nodiscard]] Complex* from() const noexcept { return memory.as<Complex>(); }
  [[nodiscard]] Complex* to() const noexcept { return memory.as<Complex>() + size; }
};

/// Transforms each line of `from` along `axis` to one of `to`. A line has `size` numbers: `read`
/// takes the address of a line and fills them in, `write` gets the result.
template <class Read, class Write>
Status transform_lines(const ModelTensor& from, const ModelTensor& to, std::size_t axis,
                       std::int64_t size, bool inverse, const Read& read, const Write& write) {
  TENON_TRY(const FftPlan* plan, aoti::current_pool().cache<FftPlans>().find(size, inverse));
  TENON_TRY(Scratch memory, Scratch::of(2 * size * static_cast<std::int64_t>(sizeof(Complex))));
  const LineBuffers lines{std::move(memory), static_cast<std::size_t>(size)};
  for_positions<2>(from.shape(), axis, {from.strides.data(), to.strides.data()},
                   [&](const auto& at) {
                     read(at[0], lines.from());
                     plan->run(lines.from(), lines.to());
                     write(at[1], lines.to());
                   });
  return ok();
}

/// Transforms complex numbers along one axis, from one tensor to another or in place.
Status transform_axis(const ModelTensor& from, const ModelTensor& to, std::size_t axis,
                      bool inverse, float scale) {
  const std::int64_t size = from.sizes[axis];
  return transform_lines(
      from, to, axis, size, inverse,
      [&](std::int64_t at, Complex* line) {
        const auto* const elements = from.as<const Complex>() + at;
        for (std::int64_t i = 0; i < size; ++i) line[i] = elements[i * from.strides[axis]];
      },
      [&](std::int64_t at, const Complex* line) {
        auto* const elements = to.as<Complex>() + at;
        for (std::int64_t i = 0; i < size; ++i) elements[i * to.strides[axis]] = line[i] * scale;
      });
}

/// The complex transform along `axes`, the last one first.
Result<OwnedTensor> transform(const ModelTensor& self, const Axes& axes, bool inverse,
                              double scale) {
  const Dims strides = result_strides(self, self.shape(), axes);
  TENON_TRY(OwnedTensor out, new_tensor(self.shape(), strides.data(), ScalarType::ComplexFloat));
  if (self.numel == 0) return out;
  for (std::size_t i = axes.count; i-- > 0;) {
    const ModelTensor& from = i + 1 == axes.count ? self : *out;
    const float factor = i == 0 ? static_cast<float>(scale) : 1;
    TENON_RETURN_IF_ERROR(transform_axis(from, *out, axes.of[i], inverse, factor));
  }
  return out;
}

Status transform_complex(const ModelTensor& self, Sizes dims, std::int64_t scaling, bool forward,
                         ModelTensor** ret0) {
  TENON_RETURN_IF_ERROR(expect_type(self, ScalarType::ComplexFloat));
  TENON_TRY(Axes axes, read_axes(self, dims));
  TENON_TRY(const double scale, read_scale(self, axes, scaling, -1));
  if (axes.count == 0) {
    const Dims strides = dense_strides_like(self);
    TENON_TRY(OwnedTensor out, new_tensor(self.shape(), strides.data(), self.scalar_type));
    copy_strided(self.shape(), sizeof(Complex), {out->data, strides.data()},
                 {self.data, self.strides.data()});
    *ret0 = out.take();
    return ok();
  }
  axes.sort(self, 0);
  TENON_TRY(OwnedTensor out, transform(self, axes, !forward, scale));
  *ret0 = out.take();
  return ok();
}

Status transform_real(const ModelTensor& self, Sizes dims, std::int64_t scaling, bool onesided,
                      ModelTensor** ret0) {
  TENON_RETURN_IF_ERROR(expect_type(self, ScalarType::Float));
  TENON_TRY(Axes axes, read_axes(self, dims));
  if (axes.count == 0) {
    return error(Error::InvalidArgument, "no dimensions: expected at least one");
  }
  TENON_TRY(const double scale, read_scale(self, axes, scaling, -1));
  axes.sort(self, 1);
  const std::size_t last = axes.last();
  const std::int64_t size = self.sizes[last];
  Dims sizes = self.sizes;
  if (onesided) sizes[last] = size / 2 + 1;
  const Sizes shape = Sizes(sizes).first(static_cast<std::size_t>(self.rank));
  const Dims strides = result_strides(self, shape, axes);
  TENON_TRY(OwnedTensor out, new_tensor(shape, strides.data(), ScalarType::ComplexFloat));
  if (out->numel != 0) {
    const float factor = axes.count == 1 ? static_cast<float>(scale) : 1;
    TENON_RETURN_IF_ERROR(transform_lines(
        self, *out, last, size, false,
        [&](std::int64_t at, Complex* line) {
          const auto* const elements = self.as<const float>() + at;
          for (std::int64_t i = 0; i < size; ++i) line[i] = elements[i * self.strides[last]];
        },
        [&](std::int64_t at, const Complex* line) {
          auto* const elements = out->as<Complex>() + at;
          for (std::int64_t i = 0; i < sizes[last]; ++i) {
            elements[i * strides[last]] = line[i] * factor;
          }
        }));
    for (std::size_t i = axes.count - 1; i-- > 0;) {
      TENON_RETURN_IF_ERROR(
          transform_axis(*out, *out, axes.of[i], false, i == 0 ? static_cast<float>(scale) : 1));
    }
  }
  *ret0 = out.take();
  return ok();
}

}  // namespace

Status transform_to_real(const ModelTensor& self, Sizes dims, std::int64_t scaling,
                         std::int64_t last_size, OwnedTensor& out) {
  TENON_RETURN_IF_ERROR(expect_type(self, ScalarType::ComplexFloat));
  TENON_TRY(Axes axes, read_axes(self, dims));
  if (axes.count == 0 || last_size < 1 || self.sizes[axes.last()] < last_size / 2 + 1) {
    return error(Error::InvalidArgument, axes.count, " dimensions of ", shape_text(self.shape()),
                 ", to ", last_size,
                 " elements: expected at least one dimension, and more than half of the elements");
  }
  TENON_TRY(const double scale, read_scale(self, axes, scaling, last_size));
  const std::size_t last = axes.last();
  Axes others = axes;
  others.drop_last();
  OwnedTensor between(nullptr);
  const ModelTensor* from = &self;
  if (others.count != 0) {
    others.sort(self, 0);
    TENON_TRY(between, transform(self, others, true, 1));
    from = &*between;
  }
  Axes only;
  only.of[only.count++] = last;
  Dims sizes = self.sizes;
  sizes[last] = last_size;
  const Sizes shape = Sizes(sizes).first(static_cast<std::size_t>(self.rank));
  const Dims strides = result_strides(*from, shape, only);
  TENON_TRY(out, new_tensor(shape, strides.data(), ScalarType::Float));
  if (out->numel == 0) return ok();
  const auto factor = static_cast<float>(scale);
  return transform_lines(
      *from, *out, last, last_size, true,
      [&](std::int64_t at, Complex* line) {
        const auto* const elements = from->as<const Complex>() + at;
        const std::int64_t step = from->strides[last];
        // The second half of the spectrum of real numbers is the conjugate of the first.
        for (std::int64_t i = 0; i <= last_size / 2; ++i) line[i] = elements[i * step];
        for (std::int64_t i = last_size / 2 + 1; i < last_size; ++i) {
          line[i] = std::conj(line[last_size - i]);
        }
      },
      [&](std::int64_t at, const Complex* line) {
        auto* const elements = out->as<float>() + at;
        for (std::int64_t i = 0; i < last_size; ++i) {
          elements[i * strides[last]] = line[i].real() * factor;
        }
      });
}

ShimError aoti_torch_cpu__fft_c2c(ModelTensor* self, const std::int64_t* dim, std::int64_t dim_len,
                                  std::int64_t normalization, std::int32_t forward,
                                  ModelTensor** ret0) noexcept {
  return shim_call("_fft_c2c", [&] {
    return transform_complex(*self, as_sizes(dim, dim_len), normalization, forward != 0, ret0);
  });
}

ShimError aoti_torch_cpu__fft_r2c(ModelTensor* self, const std::int64_t* dim, std::int64_t dim_len,
                                  std::int64_t normalization, std::int32_t onesided,
                                  ModelTensor** ret0) noexcept {
  return shim_call("_fft_r2c", [&] {
    return transform_real(*self, as_sizes(dim, dim_len), normalization, onesided != 0, ret0);
  });
}

}  // namespace tenon::cpu_aoti
