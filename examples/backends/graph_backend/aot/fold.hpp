// SPDX-License-Identifier: MIT
#pragma once

#include <tenon/core/result.hpp>

#include "aot/graph_builder.hpp"

namespace graph_backend {

/// Computes ahead of time every node whose inputs are constants, with the kernels of the run time:
/// weights that are turned, statistics of a batch norm.
[[nodiscard]] tenon::Status fold_constants(Draft& draft);

/// Merges a product with, or a sum of, one number a channel into the convolution before it, where
/// no other node reads the convolution's result. After `fold_constants` a batch norm has that form.
/// The remaining node replaces both, also in its debug handles.
void fold_into_convolutions(Draft& draft);

/// Drops nodes, tensors and constants that no output depends on. Inputs stay.
void drop_unused(Draft& draft);

}  // namespace graph_backend
