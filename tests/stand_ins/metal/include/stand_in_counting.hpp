// SPDX-License-Identifier: MIT
//
// Included before Metal source whose work is counted. ThreadSanitizer's instrumentation, with
// functions of our own in place of its library, reports each access to memory; a type that replaces
// float counts multiplications.
#pragma once

#define TENON_STAND_IN_COUNTS
#include "stand_in_metal.hpp"

namespace tenon_stand_in {

struct CountedFloat {
  float value;

  CountedFloat() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr CountedFloat(T given) : value(static_cast<float>(given)) {}
  template <int exponent_bits>
  constexpr CountedFloat(SmallFloat<exponent_bits> given) : value(float(given)) {}
  constexpr operator float() const { return value; }
  template <int exponent_bits>
  explicit constexpr operator SmallFloat<exponent_bits>() const {
    return SmallFloat<exponent_bits>(value);
  }
  CountedFloat& operator+=(CountedFloat b) { return *this = value + b.value; }
  CountedFloat& operator-=(CountedFloat b) { return *this = value - b.value; }
  CountedFloat& operator*=(CountedFloat b) {
    tenon_stand_in_host->multiply(1);
    return *this = value * b.value;
  }
  CountedFloat& operator/=(CountedFloat b) { return *this = value / b.value; }
};
static_assert(sizeof(CountedFloat) == sizeof(float));

inline CountedFloat operator*(CountedFloat a, CountedFloat b) { return a *= b; }
inline CountedFloat operator+(CountedFloat a, CountedFloat b) { return a += b; }
inline CountedFloat operator-(CountedFloat a, CountedFloat b) { return a -= b; }
inline CountedFloat operator/(CountedFloat a, CountedFloat b) { return a /= b; }
template <class T>
  requires std::is_arithmetic_v<T>
CountedFloat operator*(CountedFloat a, T b) {
  return a * CountedFloat(b);
}
template <class T>
  requires std::is_arithmetic_v<T>
CountedFloat operator*(T a, CountedFloat b) {
  return CountedFloat(a) * b;
}
template <class T>
  requires std::is_arithmetic_v<T>
CountedFloat operator-(CountedFloat a, T b) {
  return a - CountedFloat(b);
}
template <class T>
  requires std::is_arithmetic_v<T>
CountedFloat operator+(CountedFloat a, T b) {
  return a + CountedFloat(b);
}
template <class T>
  requires std::is_arithmetic_v<T>
CountedFloat operator/(CountedFloat a, T b) {
  return a / CountedFloat(b);
}
template <class T>
  requires std::is_arithmetic_v<T>
CountedFloat operator/(T a, CountedFloat b) {
  return CountedFloat(a) / b;
}

template <>
struct Plain<CountedFloat> {
  using type = float;
};

}  // namespace tenon_stand_in

#define TENON_STAND_IN_HOOK \
  extern "C" __attribute__((no_sanitize("thread"), visibility("hidden"), used))
#define TENON_STAND_IN_ACCESS(nbytes)                                \
  TENON_STAND_IN_HOOK void __tsan_read##nbytes(void* p) {            \
    tenon_stand_in_host->access(p, nbytes, false);                   \
  }                                                                  \
  TENON_STAND_IN_HOOK void __tsan_write##nbytes(void* p) {           \
    tenon_stand_in_host->access(p, nbytes, true);                    \
  }                                                                  \
  TENON_STAND_IN_HOOK void __tsan_unaligned_read##nbytes(void* p) {  \
    tenon_stand_in_host->access(p, nbytes, false);                   \
  }                                                                  \
  TENON_STAND_IN_HOOK void __tsan_unaligned_write##nbytes(void* p) { \
    tenon_stand_in_host->access(p, nbytes, true);                    \
  }
TENON_STAND_IN_ACCESS(1)
TENON_STAND_IN_ACCESS(2)
TENON_STAND_IN_ACCESS(4)
TENON_STAND_IN_ACCESS(8)
TENON_STAND_IN_ACCESS(16)
TENON_STAND_IN_HOOK void __tsan_init() {}
TENON_STAND_IN_HOOK void* __tsan_memcpy(void* to, const void* from, unsigned long nbytes) {
  tenon_stand_in_host->access(from, nbytes, false);
  tenon_stand_in_host->access(to, nbytes, true);
  return __builtin_memcpy(to, from, nbytes);
}
TENON_STAND_IN_HOOK void* __tsan_memset(void* to, int value, unsigned long nbytes) {
  tenon_stand_in_host->access(to, nbytes, true);
  return __builtin_memset(to, value, nbytes);
}
#undef TENON_STAND_IN_ACCESS
#undef TENON_STAND_IN_HOOK

#define float tenon_stand_in::CountedFloat
