// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "strided.hpp"
#include "tenon/core/result.hpp"

namespace tenon::cpu_aoti {

/// Indices drawn from each row of weights, with the chances that the weights have; without
/// `replacement` each index at most once. Has PyTorch's distribution, not its values.
Status draw_indices(const ModelTensor& weights, std::int64_t count, bool replacement,
                    OwnedTensor& out);

}  // namespace tenon::cpu_aoti
