// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "groups.hpp"

namespace tenon::bench {

/// The cost of listing plugins, compared with opening their libraries. The stock runtime has
/// nothing like it.
[[nodiscard]] std::vector<Row> plugin_rows(const Setup& setup);

}  // namespace tenon::bench
