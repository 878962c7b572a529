// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "include/stand_in_threads.hpp"

namespace gpu_test {

/// The kernel of that name, for one thread; null when there is none. `buffers` are the parameters
/// of `Launch`. Set `cuda_threads::host` first.
[[nodiscard]] tenon_stand_in::Kernel kernel_named(std::string_view name);

}  // namespace gpu_test
