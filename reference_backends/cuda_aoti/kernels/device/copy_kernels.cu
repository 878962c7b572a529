// SPDX-License-Identifier: MIT
//
// The copies between layouts, as a module of their own: many models need nothing else of the
// plugin's code, which is seven times as large.
#include "copy.cuh"

namespace kernels = tenon::cuda_aoti::kernels;

extern "C" __global__ void __launch_bounds__(kernels::copy_threads)
    tenon_copy_strided(const kernels::CopyArguments arguments) {
  kernels::copy_strided(arguments);
}

extern "C" __global__ void __launch_bounds__(kernels::copy_threads)
    tenon_copy_transposed(const kernels::CopyArguments arguments) {
  kernels::copy_transposed(arguments);
}
