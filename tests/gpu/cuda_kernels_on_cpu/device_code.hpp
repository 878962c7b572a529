// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string_view>

#include "include/stand_in_threads.hpp"
#include "tenon/core/result.hpp"

namespace gpu_test {

/// The kernel of that name, for one thread; null when there is none. `buffers` are the parameters
/// of `Launch`. Set `cuda_threads::host` first.
[[nodiscard]] tenon_stand_in::Kernel kernel_named(std::string_view name);

/// Runs all threads of a launch, one after the other.
///
/// errors: NotFound for a name that no kernel has; InvalidState when the threads of a block do not
/// meet.
[[nodiscard]] tenon::Status run_kernel(std::string_view name, const std::array<unsigned, 3>& grid,
                                       const std::array<unsigned, 3>& block,
                                       void* const* parameters);

}  // namespace gpu_test
