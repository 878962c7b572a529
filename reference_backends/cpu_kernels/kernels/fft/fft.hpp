// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "strided.hpp"
#include "tenon/core/result.hpp"

namespace tenon::cpu_aoti {

/// The real transform back from the first half of a spectrum along the last of `dims`, which gets
/// `last_size` elements; complex along the others. `scaling` is PyTorch's: 0 none, 1 by the root of
/// the number of elements, 2 by the number.
Status transform_to_real(const ModelTensor& self, Sizes dims, std::int64_t scaling,
                         std::int64_t last_size, OwnedTensor& out);

}  // namespace tenon::cpu_aoti
