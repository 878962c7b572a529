// SPDX-License-Identifier: MIT
//
// The control of subnormal numbers in the processor.

#ifndef TENON_ZOO_FLOAT_STATE_H
#define TENON_ZOO_FLOAT_STATE_H

#if defined(__x86_64__)
#include <xmmintrin.h>
static inline void flush_subnormals(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }
#elif defined(__aarch64__)
static inline void flush_subnormals(void) {
  unsigned long fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | (1ul << 24)));
}
#else
#error "how does this processor flush subnormal numbers?"
#endif

#endif  // TENON_ZOO_FLOAT_STATE_H
