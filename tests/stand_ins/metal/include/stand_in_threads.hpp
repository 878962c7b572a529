// SPDX-License-Identifier: MIT
//
// The interface between the stand-in for a Metal device and the kernels that it compiles. Included
// by both, so plain C++ without a library.
#pragma once

namespace tenon_stand_in {

/// Where one thread of a grid is, in Metal's words. Set by the device before the thread starts.
struct Thread {
  unsigned thread_position_in_grid[3];
  unsigned thread_position_in_threadgroup[3];
  unsigned threadgroup_position_in_grid[3];
  unsigned threads_per_grid[3];
  unsigned threads_per_threadgroup[3];
  unsigned threadgroups_per_grid[3];
  unsigned thread_index_in_threadgroup[1];
  unsigned thread_index_in_simdgroup[1];
  unsigned simdgroup_index_in_threadgroup[1];
  unsigned threads_per_simdgroup[1];
  unsigned simdgroups_per_threadgroup[1];
};

constexpr unsigned simd_width = 32;
constexpr unsigned max_exchanged = 32;  ///< Bytes that a thread can give to its simdgroup at once.

/// The values that the threads of a simdgroup have exchanged.
struct Exchange {
  unsigned char values[simd_width][max_exchanged];
  unsigned long active;  ///< One bit for each thread that took part.
};

/// The requests of a running thread to the device.
struct Host {
  /// Returns when all threads of the threadgroup have called it.
  void (*barrier)();
  /// Gives `nbytes` to the simdgroup and returns when all its threads that run have done so. The
  /// result is valid until the thread's next call; `lane` is set to the thread's place in it.
  const Exchange* (*exchange)(const void* value, unsigned nbytes, unsigned* lane);
  /// Ends the run of the grid with an error, for what Metal leaves undefined. Does not return.
  void (*fail)(const char* text);
  /// Called by kernels that are compiled to be counted, for each access to memory and for
  /// multiplications.
  void (*access)(const void* address, unsigned long nbytes, bool is_write);
  void (*multiply)(unsigned count);
};

/// The entry of a kernel for one thread. `buffers` are what was bound, by index.
using Kernel = void (*)(void* const* buffers, const Thread& thread);

}  // namespace tenon_stand_in
