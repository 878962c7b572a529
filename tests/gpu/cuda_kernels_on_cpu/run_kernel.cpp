// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>

#include "cuda_threads.hpp"
#include "device_code.hpp"
#include "threadgroup.hpp"

namespace gpu_test {

tenon::Status run_kernel(std::string_view name, const std::array<unsigned, 3>& grid,
                         const std::array<unsigned, 3>& block, void* const* parameters) {
  using tenon::metal_stand_in::GridRunner;
  static GridRunner runner;
  const tenon_stand_in::Kernel kernel = kernel_named(name);
  if (!kernel) return tenon::error(tenon::Error::NotFound, "no kernel ", name);
  cuda_threads::host = &GridRunner::host;
  std::array<std::uint64_t, 3> threads{};
  std::array<std::uint64_t, 3> group{};
  for (std::size_t d = 0; d < 3; ++d) {
    group[d] = block[d];
    threads[d] = std::uint64_t{grid[d]} * block[d];
  }
  return runner.run(kernel, parameters, threads, group);
}

}  // namespace gpu_test
