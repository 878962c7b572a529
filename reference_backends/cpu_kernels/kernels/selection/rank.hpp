// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "strided.hpp"
#include "tenon/core/result.hpp"

namespace tenon::cpu_aoti {

/// The lower median along a dimension and the index that a stable sort has in its place. A line
/// with NaN has the median NaN, at the first one; with `skip_nan` only a line of NaN alone.
Status median_along(const ModelTensor& self, std::int64_t dim, bool keepdim, bool skip_nan,
                    OwnedTensor& values, OwnedTensor& indices);

}  // namespace tenon::cpu_aoti
