// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/abi/static_plugin.h"
#include "tenon/abi/tensor.h"

// Backends under the ids that the fixtures name. They use everything that they are given.
TENON_DECLARE_STATIC_PLUGIN(TouchNoop);
// examples/backends/demo_backend, linked in.
TENON_DECLARE_STATIC_PLUGIN(BackendWithCompilerDemo);

namespace tenon::test {

/// Reads the first and last byte of everything that `args` refer to, as a backend or kernel may,
/// and writes all bytes of the last argument when it may be written. Returns a number made of what
/// was read.
std::uint64_t touch_args(tenon_value* const* args, std::uint32_t num_args);

/// From now on `count_call` returns true `limit` times. The backends here and the kernels of
/// `MethodWalk` count their calls, so that a program that loops comes to an end. For one thread.
void begin_calls(std::uint64_t limit);
[[nodiscard]] bool count_call();

}  // namespace tenon::test
