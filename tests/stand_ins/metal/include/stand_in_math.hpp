// SPDX-License-Identifier: MIT
//
// Functions of the Metal shading language (specification 3.1, chapter 6) that compute on one
// thread. The precise and the fast ones are the same here.
#pragma once

#include <cmath>

#include "stand_in_types.hpp"

namespace metal {

// The 16-bit types are converted to float.
#define TENON_STAND_IN_ONE(name, expression) \
  inline float name(float x) { return expression; }
#define TENON_STAND_IN_MATH(X)       \
  X(acos, std::acos(x))              \
  X(acosh, std::acosh(x))            \
  X(asin, std::asin(x))              \
  X(asinh, std::asinh(x))            \
  X(atan, std::atan(x))              \
  X(atanh, std::atanh(x))            \
  X(ceil, std::ceil(x))              \
  X(cos, std::cos(x))                \
  X(cosh, std::cosh(x))              \
  X(cospi, std::cos(x* float(M_PI))) \
  X(exp, std::exp(x))                \
  X(exp2, std::exp2(x))              \
  X(exp10, std::pow(10.0f, x))       \
  X(fabs, std::fabs(x))              \
  X(floor, std::floor(x))            \
  X(fract, x - std::floor(x))        \
  X(log, std::log(x))                \
  X(log10, std::log10(x))            \
  X(log2, std::log2(x))              \
  X(rint, std::rint(x))              \
  X(round, std::round(x))            \
  X(rsqrt, 1.0f / std::sqrt(x))      \
  X(sin, std::sin(x))                \
  X(sinh, std::sinh(x))              \
  X(sinpi, std::sin(x* float(M_PI))) \
  X(sqrt, std::sqrt(x))              \
  X(tan, std::tan(x))                \
  X(tanh, std::tanh(x))              \
  X(trunc, std::trunc(x))            \
  X(sign, float((x > 0) - (x < 0)))
#define TENON_STAND_IN_TWO(X)        \
  X(atan2, std::atan2(x, y))         \
  X(copysign, std::copysign(x, y))   \
  X(divide, x / y)                   \
  X(fdim, std::fdim(x, y))           \
  X(fmax, std::fmax(x, y))           \
  X(fmin, std::fmin(x, y))           \
  X(fmod, std::fmod(x, y))           \
  X(nextafter, std::nextafter(x, y)) \
  X(pow, std::pow(x, y))             \
  X(powr, std::pow(x, y))
#define TENON_STAND_IN_PAIR(name, expression) \
  inline float name(float x, float y) { return expression; }

TENON_STAND_IN_MATH(TENON_STAND_IN_ONE)
TENON_STAND_IN_TWO(TENON_STAND_IN_PAIR)
inline float fma(float a, float b, float c) { return std::fma(a, b, c); }
inline float sincos(float x, float& cosine) {
  cosine = std::cos(x);
  return std::sin(x);
}
inline float frexp(float x, int& exponent) { return std::frexp(x, &exponent); }
inline float ldexp(float x, int exponent) { return std::ldexp(x, exponent); }

namespace precise {
TENON_STAND_IN_MATH(TENON_STAND_IN_ONE)
TENON_STAND_IN_TWO(TENON_STAND_IN_PAIR)
inline float fma(float a, float b, float c) { return std::fma(a, b, c); }
inline float sincos(float x, float& cosine) { return metal::sincos(x, cosine); }
}  // namespace precise
namespace fast = precise;
#undef TENON_STAND_IN_ONE
#undef TENON_STAND_IN_PAIR
#undef TENON_STAND_IN_MATH
#undef TENON_STAND_IN_TWO

inline float abs(float x) { return std::fabs(x); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline float min(float a, float b) { return std::fmin(a, b); }
inline float clamp(float x, float low, float high) { return fmin(fmax(x, low), high); }
template <std::integral T>
constexpr T abs(T x) {
  return x < 0 ? T(-x) : x;
}
template <std::integral T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}
template <std::integral T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <std::integral T>
constexpr T clamp(T x, T low, T high) {
  return min(max(x, low), high);
}
inline float mix(float a, float b, float t) { return a + (b - a) * t; }

inline bool isnan(float x) { return std::isnan(x); }
inline bool isinf(float x) { return std::isinf(x); }
inline bool isfinite(float x) { return std::isfinite(x); }
inline bool signbit(float x) { return std::signbit(x); }
inline bool isunordered(float a, float b) { return std::isunordered(a, b); }

template <class T>
constexpr T select(T if_false, T if_true, bool condition) {
  return condition ? if_true : if_false;
}

template <std::integral T>
constexpr T clz(T x) {
  return T(std::countl_zero(std::make_unsigned_t<T>(x)));
}
template <std::integral T>
constexpr T ctz(T x) {
  return T(std::countr_zero(std::make_unsigned_t<T>(x)));
}
template <std::integral T>
constexpr T popcount(T x) {
  return T(std::popcount(std::make_unsigned_t<T>(x)));
}
template <std::integral T>
constexpr T mulhi(T a, T b) {
  return T((static_cast<__int128>(a) * static_cast<__int128>(b)) >> (8 * sizeof(T)));
}

}  // namespace metal
