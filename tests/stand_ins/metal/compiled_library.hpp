// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "include/stand_in_threads.hpp"
#include "metal_source.hpp"
#include "tenon/core/result.hpp"

namespace tenon::metal_stand_in {

/// A kernel that can run on this processor.
struct CompiledKernel {
  tenon_stand_in::Kernel run = nullptr;
  unsigned num_buffers = 0;
  std::uint64_t max_threads = 0;
  std::uint64_t threadgroup_nbytes = 0;  ///< Memory of a threadgroup, of all the library's kernels.
};

/// Metal source as a library of this processor, compiled by clang in a temporary directory and kept
/// in the build directory for other processes.
class CompiledLibrary {
 public:
  /// errors: InvalidProgram with the compiler's text; AccessFailed when it cannot be run.
  /// With `counts` the kernels report their accesses to memory and their multiplications.
  [[nodiscard]] static Result<std::shared_ptr<CompiledLibrary>> compile(const std::string& source,
                                                                        bool counts = false);

  CompiledLibrary(const CompiledLibrary&) = delete;
  CompiledLibrary& operator=(const CompiledLibrary&) = delete;
  ~CompiledLibrary();

  /// errors: NotFound.
  [[nodiscard]] Result<CompiledKernel> kernel(const std::string& name) const;

 private:
  CompiledLibrary() = default;

  void* handle_ = nullptr;
  std::vector<KernelEntry> kernels_;
  std::uint64_t threadgroup_nbytes_ = 0;
};

}  // namespace tenon::metal_stand_in
