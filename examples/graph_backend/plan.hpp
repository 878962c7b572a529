// SPDX-License-Identifier: MIT
#pragma once

#include "graph_builder.hpp"

namespace graph_backend {

/// Gives each tensor its place. Results that are outputs are computed where the output lies, a
/// reshaped tensor lies where the original does, and all others share one piece of scratch memory:
/// the largest first, each at the lowest offset at which nothing lies that is alive at the same
/// time. Sizes are the largest ones, so the plan holds for all.
///
/// Adds a copy where one tensor is to be several outputs, or an input or a constant is an output.
void plan_memory(Draft& draft);

}  // namespace graph_backend
