// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <utility>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

// Random numbers have PyTorch's distributions, not its values: each thread has its own generator,
// seeded by the system, and the seed cannot be set. A compiled model usually makes most numbers
// with its own code and draws their seeds here, but bernoulli_ and randperm are always called; the
// others are when the model was compiled with Inductor's fallback_random.
namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

/// Philox4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a
/// block cipher over a counter.
class Philox {
 public:
  Philox() {
    std::random_device device;
    for (std::uint32_t& word : key_) word = device();
    for (std::uint32_t& word : counter_) word = device();
  }

  std::uint64_t next() noexcept {
    if (left_ == 0) {
      fill();
      left_ = 2;
    }
    --left_;
    return block_[left_];
  }

 private:
  void fill() noexcept {
    std::array<std::uint32_t, 4> x = counter_;
    std::array<std::uint32_t, 2> key = key_;
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53u} * x[0];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * x[2];
      x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ key[0], static_cast<std::uint32_t>(b),
           static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ key[1], static_cast<std::uint32_t>(a)};
      key[0] += 0x9E3779B9u;
      key[1] += 0xBB67AE85u;
    }
    block_ = {std::uint64_t{x[0]} << 32 | x[1], std::uint64_t{x[2]} << 32 | x[3]};
    for (std::uint32_t& word : counter_) {
      if (++word != 0) break;
    }
  }

  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint64_t, 2> block_{};
  std::size_t left_ = 0;
};

Philox& generator() {
  thread_local Philox philox;
  return philox;
}

/// Uniform in [0, 1), with as many bits as T holds, so that no number rounds to 1.
template <class T>
[[nodiscard]] double uniform(Philox& source) noexcept {
  constexpr int digits = std::is_same_v<T, BFloat16> ? 8
                         : std::is_same_v<T, Half>   ? 11
                         : std::is_same_v<T, float>  ? 24
                                                     : 53;
  return std::ldexp(static_cast<double>(source.next() >> (64 - digits)), -digits);
}

/// Uniform in (0, 1), without the ends, so that its logarithm is neither 0 nor infinite.
[[nodiscard]] double inner_uniform(Philox& source) noexcept {
  return std::ldexp(static_cast<double>(source.next() >> 12) + 0.5, -52);
}

/// Two independent numbers of the normal distribution (Box and Muller).
[[nodiscard]] std::pair<double, double> normal(Philox& source) noexcept {
  const double radius = std::sqrt(-2 * std::log(1 - uniform<double>(source)));
  const double angle = 2 * std::numbers::pi * uniform<double>(source);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

template <class Body>
Status make(Sizes size, const std::int32_t* dtype, ScalarType usual, ModelTensor** result,
            Body&& fill) {
  TENON_TRY(OwnedTensor out,
            new_tensor(size, nullptr, dtype ? static_cast<ScalarType>(*dtype) : usual));
  TENON_RETURN_IF_ERROR(fill(*out));
  *result = out.take();
  return ok();
}

Status fill_uniform(const ModelTensor& out) {
  return with_real_type(out.scalar_type, [&]<class T>(T) {
    Philox& source = generator();
    for (std::int64_t i = 0; i < out.numel; ++i) out.as<T>()[i] = narrow<T>(uniform<T>(source));
    return ok();
  });
}

// The distributions below are computed in double and rounded to the type of the result once:
// numbers of 8 bits, as a BFloat16 has, are too few to make others of.

/// Uniform in [from, to), both rounded to the type of the result first, as PyTorch does.
Status fill_between(const ModelTensor& out, double from, double to) {
  return with_real_type(out.scalar_type, [&]<class T>(T) -> Status {
    const auto low = static_cast<double>(widen(narrow<T>(from)));
    const auto high = static_cast<double>(widen(narrow<T>(to)));
    if (!std::isfinite(high - low)) {
      return error(Error::InvalidArgument, "numbers from ", from, " to below ", to,
                   ": expected a range that is finite in ", name_of(out.scalar_type));
    }
    Philox& source = generator();
    for (std::int64_t i = 0; i < out.numel; ++i) {
      T value{};
      do {
        value = narrow<T>(low + uniform<double>(source) * (high - low));
        // Rounding may reach the end, which is excluded. It does so for at most half of the draws.
      } while (low < high && !(static_cast<double>(widen(value)) < high));
      out.as<T>()[i] = value;
    }
    return ok();
  });
}

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
    Philox& source = generator();
    for (std::int64_t i = 0; i < out.numel; ++i) {
      const T value = narrow<T>(-std::log(inner_uniform(source)) / rate);
      out.as<T>()[i] = widen(value) > widen(least) ? value : least;
    }
    return ok();
  });
}

Status fill_normal(const ModelTensor& out, double mean, double deviation) {
  return with_real_type(out.scalar_type, [&]<class T>(T) {
    Philox& source = generator();
    T* to = out.as<T>();
    for (std::int64_t i = 0; i < out.numel; i += 2) {
      const auto [a, b] = normal(source);
      to[i] = narrow<T>(mean + a * deviation);
      if (i + 1 < out.numel) to[i + 1] = narrow<T>(mean + b * deviation);
    }
    return ok();
  });
}

Status fill_standard_normal(const ModelTensor& out) { return fill_normal(out, 0, 1); }

/// Whole numbers from `low` to below `high`. The remainder favours small numbers by less than one
/// part in 2^64 / (high - low), as PyTorch's does.
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
    Philox& source = generator();
    for_positions<1>(out.shape(), no_dim, {out.strides.data()}, [&](const auto& at) {
      const std::uint64_t value = static_cast<std::uint64_t>(low) + source.next() % range;
      out.as<T>()[at[0]] = narrow<T>(static_cast<std::int64_t>(value));
    });
    return ok();
  });
}

/// 0 to n - 1 in random order (Fisher and Yates).
Status fill_permutation(const ModelTensor& out) {
  return with_type(out.scalar_type, [&]<class T>(T) {
    Philox& source = generator();
    T* to = out.as<T>();
    for (std::int64_t i = 0; i < out.numel; ++i) to[i] = narrow<T>(i);
    for (std::int64_t i = out.numel; i > 1; --i) {
      const std::uint64_t other = source.next() % static_cast<std::uint64_t>(i);
      std::swap(to[i - 1], to[other]);
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

/// 1 with probability `p`, which is read at each position, else 0.
template <class Chance>
Status fill_chances(const ModelTensor& self, const Dims& p_strides, const Chance& chance) {
  Status failure;
  TENON_RETURN_IF_ERROR(with_type(self.scalar_type, [&]<class T>(T) {
    Philox& source = generator();
    for_positions<2>(self.shape(), no_dim, {self.strides.data(), p_strides.data()},
                     [&](const auto& at) {
                       const double p = chance(at[1]);
                       if (Status bad = check_chance(p); !bad.ok() && failure.ok()) {
                         failure = std::move(bad);
                       }
                       const std::int64_t hit = uniform<double>(source) < p ? 1 : 0;
                       self.as<T>()[at[0]] = narrow<T>(hit);
                     });
    return ok();
  }));
  return failure;
}

/// A tensor with the sizes of `self`, of its type unless another is given.
template <class Body>
Status make_like(const ModelTensor& self, const std::int32_t* dtype, ModelTensor** result,
                 Body&& fill) {
  return make(self.shape(), dtype, self.scalar_type, result, std::forward<Body>(fill));
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
      return fill_chances(*self, strides, [&](std::int64_t at) {
        return static_cast<double>(widen(p->as<const T>()[at]));
      });
    });
  });
}

ShimError aoti_torch_cpu_rand_like(ModelTensor* self, std::int32_t* dtype, std::int32_t*,
                                   std::int32_t*, std::int32_t, std::int32_t*, std::int32_t*,
                                   ModelTensor** ret0) noexcept {
  return shim_call("rand_like", [&] { return make_like(*self, dtype, ret0, fill_uniform); });
}

ShimError aoti_torch_cpu_randn_like(ModelTensor* self, std::int32_t* dtype, std::int32_t*,
                                    std::int32_t*, std::int32_t, std::int32_t*, std::int32_t*,
                                    ModelTensor** ret0) noexcept {
  return shim_call("randn_like",
                   [&] { return make_like(*self, dtype, ret0, fill_standard_normal); });
}

ShimError aoti_torch_cpu_randint_like(ModelTensor* self, std::int64_t high, std::int32_t* dtype,
                                      std::int32_t*, std::int32_t*, std::int32_t, std::int32_t*,
                                      std::int32_t*, ModelTensor** ret0) noexcept {
  return shim_call("randint_like", [&] {
    return make_like(*self, dtype, ret0,
                     [&](const ModelTensor& out) { return fill_integers(out, 0, high); });
  });
}

ShimError aoti_torch_cpu_randint_like_low_dtype(ModelTensor* self, std::int64_t low,
                                                std::int64_t high, std::int32_t* dtype,
                                                std::int32_t*, std::int32_t*, std::int32_t,
                                                std::int32_t*, std::int32_t*,
                                                ModelTensor** ret0) noexcept {
  return shim_call("randint_like_low_dtype", [&] {
    return make_like(*self, dtype, ret0,
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
    return make_like(*self, nullptr, ret0,
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
    return make_like(*self, nullptr, ret0,
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
    return make_like(*self, nullptr, ret0,
                     [&](const ModelTensor& out) { return fill_exponential(out, lambd); });
  });
}

ShimError aoti_torch_cpu_native_dropout(ModelTensor* input, double p, std::int32_t* train,
                                        ModelTensor** ret0, ModelTensor** ret1) noexcept {
  return shim_call("native_dropout",
                   [&] { return drop_out(*input, p, !train || *train != 0, ret0, ret1); });
}

}  // namespace tenon::cpu_aoti
