// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>

#include "kernels/elements.hpp"
#include "kernels/generator.hpp"
#include "kernels/kernel_list.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

// With a seed, uniform numbers, whole numbers and permutations are PyTorch's, bit for bit; normal
// numbers where the C library's logarithm, sine and cosine are those that PyTorch was run with.
// PyTorch draws bernoulli with one probability, dropout and exponential with MKL's own generators;
// here they have its distributions alone. A compiled model usually makes most numbers with its own
// code and draws their seeds here, but bernoulli_ and randperm are always called; the others are
// when the model was compiled with Inductor's fallback_random.
namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

Generator& generator() { return aoti::current_pool().cache<Generator>(); }

/// Uniform in (0, 1), without the ends, so that its logarithm is neither 0 nor infinite.
[[nodiscard]] double inner_uniform(Generator& source) {
  return std::ldexp(static_cast<double>(source.two_words() >> 12) + 0.5, -52);
}

/// A tensor without gaps, which `fill` fills in the order of memory; null strides mean contiguous.
template <class Body>
Status make(Sizes size, const std::int32_t* dtype, ScalarType usual, ModelTensor** result,
            Body&& fill, const std::int64_t* strides = nullptr) {
  TENON_TRY(OwnedTensor out,
            new_tensor(size, strides, dtype ? static_cast<ScalarType>(*dtype) : usual));
  TENON_RETURN_IF_ERROR(fill(*out));
  *result = out.take();
  return ok();
}

/// Uniform in [from, to): computed in the wide type, and the end, which rounding may reach, is
/// replaced by the beginning.
Status fill_between(const ModelTensor& out, double from, double to) {
  return with_real_type(out.scalar_type, [&]<class T>(T) -> Status {
    const auto low = static_cast<Wide<T>>(from);
    const auto high = static_cast<Wide<T>>(to);
    const T first = narrow<T>(from);
    const Wide<T> end = widen(narrow<T>(to));
    if (!std::isfinite(high - low) || !std::isfinite(end - widen(first))) {
      return error(Error::InvalidArgument, "numbers from ", from, " to below ", to,
                   ": expected a range that is finite in ", name_of(out.scalar_type));
    }
    Generator& source = generator();
    for (std::int64_t i = 0; i < out.numel; ++i) {
      // PyTorch's compiler contracts it.
      const T value = narrow<T>(std::fma(source.uniform<Wide<T>>(), high - low, low));
      out.as<T>()[i] = widen(value) == end ? first : value;
    }
    return ok();
  });
}

Status fill_uniform(const ModelTensor& out) { return fill_between(out, 0, 1); }

/// The distribution of the time to the next event of `rate`. Never 0: samplers of tokens divide by
/// these numbers. A number that rounds to 0 becomes the smallest one that does not, of those that
/// are no subnormal number where T is computed, because compiled code may take such a one as 0.
Status fill_exponential(const ModelTensor& out, double rate) {
  return with_real_type(out.scalar_type, [&]<class T>(T) {
    T least{};
    if constexpr (std::is_same_v<T, Half>) {
      least.bits = 1;
    } else {
      least = narrow<T>(std::numeric_limits<Wide<T>>::min());
    }
    Generator& source = generator();
    for (std::int64_t i = 0; i < out.numel; ++i) {
      const T value = narrow<T>(-std::log(inner_uniform(source)) / rate);
      out.as<T>()[i] = widen(value) > widen(least) ? value : least;
    }
    return ok();
  });
}

bool is_contiguous(const ModelTensor& tensor) noexcept {
  Dims usual{};
  aoti::contiguous_strides(tensor.shape(), usual);
  for (std::size_t d = 0; d < static_cast<std::size_t>(tensor.rank); ++d) {
    if (tensor.sizes[d] > 1 && tensor.strides[d] != usual[d]) return false;
  }
  return true;
}

/// 16 numbers of a normal distribution made of 16 uniform ones (Box and Muller).
template <class Key>
void make_normal(std::array<Key, 16>& numbers, Key mean, Key deviation) {
  for (std::size_t i = 0; i < 8; ++i) {
    const Key radius = std::sqrt(-2 * std::log(1 - numbers[i]));
    const auto angle = static_cast<Key>(2 * std::numbers::pi * static_cast<double>(numbers[i + 8]));
    numbers[i] = std::fma(radius * std::cos(angle), deviation, mean);
    numbers[i + 8] = std::fma(radius * std::sin(angle), deviation, mean);
  }
}

Status fill_normal(const ModelTensor& out, double mean, double deviation) {
  return with_real_type(out.scalar_type, [&]<class T>(T) {
    using Key = Wide<T>;
    constexpr std::int64_t block = 16;
    Generator& source = generator();
    T* const to = out.as<T>();
    const std::int64_t size = out.numel;
    // PyTorch makes blocks for the default layout alone.
    if (size < block || !is_contiguous(out)) {
      for (std::int64_t i = 0; i < size; ++i) to[i] = narrow<T>(source.normal() * deviation + mean);
      return ok();
    }
    std::array<Key, block> numbers{};
    const auto fill = [&](std::int64_t at) {
      for (Key& number : numbers) number = source.uniform<Key>();
      make_normal(numbers, static_cast<Key>(mean), static_cast<Key>(deviation));
      std::ranges::transform(numbers, to + at, narrow<T, Key>);
    };
    std::int64_t at = 0;
    for (; at + block <= size; at += block) fill(at);
    if (at == size) return ok();
    if constexpr (std::is_same_v<T, Key>) {
      // PyTorch has drawn uniform numbers for all elements of this type first.
      for (; at < size; ++at) static_cast<void>(source.uniform<Key>());
    }
    fill(size - block);
    return ok();
  });
}

Status fill_standard_normal(const ModelTensor& out) { return fill_normal(out, 0, 1); }

/// Whole numbers from `low` to below `high`. The remainder favours small numbers, by one part in 16
/// at most, as PyTorch's does.
Status fill_integers(const ModelTensor& out, std::int64_t low, std::int64_t high) {
  if (low >= high) {
    return error(Error::InvalidArgument, "numbers from ", low, " to below ", high,
                 ": expected a larger end");
  }
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  return with_type(out.scalar_type, [&]<class T>(T) -> Status {
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      if (low < static_cast<std::int64_t>(Limits::min()) ||
          high - 1 > static_cast<std::int64_t>(Limits::max())) {
        return error(Error::InvalidArgument, "numbers from ", low, " to below ", high,
                     ": expected some that fit into ", name_of(out.scalar_type));
      }
    }
    Generator& source = generator();
    constexpr std::uint64_t most_of_a_word = std::uint64_t{1} << 28;
    const auto draw = [&](T& element) {
      const std::uint64_t drawn = range >= most_of_a_word ? source.two_words() : source.word();
      const std::uint64_t value = static_cast<std::uint64_t>(low) + drawn % range;
      element = narrow<T>(static_cast<std::int64_t>(value));
    };
    if (is_dense(out)) {
      // PyTorch draws in the order of memory.
      std::for_each_n(out.as<T>(), out.numel, draw);
    } else {
      for_positions<1>(out.shape(), no_dim, {out.strides.data()},
                       [&](const auto& at) { draw(out.as<T>()[at[0]]); });
    }
    return ok();
  });
}

/// 0 to n - 1 in random order (Fisher and Yates).
Status fill_permutation(const ModelTensor& out) {
  return with_type(out.scalar_type, [&]<class T>(T) {
    Generator& source = generator();
    T* to = out.as<T>();
    for (std::int64_t i = 0; i < out.numel; ++i) to[i] = narrow<T>(i);
    for (std::int64_t i = 0; i + 1 < out.numel; ++i) {
      const auto left = static_cast<std::uint64_t>(out.numel - i);
      std::swap(to[i], to[static_cast<std::uint64_t>(i) + source.word() % left]);
    }
    return ok();
  });
}

Status no_generator(void* const* given) {
  if (!given) return ok();
  return error(Error::NotSupported, "a generator was given: expected none");
}

Status check_chance(double p) {
  if (p >= 0 && p <= 1) return ok();
  return error(Error::InvalidArgument, "a probability ", p, ": expected 0 to 1");
}

/// 1 with a probability that is read at each position, as a float or a double, else 0.
template <class Chance>
Status fill_chances(const ModelTensor& self, const Dims& p_strides, const Chance& chance) {
  Status failure;
  TENON_RETURN_IF_ERROR(with_type(self.scalar_type, [&]<class T>(T) {
    Generator& source = generator();
    for_positions<2>(
        self.shape(), no_dim, {self.strides.data(), p_strides.data()}, [&](const auto& at) {
          const auto p = chance(at[1]);
          if (Status bad = check_chance(p); !bad.ok() && failure.ok()) {
            failure = std::move(bad);
          }
          const std::int64_t hit = source.uniform<std::decay_t<decltype(p)>>() < p ? 1 : 0;
          self.as<T>()[at[0]] = narrow<T>(hit);
        });
    return ok();
  }));
  return failure;
}

/// A tensor with the sizes of `self`, of its type unless another is given, and laid out like it
/// unless `format` (PyTorch's MemoryFormat) is the contiguous one.
template <class Body>
Status make_like(const ModelTensor& self, const std::int32_t* dtype, const std::int32_t* format,
                 ModelTensor** result, Body&& fill) {
  constexpr std::int32_t contiguous = 0, preserve = 1;
  if (format && *format != contiguous && *format != preserve) {
    return error(Error::NotSupported, "memory format ", *format,
                 ": expected 0 (contiguous) or 1 (preserve)");
  }
  const bool is_usual = format && *format == contiguous;
  const Dims strides = dense_strides_like(self);
  return make(self.shape(), dtype, self.scalar_type, result, std::forward<Body>(fill),
              is_usual ? nullptr : strides.data());
}

/// `input` divided by the chance to be kept, or 0, and which elements were kept.
Status drop_out(const ModelTensor& input, double p, bool train, ModelTensor** ret0,
                ModelTensor** ret1) {
  TENON_RETURN_IF_ERROR(check_chance(p));
  const Dims strides = dense_strides_like(input);
  TENON_TRY(OwnedTensor out, new_tensor(input.shape(), strides.data(), input.scalar_type));
  TENON_TRY(OwnedTensor kept, new_tensor(input.shape(), strides.data(), ScalarType::Bool));
  const double chance = train ? 1 - p : 1;
  const double factor = chance > 0 ? 1 / chance : 0;
  TENON_RETURN_IF_ERROR(fill_chances(*kept, Dims{}, [&](std::int64_t) { return chance; }));
  TENON_RETURN_IF_ERROR(with_real_type(input.scalar_type, [&]<class T>(T) {
    for_positions<2>(input.shape(), no_dim, {input.strides.data(), strides.data()},
                     [&](const auto& at) {
                       const double keep = kept->template as<Bool>()[at[1]].byte != 0 ? factor : 0;
                       const auto value = static_cast<double>(widen(input.as<const T>()[at[0]]));
                       out->template as<T>()[at[1]] = narrow<T>(value * keep);
                     });
    return ok();
  }));
  *ret0 = out.take();
  *ret1 = kept.take();
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu_rand(const std::int64_t* size, std::int64_t size_len, std::int32_t* dtype,
                              std::int32_t*, std::int32_t*, std::int32_t, std::int32_t*,
                              ModelTensor** ret0) noexcept {
  return shim_call("rand", [&] {
    return make(as_sizes(size, size_len), dtype, ScalarType::Float, ret0, fill_uniform);
  });
}

ShimError aoti_torch_cpu_randn(const std::int64_t* size, std::int64_t size_len, std::int32_t* dtype,
                               std::int32_t*, std::int32_t*, std::int32_t, std::int32_t*,
                               ModelTensor** ret0) noexcept {
  return shim_call("randn", [&] {
    return make(as_sizes(size, size_len), dtype, ScalarType::Float, ret0, fill_standard_normal);
  });
}

ShimError aoti_torch_cpu_randint(std::int64_t high, const std::int64_t* size, std::int64_t size_len,
                                 std::int32_t* dtype, std::int32_t*, std::int32_t*, std::int32_t,
                                 std::int32_t*, ModelTensor** ret0) noexcept {
  return shim_call("randint", [&] {
    return make(as_sizes(size, size_len), dtype, ScalarType::Long, ret0,
                [&](const ModelTensor& out) { return fill_integers(out, 0, high); });
  });
}

ShimError aoti_torch_cpu_randint_low(std::int64_t low, std::int64_t high, const std::int64_t* size,
                                     std::int64_t size_len, std::int32_t* dtype, std::int32_t*,
                                     std::int32_t*, std::int32_t, std::int32_t*,
                                     ModelTensor** ret0) noexcept {
  return shim_call("randint_low", [&] {
    return make(as_sizes(size, size_len), dtype, ScalarType::Long, ret0,
                [&](const ModelTensor& out) { return fill_integers(out, low, high); });
  });
}

ShimError aoti_torch_cpu_randint_low_out(ModelTensor* out, std::int64_t low, std::int64_t high,
                                         const std::int64_t* size, std::int64_t size_len) noexcept {
  return shim_call("randint_low_out", [&]() -> Status {
    if (!std::ranges::equal(out->shape(), as_sizes(size, size_len))) {
      return error(Error::InvalidArgument, "a result ", shape_text(out->shape()), ": expected ",
                   shape_text(as_sizes(size, size_len)));
    }
    return fill_integers(*out, low, high);
  });
}

ShimError aoti_torch_cpu_randperm(std::int64_t n, std::int32_t* dtype, std::int32_t*, std::int32_t*,
                                  std::int32_t, std::int32_t*, ModelTensor** ret0) noexcept {
  return shim_call("randperm", [&] {
    return make(Sizes(&n, 1), dtype, ScalarType::Long, ret0, fill_permutation);
  });
}

ShimError aoti_torch_cpu_bernoulli__float(ModelTensor* self, double p, void** generator) noexcept {
  return shim_call("bernoulli__float", [&]() -> Status {
    TENON_RETURN_IF_ERROR(no_generator(generator));
    TENON_RETURN_IF_ERROR(check_chance(p));
    return fill_chances(*self, Dims{}, [&](std::int64_t) { return p; });
  });
}

ShimError aoti_torch_cpu_bernoulli__Tensor(ModelTensor* self, ModelTensor* p,
                                           void** generator) noexcept {
  return shim_call("bernoulli__Tensor", [&]() -> Status {
    TENON_RETURN_IF_ERROR(no_generator(generator));
    Dims strides{};
    if (!broadcast_strides(*p, self->shape(), strides)) {
      return error(Error::InvalidArgument, "probabilities ", shape_text(p->shape()),
                   ": expected some that broadcast to ", shape_text(self->shape()));
    }
    return with_real_type(p->scalar_type, [&]<class T>(T) {
      return fill_chances(*self, strides,
                          [&](std::int64_t at) { return widen(p->as<const T>()[at]); });
    });
  });
}

ShimError aoti_torch_cpu_rand_like(ModelTensor* self, std::int32_t* dtype, std::int32_t*,
                                   std::int32_t*, std::int32_t, std::int32_t*, std::int32_t* format,
                                   ModelTensor** ret0) noexcept {
  return shim_call("rand_like",
                   [&] { return make_like(*self, dtype, format, ret0, fill_uniform); });
}

ShimError aoti_torch_cpu_randn_like(ModelTensor* self, std::int32_t* dtype, std::int32_t*,
                                    std::int32_t*, std::int32_t, std::int32_t*,
                                    std::int32_t* format, ModelTensor** ret0) noexcept {
  return shim_call("randn_like",
                   [&] { return make_like(*self, dtype, format, ret0, fill_standard_normal); });
}

ShimError aoti_torch_cpu_randint_like(ModelTensor* self, std::int64_t high, std::int32_t* dtype,
                                      std::int32_t*, std::int32_t*, std::int32_t, std::int32_t*,
                                      std::int32_t* format, ModelTensor** ret0) noexcept {
  return shim_call("randint_like", [&] {
    return make_like(*self, dtype, format, ret0,
                     [&](const ModelTensor& out) { return fill_integers(out, 0, high); });
  });
}

ShimError aoti_torch_cpu_randint_like_low_dtype(ModelTensor* self, std::int64_t low,
                                                std::int64_t high, std::int32_t* dtype,
                                                std::int32_t*, std::int32_t*, std::int32_t,
                                                std::int32_t*, std::int32_t* format,
                                                ModelTensor** ret0) noexcept {
  return shim_call("randint_like_low_dtype", [&] {
    return make_like(*self, dtype, format, ret0,
                     [&](const ModelTensor& out) { return fill_integers(out, low, high); });
  });
}

ShimError aoti_torch_cpu_uniform(ModelTensor* self, double from, double to, void** generator,
                                 ModelTensor** ret0) noexcept {
  return shim_call("uniform", [&]() -> Status {
    if (!(from <= to)) {
      return error(Error::InvalidArgument, "numbers from ", from, " to below ", to,
                   ": expected a larger end");
    }
    TENON_RETURN_IF_ERROR(no_generator(generator));
    return make_like(*self, nullptr, nullptr, ret0,
                     [&](const ModelTensor& out) { return fill_between(out, from, to); });
  });
}

ShimError aoti_torch_cpu_normal_functional(ModelTensor* self, double mean, double std,
                                           void** generator, ModelTensor** ret0) noexcept {
  return shim_call("normal_functional", [&]() -> Status {
    if (!(std >= 0)) {
      return error(Error::InvalidArgument, "a standard deviation ", std, ": expected at least 0");
    }
    TENON_RETURN_IF_ERROR(no_generator(generator));
    return make_like(*self, nullptr, nullptr, ret0,
                     [&](const ModelTensor& out) { return fill_normal(out, mean, std); });
  });
}

ShimError aoti_torch_cpu_exponential(ModelTensor* self, double lambd, void** generator,
                                     ModelTensor** ret0) noexcept {
  return shim_call("exponential", [&]() -> Status {
    if (!(lambd > 0)) {
      return error(Error::InvalidArgument, "a rate ", lambd, ": expected more than 0");
    }
    TENON_RETURN_IF_ERROR(no_generator(generator));
    return make_like(*self, nullptr, nullptr, ret0,
                     [&](const ModelTensor& out) { return fill_exponential(out, lambd); });
  });
}

ShimError aoti_torch_cpu_native_dropout(ModelTensor* input, double p, std::int32_t* train,
                                        ModelTensor** ret0, ModelTensor** ret1) noexcept {
  return shim_call("native_dropout",
                   [&] { return drop_out(*input, p, !train || *train != 0, ret0, ret1); });
}

}  // namespace tenon::cpu_aoti
