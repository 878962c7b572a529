// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "groups.hpp"

namespace tenon::bench {

/// What it costs to know of plugins, beside opening their libraries. The stock runtime has nothing
/// like it.
[[nodiscard]] std::vector<Row> plugin_rows(const Setup& setup);

}  // namespace tenon::bench
