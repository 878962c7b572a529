// SPDX-License-Identifier: MIT
//
// Types of the Metal shading language (specification 3.1, chapter 2) as C++ ones: as many as models
// and the backend's own kernels use. Floating-point literals are float here as there, by a flag of
// the compiler.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;

/// A 16-bit float that computes as float and rounds when it is stored, to nearest, ties to even.
template <int exponent_bits>
struct SmallFloat {
  std::uint16_t bits;

  SmallFloat() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr SmallFloat(T value) : bits(from_float(static_cast<float>(value))) {}
  template <int other>
    requires(other != exponent_bits)
  explicit constexpr SmallFloat(SmallFloat<other> value) : bits(from_float(float(value))) {}
  constexpr operator float() const { return to_float(bits); }

  template <class T>
  constexpr SmallFloat& operator+=(T b) {
    return *this = SmallFloat(float(*this) + float(b));
  }
  template <class T>
  constexpr SmallFloat& operator-=(T b) {
    return *this = SmallFloat(float(*this) - float(b));
  }
  template <class T>
  constexpr SmallFloat& operator*=(T b) {
    return *this = SmallFloat(float(*this) * float(b));
  }
  template <class T>
  constexpr SmallFloat& operator/=(T b) {
    return *this = SmallFloat(float(*this) / float(b));
  }

 private:
  static constexpr int mantissa_bits = 15 - exponent_bits;
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr std::uint32_t largest_exponent = (1u << exponent_bits) - 1;

  static constexpr std::uint16_t from_float(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = word >> 31 << 15;
    const std::uint32_t magnitude = word & 0x7fffffffu;
    const std::uint32_t infinity = largest_exponent << mantissa_bits;
    if (magnitude > 0x7f800000u) {
      return static_cast<std::uint16_t>(sign | infinity | 1u << (mantissa_bits - 1));
    }
    const int exponent = static_cast<int>(magnitude >> 23) - 127 + bias;
    std::uint64_t mantissa = (magnitude & 0x7fffffu) | (magnitude >= 0x800000u ? 0x800000u : 0u);
    int shift = 23 - mantissa_bits;
    std::uint64_t out = 0;
    if (exponent > 0) {
      out = static_cast<std::uint64_t>(exponent - 1) << mantissa_bits;
    } else {
      shift += 1 - exponent;
    }
    if (shift > 40) return static_cast<std::uint16_t>(sign);
    const std::uint64_t half_way = std::uint64_t{1} << (shift - 1);
    const std::uint64_t rest = mantissa & ((std::uint64_t{1} << shift) - 1);
    mantissa >>= shift;
    out += mantissa + (rest > half_way || (rest == half_way && (mantissa & 1) != 0) ? 1 : 0);
    if (out >= infinity) out = infinity;
    return static_cast<std::uint16_t>(sign | out);
  }

  static constexpr float to_float(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 15) << 31;
    const std::uint32_t exponent = (bits >> mantissa_bits) & largest_exponent;
    const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
    if (exponent == largest_exponent) {
      return std::bit_cast<float>(sign | 0x7f800000u | mantissa << (23 - mantissa_bits));
    }
    if (exponent == 0) {
      float value = static_cast<float>(mantissa);
      for (int i = 0; i < bias - 1 + mantissa_bits; ++i) value *= 0.5f;
      return sign != 0 ? -value : value;
    }
    const auto wide = static_cast<std::uint32_t>(static_cast<int>(exponent) - bias + 127);
    return std::bit_cast<float>(sign | wide << 23 | mantissa << (23 - mantissa_bits));
  }
};
using half = SmallFloat<5>;
using bfloat = SmallFloat<8>;
static_assert(sizeof(half) == 2 && sizeof(bfloat) == 2);

namespace metal {

using std::conditional_t;
using std::declval;
using std::enable_if_t;
using std::is_integral_v;
using std::is_same_v;
using std::is_signed_v;
template <class T>
inline constexpr bool is_floating_point_v =
    std::is_same_v<T, float> || std::is_same_v<T, half> || std::is_same_v<T, bfloat>;
template <class T>
inline constexpr bool is_scalar_v = std::is_arithmetic_v<T> || is_floating_point_v<T>;

template <class T>
struct numeric_limits : std::numeric_limits<T> {};
template <int exponent_bits>
struct numeric_limits<SmallFloat<exponent_bits>> {
  using T = SmallFloat<exponent_bits>;
  static constexpr T of(unsigned bits) {
    return std::bit_cast<T>(static_cast<std::uint16_t>(bits));
  }
  static constexpr unsigned exponent = ((1u << exponent_bits) - 1) << (15 - exponent_bits);
  static constexpr T infinity() { return of(exponent); }
  static constexpr T quiet_NaN() { return of(exponent | 1u << (14 - exponent_bits)); }
  static constexpr T max() { return of(exponent - 1); }
  static constexpr T lowest() { return of(0x8000u | (exponent - 1)); }
};

template <class T, std::size_t N>
struct array {
  T elements[N];
  constexpr T& operator[](std::size_t i) { return elements[i]; }
  constexpr const T& operator[](std::size_t i) const { return elements[i]; }
};

template <class T, int N>
struct vec;

template <class T>
struct alignas(sizeof(T) * 2) vec<T, 2> {
  T x, y;
  vec() = default;
  constexpr vec(T all) : x(all), y(all) {}
  constexpr vec(T a, T b) : x(a), y(b) {}
  template <class U>
  explicit constexpr vec(vec<U, 2> v) : x(T(v.x)), y(T(v.y)) {}
  constexpr T& operator[](int i) { return (&x)[i]; }
  constexpr const T& operator[](int i) const { return (&x)[i]; }
};
template <class T>
struct alignas(sizeof(T) * 4) vec<T, 3> {
  T x, y, z;
  vec() = default;
  constexpr vec(T all) : x(all), y(all), z(all) {}
  constexpr vec(T a, T b, T c) : x(a), y(b), z(c) {}
  template <class U>
  explicit constexpr vec(vec<U, 3> v) : x(T(v.x)), y(T(v.y)), z(T(v.z)) {}
  constexpr T& operator[](int i) { return (&x)[i]; }
  constexpr const T& operator[](int i) const { return (&x)[i]; }
};
/// The two halves are the only swizzles.
template <class T>
struct alignas(sizeof(T) * 4) vec<T, 4> {
  union {
    struct {
      T x, y, z, w;
    };
    struct {
      vec<T, 2> xy, zw;
    };
  };
  vec() = default;
  constexpr vec(T all) : x(all), y(all), z(all), w(all) {}
  constexpr vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
  template <class U>
  explicit constexpr vec(vec<U, 4> v) : x(T(v.x)), y(T(v.y)), z(T(v.z)), w(T(v.w)) {}
  constexpr T& operator[](int i) { return (&x)[i]; }
  constexpr const T& operator[](int i) const { return (&x)[i]; }
};

template <class T>
inline constexpr bool is_vec = false;
template <class T, int N>
inline constexpr bool is_vec<vec<T, N>> = true;

#define TENON_STAND_IN_OPERATOR(op)                           \
  template <class T, int N>                                   \
  constexpr vec<T, N> operator op(vec<T, N> a, vec<T, N> b) { \
    for (int i = 0; i < N; ++i) a[i] = T(a[i] op b[i]);       \
    return a;                                                 \
  }                                                           \
  template <class T, int N, class U>                          \
    requires(!is_vec<U>)                                      \
  constexpr vec<T, N> operator op(vec<T, N> a, U b) {         \
    return a op vec<T, N>(T(b));                              \
  }                                                           \
  template <class T, int N, class U>                          \
    requires(!is_vec<U>)                                      \
  constexpr vec<T, N> operator op(U a, vec<T, N> b) {         \
    return vec<T, N>(T(a)) op b;                              \
  }                                                           \
  template <class T, int N, class U>                          \
  constexpr vec<T, N>& operator op##=(vec<T, N>& a, U b) {    \
    return a = a op b;                                        \
  }
TENON_STAND_IN_OPERATOR(+)
TENON_STAND_IN_OPERATOR(-)
TENON_STAND_IN_OPERATOR(*)
TENON_STAND_IN_OPERATOR(/)
#undef TENON_STAND_IN_OPERATOR

}  // namespace metal

#define TENON_STAND_IN_VECTORS(type)   \
  using type##2 = metal::vec<type, 2>; \
  using type##3 = metal::vec<type, 3>; \
  using type##4 = metal::vec<type, 4>;
TENON_STAND_IN_VECTORS(bool)
TENON_STAND_IN_VECTORS(char)
TENON_STAND_IN_VECTORS(uchar)
TENON_STAND_IN_VECTORS(short)
TENON_STAND_IN_VECTORS(ushort)
TENON_STAND_IN_VECTORS(int)
TENON_STAND_IN_VECTORS(uint)
TENON_STAND_IN_VECTORS(long)
TENON_STAND_IN_VECTORS(ulong)
TENON_STAND_IN_VECTORS(float)
TENON_STAND_IN_VECTORS(half)
TENON_STAND_IN_VECTORS(bfloat)
#undef TENON_STAND_IN_VECTORS

template <class To, class From>
constexpr To as_type(From value) {
  return std::bit_cast<To>(value);
}
