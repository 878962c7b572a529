// SPDX-License-Identifier: MIT
#pragma once

#include "aot/graph_builder.hpp"

namespace graph_backend {

/// Gives each tensor its place. Results that are outputs are computed in the output, a
/// reshaped tensor shares the memory of the original, and all others share one piece of scratch
/// memory: the largest first, each at the lowest offset that no other tensor uses at the same time.
/// Sizes are the largest ones, so the plan holds for all.
///
/// Adds a copy where one tensor is to be several outputs, or an input or a constant is an output.
void plan_memory(Draft& draft);

}  // namespace graph_backend
