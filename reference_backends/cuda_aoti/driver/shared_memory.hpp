// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/core/bytes.hpp"

namespace tenon::cuda_aoti {

/// A kernel in a model's library, and the shared memory of one of its blocks.
struct SharedMemoryNeed {
  std::string kernel;
  std::uint64_t nbytes;
};

/// The needs of the kernels of a library for x86-64: the memory that their files declare, and what
/// is allocated in a launch. That is in no file for a GPU, and is read from the library's own code,
/// where it is the third argument of AOTInductor's `loadKernel`, whose first is the file (PyTorch:
/// torch/csrc/inductor/cpp_wrapper, loadKernel). A call that the compiler arranged in another way
/// is not found, so that a kernel may need more than is reported here, and never less.
[[nodiscard]] std::vector<SharedMemoryNeed> shared_memory_needs(Bytes library);

}  // namespace tenon::cuda_aoti
