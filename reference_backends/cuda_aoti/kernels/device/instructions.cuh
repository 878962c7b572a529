// SPDX-License-Identifier: MIT
#pragma once

#include "../floats.hpp"

// Instructions of sm_80 that the kernels use, as PTX ISA documents them: asynchronous copies to
// shared memory ("cp.async"), loads of fragments ("ldmatrix"), products of tensor cores ("mma") and
// of bytes ("dp4a"). The tests have models of them for the host's compiler.
#ifdef __CUDACC__

namespace tenon::cuda_aoti::kernels {

__device__ __forceinline__ std::uint32_t shared_address(const void* address) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(address));
}

/// Begins a copy of 16 bytes from global to shared memory, both aligned to 16; of zeroes when
/// nothing `is_there`. It is part of the thread's next group.
__device__ __forceinline__ void copy_async(void* to, const void* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(is_there ? 16 : 0)
               : "memory");
}

/// Ends a group of this thread's copies, which may have none.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits for all groups of this thread but the last `pending`. Other threads see the copies after a
/// barrier.
template <int pending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// Loads four matrices of 8 by 8 16-bit elements from shared memory. Lane L has the address of row
/// L % 8 of matrix L / 8, and gets elements 2 * (L % 4) and the next of row L / 4 of each.
__device__ __forceinline__ void load_matrices(std::uint32_t (&out)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(shared_address(row))
               : "memory");
}

/// sums += a * b for bfloat16 matrices of 16 by 16 and 16 by 8, in the fragments of
/// mma.m16n8k16: of four 8 by 8 matrices of `a`, in columns; of two of `b`, transposed.
__device__ __forceinline__ void multiply(float (&sums)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b_low, std::uint32_t b_high) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
}

/// sum + the four products of the signed bytes of two words.
__device__ __forceinline__ std::int32_t dot_bytes(std::uint32_t a, std::uint32_t b,
                                                  std::int32_t sum) {
  return __dp4a(static_cast<int>(a), static_cast<int>(b), sum);
}

/// Two bfloat16, rounded to nearest even; the first in the lower half.
__device__ __forceinline__ std::uint32_t to_bfloat16_pair(float first, float second) {
  std::uint32_t out;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(second), "f"(first));
  return out;
}

}  // namespace tenon::cuda_aoti::kernels

#else
#include "cuda_instructions.hpp"
#endif
