// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "groups.hpp"

namespace tenon::bench {

/// What a call costs in methods of more and more delegates and kernels, and when more and more
/// threads run methods of one program at the same time.
[[nodiscard]] std::vector<Row> growth_rows(const Setup& setup);

}  // namespace tenon::bench
