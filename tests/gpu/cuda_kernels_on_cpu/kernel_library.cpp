// SPDX-License-Identifier: MIT
//
// The kernels as a library for tests/live/checks/triton_kernels.py.
#include <algorithm>
#include <array>

#include "device_code.hpp"

/// Runs a launch; 0 for success. `grid` and `block` have three numbers, and the parameters'
/// pointers are to memory of the caller. One call at a time.
extern "C" __attribute__((visibility("default"))) int tenon_run_cuda_kernel(
    const char* name, const unsigned* grid, const unsigned* block, void* const* parameters) {
  std::array<unsigned, 3> sizes[2];
  std::copy_n(grid, 3, sizes[0].begin());
  std::copy_n(block, 3, sizes[1].begin());
  return gpu_test::run_kernel(name, sizes[0], sizes[1], parameters).ok() ? 0 : 1;
}
