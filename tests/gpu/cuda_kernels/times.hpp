// SPDX-License-Identifier: MIT
#pragma once

#include "gpu.hpp"

namespace gpu_test {

/// Prints a line for each product and copy, a JSON object with its microseconds by the device's
/// events, the bytes that it reads and writes at least, and those by second. `chosen` is the way
/// that CudaBackend takes. False when something failed, which is reported.
bool print_times();

}  // namespace gpu_test
