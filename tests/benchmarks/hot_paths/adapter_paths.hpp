// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "harness.hpp"
#include "programs.hpp"

namespace tenon::bench {

/// Calls the no-op plugin through our adapter as a method of ExecuTorch does, with two tensors of
/// four numbers, 1,000 times for each repeat. What the stock runtime itself does is left out.
[[nodiscard]] Work adapted_calls(const std::string& plugin, Shapes shapes);

}  // namespace tenon::bench
