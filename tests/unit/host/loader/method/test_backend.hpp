// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tenon/abi/static_plugin.h"

TENON_DECLARE_STATIC_PLUGIN(TestBackend);
/// FirstKernels, SecondKernels, AbsentKernels and Asking of test_kernels.cpp, in that order.
TENON_DECLARE_STATIC_PLUGIN(FirstKernels);

namespace tenon::test {

/// The calls of the backends in test_backend.cpp, in order: "init a", "execute a", "destroy a",
/// where the letter is the blob's text.
std::vector<std::string>& calls();

/// Adds to `calls`. Plugins of different sources may do so at the same time.
void record(std::string call);

/// How often malloc was asked for memory since the program began; always 0 under sanitizers.
std::size_t num_allocations();

}  // namespace tenon::test
