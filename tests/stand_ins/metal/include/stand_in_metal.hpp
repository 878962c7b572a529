// SPDX-License-Identifier: MIT
//
// A part of the Metal standard library in C++, so that a host's compiler can compile the Metal
// source of a model and the stand-in for a device can run it. Only for tests. It has the functions
// that AOTInductor's code and the backend's own kernels use; a model that uses more does not
// compile, and the compiler names what is missing.
#pragma once

#include <atomic>

#include "stand_in_math.hpp"
#include "stand_in_threads.hpp"
#include "stand_in_types.hpp"

#define M_SQRT2_F 1.41421356237309504880f
#define M_PI_F 3.14159265358979323846f

/// Set by the device when it has loaded the library.
extern "C" const tenon_stand_in::Host* tenon_stand_in_host;

namespace metal {

enum class mem_flags { mem_none, mem_device, mem_threadgroup, mem_texture };

inline void threadgroup_barrier(mem_flags) { tenon_stand_in_host->barrier(); }
inline void simdgroup_barrier(mem_flags) {
  unsigned lane = 0;
  tenon_stand_in_host->exchange(&lane, sizeof lane, &lane);
}

/// The values of the active threads of a simdgroup.
template <class T>
class Lanes {
 public:
  explicit Lanes(T mine) : mine_(mine) {
    static_assert(sizeof(T) <= tenon_stand_in::max_exchanged);
    exchange_ = tenon_stand_in_host->exchange(&mine, sizeof mine, &lane_);
  }
  unsigned lane() const { return lane_; }
  bool is_active(unsigned lane) const {
    return lane < tenon_stand_in::simd_width && (exchange_->active >> lane & 1) != 0;
  }
  /// True when no thread of the simdgroup is missing.
  bool is_full() const { return exchange_->active == 0xffffffffu; }
  /// A thread that does not run has no value; reading it is unspecified in Metal.
  T at(unsigned lane) const {
    T out = mine_;
    if (is_active(lane))
      __builtin_memcpy(static_cast<void*>(&out), exchange_->values[lane], sizeof out);
    return out;
  }
  template <class F>
  T reduce(F combine, unsigned first = 0, unsigned end = tenon_stand_in::simd_width) const {
    T out{};
    bool any = false;
    for (unsigned i = first; i < end; ++i) {
      if (!is_active(i)) continue;
      out = any ? T(combine(out, at(i))) : at(i);
      any = true;
    }
    return out;
  }

 private:
  T mine_;
  unsigned lane_ = 0;
  const tenon_stand_in::Exchange* exchange_;
};

template <class T>
T simd_sum(T value) {
  return Lanes(value).reduce([](T a, T b) { return a + b; });
}
template <class T>
T simd_product(T value) {
  return Lanes(value).reduce([](T a, T b) { return a * b; });
}
template <class T>
T simd_max(T value) {
  return Lanes(value).reduce([](T a, T b) { return metal::max(a, b); });
}
template <class T>
T simd_min(T value) {
  return Lanes(value).reduce([](T a, T b) { return metal::min(a, b); });
}
template <class T>
T simd_prefix_inclusive_sum(T value) {
  const Lanes lanes(value);
  return lanes.reduce([](T a, T b) { return a + b; }, 0, lanes.lane() + 1);
}
template <class T>
T simd_prefix_exclusive_sum(T value) {
  const Lanes lanes(value);
  return lanes.reduce([](T a, T b) { return a + b; }, 0, lanes.lane());
}
template <class T>
T simd_shuffle(T value, ushort lane) {
  return Lanes(value).at(lane);
}
template <class T>
T simd_broadcast(T value, ushort lane) {
  return Lanes(value).at(lane);
}
template <class T>
T simd_broadcast_first(T value) {
  const Lanes lanes(value);
  return lanes.reduce([](T a, T) { return a; });
}
template <class T>
T simd_shuffle_xor(T value, ushort mask) {
  const Lanes lanes(value);
  return lanes.at(lanes.lane() ^ mask);
}
template <class T>
T simd_shuffle_up(T value, ushort delta) {
  const Lanes lanes(value);
  return lanes.at(lanes.lane() - delta);
}
template <class T>
T simd_shuffle_down(T value, ushort delta) {
  const Lanes lanes(value);
  return lanes.at(lanes.lane() + delta);
}
template <class T>
T simd_shuffle_and_fill_down(T value, T fill, ushort delta) {
  // After the last thread, `fill` is read as if it were the next simdgroup.
  constexpr unsigned width = tenon_stand_in::simd_width;
  const Lanes lanes(value);
  const unsigned source = lanes.lane() + delta;
  const T inside = lanes.at(source);
  const T outside = Lanes(fill).at(source % width);
  return source < width ? inside : outside;
}

class simd_vote {
 public:
  explicit simd_vote(ulong bits) : bits_(bits) {}
  explicit operator ulong() const { return bits_; }
  bool any() const { return bits_ != 0; }

 private:
  ulong bits_;
};
inline simd_vote simd_ballot(bool condition) {
  const Lanes lanes(static_cast<uint>(condition));
  ulong bits = 0;
  for (unsigned i = 0; i < tenon_stand_in::simd_width; ++i) {
    if (lanes.is_active(i) && lanes.at(i) != 0) bits |= ulong{1} << i;
  }
  return simd_vote(bits);
}
inline bool simd_any(bool condition) { return simd_ballot(condition).any(); }
inline bool simd_all(bool condition) { return !simd_ballot(!condition).any(); }

enum memory_order { memory_order_relaxed };
template <class T>
struct atomic {
  T value;
};
using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;

// The threads of one dispatch take turns, and dispatches that share a buffer follow each other.
template <class T>
T atomic_load_explicit(const atomic<T>* place, memory_order) {
  return place->value;
}
template <class T, class U>
void atomic_store_explicit(atomic<T>* place, U value, memory_order) {
  place->value = T(value);
}
template <class T>
bool atomic_compare_exchange_weak_explicit(atomic<T>* place, T* expected, T desired, memory_order,
                                           memory_order) {
  if (place->value == *expected) {
    place->value = desired;
    return true;
  }
  *expected = place->value;
  return false;
}
#define TENON_STAND_IN_ATOMIC(name, expression)                               \
  template <class T, class U>                                                 \
  T atomic_fetch_##name##_explicit(atomic<T>* place, U given, memory_order) { \
    const T old = place->value;                                               \
    const T value = T(given);                                                 \
    place->value = expression;                                                \
    return old;                                                               \
  }
TENON_STAND_IN_ATOMIC(add, T(old + value))
TENON_STAND_IN_ATOMIC(sub, T(old - value))
TENON_STAND_IN_ATOMIC(or, T(old | value))
TENON_STAND_IN_ATOMIC(and, T(old& value))
TENON_STAND_IN_ATOMIC(max, old < value ? value : old)
TENON_STAND_IN_ATOMIC(min, value < old ? value : old)
#undef TENON_STAND_IN_ATOMIC

}  // namespace metal

#include "stand_in_matrix.hpp"

namespace tenon_stand_in {

/// A position in the type of a kernel's parameter: one, two or three numbers.
template <class T>
T position(const unsigned* values) {
  if constexpr (metal::is_vec<T>) {
    T out;
    for (int i = 0; i < static_cast<int>(sizeof(T) / sizeof out[0]) && i < 3; ++i) {
      out[i] = static_cast<decltype(out.x)>(values[i]);
    }
    return out;
  } else {
    return static_cast<T>(*values);
  }
}

}  // namespace tenon_stand_in

// Address spaces and function qualifiers are not words of C++. All standard headers are included
// before this line. `threadgroup` variables of a kernel are made shared by the device, which
// rewrites their declarations.
#define device
#define constant const
#define thread
#define threadgroup
#define kernel

// Models bring one of their own, with which the C library's would be ambiguous.
#define expm1f metal_expm1f
