// SPDX-License-Identifier: MIT
//
// Models of the instructions in the kernels' device/instructions.cuh, after PTX ISA 7.8: "Data
// Movement and Conversion Instructions: cp.async" and "ldmatrix", "Warp Level Matrix Instructions:
// mma.m16n8k16", "Integer Arithmetic Instructions: dp4a".
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "cuda_threads.hpp"
#include "floats.hpp"

namespace cuda_threads {

/// A copy to shared memory that was begun.
struct Copy {
  void* to;
  const void* from;
  bool is_there;
};

/// The copies of one thread: in groups that it waits for, and since the last of them.
struct Copies {
  std::deque<std::vector<Copy>> groups;
  std::vector<Copy> begun;
};

inline constexpr unsigned max_threads = 1024;
inline constexpr unsigned bytes_per_copy = 16;
inline std::array<Copies, max_threads> copies;

/// For tests of this model: true makes each wait for copies do nothing.
inline bool are_waits_ignored = false;

inline Copies& own_copies() { return copies[current->thread_index_in_threadgroup[0]]; }

/// Ends the program when an address that a device requires to be aligned to 16 bytes is not.
inline void require_aligned(const char* instruction, const void* address) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes_per_copy == 0) return;
  std::fprintf(stderr, "%s: the address %p is not aligned to 16 bytes\n", instruction, address);
  std::abort();
}

/// The values of type T that all lanes of the warp give.
template <class T>
std::array<T, 32> of_all_lanes(const T& value) {
  const tenon_stand_in::Thread* const mine = current;
  unsigned lane = 0;
  const tenon_stand_in::Exchange* const all = host->exchange(&value, sizeof value, &lane);
  current = mine;
  std::array<T, 32> out;
  for (unsigned i = 0; i < 32; ++i) std::memcpy(&out[i], all->values[i], sizeof(T));
  return out;
}

inline float half_of(std::uint32_t word, int which) {
  return tenon::cuda_aoti::kernels::float_of_bits(which == 0 ? word << 16 : word & 0xffff0000u);
}

}  // namespace cuda_threads

namespace tenon::cuda_aoti::kernels {

/// Until the copy was waited for, its target is NaN in every format, so that no kernel computes the
/// right numbers from what was there before.
inline void copy_async(void* to, const void* from, bool is_there) {
  cuda_threads::require_aligned("cp.async", to);
  cuda_threads::require_aligned("cp.async", from);
  std::memset(to, 0xff, cuda_threads::bytes_per_copy);
  cuda_threads::own_copies().begun.push_back({to, from, is_there});
}

inline void commit_copies() {
  cuda_threads::Copies& own = cuda_threads::own_copies();
  own.groups.push_back(std::move(own.begun));
  own.begun.clear();
}

template <int pending>
void wait_for_copies() {
  if (cuda_threads::are_waits_ignored) return;
  auto& groups = cuda_threads::own_copies().groups;
  for (; groups.size() > pending; groups.pop_front()) {
    for (const cuda_threads::Copy& copy : groups.front()) {
      if (copy.is_there) {
        std::memcpy(copy.to, copy.from, cuda_threads::bytes_per_copy);
      } else {
        std::memset(copy.to, 0, cuda_threads::bytes_per_copy);
      }
    }
  }
}

/// Lane 8 * M + R has the address of row R of matrix M.
inline void load_matrices(std::uint32_t (&out)[4], const void* row) {
  cuda_threads::require_aligned("ldmatrix", row);
  const auto rows = cuda_threads::of_all_lanes(row);
  const unsigned lane = cuda_threads::current->thread_index_in_simdgroup[0];
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    const void* const from = rows[8 * matrix + lane / 4];
    std::memcpy(&out[matrix], static_cast<const unsigned char*>(from) + lane % 4 * 4, 4);
  }
}

/// Element (row, k) of `a` is in the lane row % 8 * 4 + k % 8 / 2, in its register
/// k / 8 * 2 + row / 8; element (k, column) of `b` in the lane column * 4 + k % 8 / 2, register
/// k / 8; both in the half k % 2. Element (row, column) of the sums is in the lane
/// row % 8 * 4 + column / 2, register row / 8 * 2 + column % 2.
inline void multiply(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b_low,
                     std::uint32_t b_high) {
  struct Fragments {
    std::uint32_t a[4];
    std::uint32_t b[2];
  };
  const auto all = cuda_threads::of_all_lanes(Fragments{{a[0], a[1], a[2], a[3]}, {b_low, b_high}});
  const int lane = static_cast<int>(cuda_threads::current->thread_index_in_simdgroup[0]);
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + i / 2 * 8;
    const int column = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k) {
      const auto of_a = static_cast<std::size_t>(row % 8 * 4 + k % 8 / 2);
      const auto of_b = static_cast<std::size_t>(column * 4 + k % 8 / 2);
      sums[i] += cuda_threads::half_of(all[of_a].a[k / 8 * 2 + row / 8], k % 2) *
                 cuda_threads::half_of(all[of_b].b[k / 8], k % 2);
    }
  }
}

inline std::int32_t dot_bytes(std::uint32_t a, std::uint32_t b, std::int32_t sum) {
  for (int i = 0; i < 4; ++i) {
    sum += static_cast<std::int8_t>(a >> (8 * i) & 0xffu) *
           static_cast<std::int8_t>(b >> (8 * i) & 0xffu);
  }
  return sum;
}

inline std::uint32_t to_bfloat16_pair(float first, float second) {
  return float_to_bfloat16(first) | static_cast<std::uint32_t>(float_to_bfloat16(second)) << 16;
}

}  // namespace tenon::cuda_aoti::kernels
