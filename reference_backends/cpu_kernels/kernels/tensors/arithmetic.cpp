// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

// Arithmetic that Inductor leaves to the C shim: of complex numbers, and powers of whole numbers.
namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

/// Values of complex types are their own wide type.
template <class T>
inline constexpr bool is_complex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// Like `with_type`, for complex numbers too.
template <class Body>
Status with_number_type(ScalarType type, Body&& body) {
  switch (type) {
    case ScalarType::ComplexFloat:
      return body(std::complex<float>{});
    case ScalarType::ComplexDouble:
      return body(std::complex<double>{});
    default:
      return with_type(type, std::forward<Body>(body));
  }
}

template <class T>
[[nodiscard]] auto load(T value) noexcept {
  if constexpr (is_complex<T>) {
    return value;
  } else {
    return widen(value);
  }
}

template <class T, class From>
[[nodiscard]] T store(From value) noexcept {
  if constexpr (is_complex<T> && std::is_arithmetic_v<From>) {
    return T(static_cast<typename T::value_type>(value));
  } else if constexpr (is_complex<T>) {
    return value;
  } else {
    return narrow<T>(value);
  }
}

[[nodiscard]] ScalarType real_type(ScalarType type) noexcept {
  if (type == ScalarType::ComplexFloat) return ScalarType::Float;
  return type == ScalarType::ComplexDouble ? ScalarType::Double : type;
}

/// True for types with a fraction, and for complex ones.
[[nodiscard]] bool is_floating(ScalarType type) noexcept {
  bool out = true;
  static_cast<void>(with_type(type, [&]<class T>(T) {
    out = !std::is_same_v<Wide<T>, std::int64_t>;
    return ok();
  }));
  return out;
}

/// The type of the result of two operands: one type, or complex numbers and their real type.
Result<ScalarType> common_type(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (real_type(a) == b) return a;
  if (real_type(b) == a) return b;
  return error(Error::NotSupported, "operands of ", name_of(a), " and ", name_of(b),
               ": expected one type, or complex numbers and their real type");
}

/// out[i] = function(a[i]), for elements of type From and results of type To.
template <class To, class From, class Function>
void map(const ModelTensor& a, const ModelTensor& out, const Function& function) {
  for_positions<2>(a.shape(), no_dim, {a.strides.data(), out.strides.data()}, [&](const auto& at) {
    out.as<To>()[at[1]] = store<To>(function(load(a.as<const From>()[at[0]])));
  });
}

/// The strides of an operand that decide about the layout of a pointwise result of `sizes`. PyTorch
/// converts an operand of another type first, to a tensor without gaps (`is_copied`).
[[nodiscard]] Dims layout_strides(const ModelTensor& operand, Sizes sizes,
                                  bool is_copied) noexcept {
  ModelTensor read = operand;
  if (is_copied) read.strides = dense_strides_like(operand);
  Dims strides{};
  static_cast<void>(broadcast_strides(read, sizes, strides));  // The caller broadcast it before.
  // A new dimension of one element has a stride in PyTorch's meta functions, and takes part in the
  // order.
  const auto rank = static_cast<std::size_t>(operand.rank);
  for (std::size_t d = rank > 0 ? sizes.size() - rank : 0; d-- > 0;) {
    if (sizes[d] == 1) strides[d] = sizes[d + 1] * strides[d + 1];
  }
  return strides;
}

template <class Function>
Status combine(const ModelTensor& a, const ModelTensor& b, ModelTensor** ret0,
               const Function& function) {
  TENON_TRY(const ScalarType type, common_type(a.scalar_type, b.scalar_type));
  TENON_TRY(const BroadcastPair binary, broadcast(a, b));
  const Dims a_layout = layout_strides(a, binary.shape(), a.scalar_type != type);
  const Dims b_layout = layout_strides(b, binary.shape(), b.scalar_type != type);
  const Dims strides = dense_strides(binary.shape(), {a_layout.data(), b_layout.data()});
  TENON_TRY(OwnedTensor out, new_tensor(binary.shape(), strides.data(), type));
  const auto fill = [&]<class A, class B>(A, B) {
    using T = std::conditional_t<is_complex<B>, B, A>;
    for_positions<3>(binary.shape(), no_dim,
                     {binary.a_strides.data(), binary.b_strides.data(), out->strides.data()},
                     [&](const auto& at) {
                       using Value = decltype(load(T{}));
                       out->template as<T>()[at[2]] =
                           store<T>(function(Value(load(a.as<const A>()[at[0]])),
                                             Value(load(b.as<const B>()[at[1]]))));
                     });
  };
  TENON_RETURN_IF_ERROR(with_number_type(a.scalar_type, [&]<class A>(A one) {
    if (a.scalar_type == b.scalar_type) {
      fill(one, one);
    } else if constexpr (is_complex<A>) {
      fill(one, typename A::value_type{});
    } else if constexpr (std::is_same_v<A, float> || std::is_same_v<A, double>) {
      fill(one, std::complex<A>{});
    }
    return ok();
  }));
  *ret0 = out.take();
  return ok();
}

/// A number as PyTorch's scalar of floating point, which makes a result of Float of whole numbers.
template <class Function>
Status combine_scalar(const ModelTensor& self, ModelTensor** ret0, const Function& function) {
  const ScalarType type = is_floating(self.scalar_type) ? self.scalar_type : ScalarType::Float;
  const Dims strides = dense_strides_like(self);
  TENON_TRY(OwnedTensor out, new_tensor(self.shape(), strides.data(), type));
  TENON_RETURN_IF_ERROR(with_number_type(self.scalar_type, [&]<class From>(From) {
    using Value = decltype(load(From{}));
    if constexpr (std::is_same_v<Value, std::int64_t>) {
      map<float, From>(self, *out,
                       [&](std::int64_t value) { return function(static_cast<float>(value)); });
    } else {
      map<From, From>(self, *out, function);
    }
    return ok();
  }));
  *ret0 = out.take();
  return ok();
}

/// A scalar in the type of computation.
template <class T>
[[nodiscard]] T scalar(double value) noexcept {
  if constexpr (is_complex<T>) {
    return T(static_cast<typename T::value_type>(value));
  } else {
    return narrow<T>(value);
  }
}

/// Integers wrap around, as in PyTorch.
template <class T>
[[nodiscard]] T add(T a, T b) noexcept {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
/// Complex numbers by the plain formulas, as in PyTorch: C++'s operators make some NaN infinite.
template <class T>
[[nodiscard]] T multiply(T a, T b) noexcept {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else if constexpr (is_complex<T>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return a * b;
  }
}

/// A negative power of a whole number is 0, except of 1 and -1.
[[nodiscard]] std::int64_t power(std::int64_t base, std::int64_t exponent) noexcept {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  std::int64_t out = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) out = multiply(out, base);
    base = multiply(base, base);
  }
  return out;
}
template <class T>
[[nodiscard]] T power(T base, T exponent) noexcept {
  return std::pow(base, exponent);
}

/// 1 / x. For complex numbers by the formula of R. Smith (Communications of the ACM 5, 1962), in
/// the order of PyTorch's operations, which decides about zeros and NaN.
template <class T>
[[nodiscard]] T reciprocal(T x) noexcept {
  if constexpr (is_complex<T>) {
    using Real = typename T::value_type;
    const Real c = x.real();
    const Real d = x.imag();
    if (std::fabs(c) >= std::fabs(d)) {
      if (c == 0 && d == 0) return {1 / std::fabs(c), 0 / std::fabs(d)};
      const Real ratio = d / c;
      const Real scale = 1 / (c + d * ratio);
      return {scale, (0 - ratio) * scale};
    }
    const Real ratio = c / d;
    const Real scale = 1 / (d + c * ratio);
    return {(ratio + 0) * scale, -scale};
  } else {
    return 1 / x;
  }
}

/// A power of an element of `type`. PyTorch computes these exponents by products and roots, which
/// differ from a power for infinity, -0 and complex numbers, and rounds products of BFloat16 each.
/// Roots of Half are powers.
template <class T>
[[nodiscard]] T power_by_number(T value, double exponent, ScalarType type) noexcept {
  const auto product = [&](T a, T b) {
    T out = multiply(a, b);
    if constexpr (std::is_same_v<T, float>) {
      if (type == ScalarType::BFloat16) out = BFloat16::from_float(out).to_float();
    }
    return out;
  };
  if (exponent == 0) return T{1};
  if (exponent == 1) return value;
  if (exponent == 2) return multiply(value, value);
  if (exponent == 3) return multiply(product(value, value), value);
  if (exponent == -2) return reciprocal(product(value, value));
  if (exponent == -1) return reciprocal(value);
  if (type != ScalarType::Half) {
    if (exponent == 0.5) return std::sqrt(value);
    if (exponent == -0.5) return reciprocal(std::sqrt(value));
  }
  return power(value, scalar<T>(exponent));
}

[[nodiscard]] std::int64_t absolute(std::int64_t value) noexcept {
  return value < 0 ? multiply<std::int64_t>(value, -1) : value;
}

/// The greatest common divisor. It is negative where PyTorch's is: the smallest number of 64 bits
/// has no absolute value.
[[nodiscard]] std::int64_t greatest_divisor(std::int64_t a, std::int64_t b) noexcept {
  a = absolute(a);
  b = absolute(b);
  while (a != 0) b = std::exchange(a, a == -1 ? 0 : b % a);
  return b;
}

}  // namespace

ShimError aoti_torch_cpu_abs(ModelTensor* self, ModelTensor** ret0) noexcept {
  return shim_call("abs", [&]() -> Status {
    const Dims strides = dense_strides_like(*self);
    TENON_TRY(OwnedTensor out,
              new_tensor(self->shape(), strides.data(), real_type(self->scalar_type)));
    TENON_RETURN_IF_ERROR(with_number_type(self->scalar_type, [&]<class T>(T) {
      if constexpr (is_complex<T>) {
        map<typename T::value_type, T>(*self, *out, [](T value) { return std::abs(value); });
      } else if constexpr (std::is_same_v<Wide<T>, std::int64_t>) {
        map<T, T>(*self, *out, absolute);
      } else {
        map<T, T>(*self, *out, [](Wide<T> value) { return std::fabs(value); });
      }
      return ok();
    }));
    *ret0 = out.take();
    return ok();
  });
}

ShimError aoti_torch_cpu_angle(ModelTensor* self, ModelTensor** ret0) noexcept {
  return shim_call("angle", [&]() -> Status {
    const ScalarType type =
        is_floating(self->scalar_type) ? real_type(self->scalar_type) : ScalarType::Float;
    const Dims strides = dense_strides_like(*self);
    TENON_TRY(OwnedTensor out, new_tensor(self->shape(), strides.data(), type));
    TENON_RETURN_IF_ERROR(with_number_type(self->scalar_type, [&]<class T>(T) {
      if constexpr (is_complex<T>) {
        map<typename T::value_type, T>(*self, *out, [](T value) { return std::arg(value); });
      } else if constexpr (std::is_same_v<Wide<T>, std::int64_t>) {
        map<float, T>(*self, *out, [](std::int64_t value) {
          return value < 0 ? std::numbers::pi_v<float> : 0.0f;
        });
      } else {
        map<T, T>(*self, *out, [](Wide<T> value) {
          if (value != value) return value;
          return value < 0 ? std::numbers::pi_v<Wide<T>> : Wide<T>{0};
        });
      }
      return ok();
    }));
    *ret0 = out.take();
    return ok();
  });
}

ShimError aoti_torch_cpu_polar(ModelTensor* abs, ModelTensor* angle, ModelTensor** ret0) noexcept {
  return shim_call("polar", [&]() -> Status {
    const ScalarType type = abs->scalar_type;
    if (type != angle->scalar_type || (type != ScalarType::Float && type != ScalarType::Double)) {
      return error(Error::InvalidType, "elements of ", name_of(type), " and ",
                   name_of(angle->scalar_type), ": expected both Float or both Double");
    }
    TENON_TRY(const BroadcastPair binary, broadcast(*abs, *angle));
    const ScalarType complex =
        type == ScalarType::Float ? ScalarType::ComplexFloat : ScalarType::ComplexDouble;
    // PyTorch's meta function multiplies `abs` with the cosine of `angle`, a new tensor.
    const Dims abs_layout = layout_strides(*abs, binary.shape(), false);
    const Dims angle_layout = layout_strides(*angle, binary.shape(), true);
    const Dims strides = dense_strides(binary.shape(), {abs_layout.data(), angle_layout.data()});
    TENON_TRY(OwnedTensor out, new_tensor(binary.shape(), strides.data(), complex));
    const auto fill = [&]<class T>(T) {
      for_positions<3>(binary.shape(), no_dim,
                       {binary.a_strides.data(), binary.b_strides.data(), out->strides.data()},
                       [&](const auto& at) {
                         const T radius = abs->as<const T>()[at[0]];
                         const T phi = angle->as<const T>()[at[1]];
                         out->template as<std::complex<T>>()[at[2]] = {radius * std::cos(phi),
                                                                       radius * std::sin(phi)};
                       });
    };
    if (type == ScalarType::Float) {
      fill(float{});
    } else {
      fill(double{});
    }
    *ret0 = out.take();
    return ok();
  });
}

ShimError aoti_torch_cpu_add_Tensor(ModelTensor* self, ModelTensor* other, double alpha,
                                    ModelTensor** ret0) noexcept {
  return shim_call("add_Tensor", [&]() -> Status {
    if (!is_floating(self->scalar_type)) {
      if (alpha != std::trunc(alpha) || !(alpha >= -0x1p63 && alpha < 0x1p63)) {
        return error(Error::InvalidArgument, "a factor ", alpha, " of elements of ",
                     name_of(other->scalar_type), ": expected a whole number of 64 bits");
      }
      // Sums of truth values are disjunctions: -1 times true must not cancel true.
      if (self->scalar_type == ScalarType::Bool && alpha != 0) alpha = 1;
    }
    return combine(*self, *other, ret0, [&]<class T>(T a, T b) {
      return add(a, alpha == 1 ? b : multiply(scalar<T>(alpha), b));
    });
  });
}

ShimError aoti_torch_cpu_mul_Tensor(ModelTensor* self, ModelTensor* other,
                                    ModelTensor** ret0) noexcept {
  return shim_call("mul_Tensor", [&] {
    return combine(*self, *other, ret0, []<class T>(T a, T b) { return multiply(a, b); });
  });
}

ShimError aoti_torch_cpu_pow_Tensor_Tensor(ModelTensor* self, ModelTensor* exponent,
                                           ModelTensor** ret0) noexcept {
  return shim_call("pow_Tensor_Tensor", [&] {
    return combine(*self, *exponent, ret0, []<class T>(T a, T b) { return power(a, b); });
  });
}

ShimError aoti_torch_cpu_gcd(ModelTensor* self, ModelTensor* other, ModelTensor** ret0) noexcept {
  return shim_call("gcd", [&]() -> Status {
    const bool whole = !is_floating(self->scalar_type) && self->scalar_type != ScalarType::Bool;
    if (!whole || other->scalar_type != self->scalar_type) {
      return error(Error::InvalidType, "operands of ", name_of(self->scalar_type), " and ",
                   name_of(other->scalar_type), ": expected whole numbers of one type");
    }
    return combine(*self, *other, ret0, []<class T>(T a, T b) {
      if constexpr (std::is_same_v<T, std::int64_t>) {
        return greatest_divisor(a, b);
      } else {
        return T{};
      }
    });
  });
}

ShimError aoti_torch_cpu_add_Scalar(ModelTensor* self, double other, double alpha,
                                    ModelTensor** ret0) noexcept {
  return shim_call("add_Scalar", [&] {
    return combine_scalar(*self, ret0,
                          [&]<class T>(T value) { return value + scalar<T>(other * alpha); });
  });
}

ShimError aoti_torch_cpu_mul_Scalar(ModelTensor* self, double other, ModelTensor** ret0) noexcept {
  return shim_call("mul_Scalar", [&] {
    return combine_scalar(*self, ret0,
                          [&]<class T>(T value) { return multiply(value, scalar<T>(other)); });
  });
}

ShimError aoti_torch_cpu_pow_Tensor_Scalar(ModelTensor* self, double exponent,
                                           ModelTensor** ret0) noexcept {
  return shim_call("pow_Tensor_Scalar", [&] {
    return combine_scalar(*self, ret0, [&]<class T>(T value) {
      return power_by_number(value, exponent, self->scalar_type);
    });
  });
}

ShimError aoti_torch_cpu_pow_Scalar(double self, ModelTensor* exponent,
                                    ModelTensor** ret0) noexcept {
  return shim_call("pow_Scalar", [&] {
    return combine_scalar(*exponent, ret0, [&]<class T>(T value) {
      // Also to an infinite or complex power.
      return self == 1 ? T{1} : power(scalar<T>(self), value);
    });
  });
}

ShimError aoti_torch_cpu_fill__Scalar(ModelTensor* self, double value) noexcept {
  return shim_call("fill__Scalar", [&] {
    return with_number_type(self->scalar_type, [&]<class T>(T) {
      for_positions<1>(self->shape(), no_dim, {self->strides.data()},
                       [&](const auto& at) { self->as<T>()[at[0]] = store<T>(value); });
      return ok();
    });
  });
}

}  // namespace tenon::cpu_aoti
