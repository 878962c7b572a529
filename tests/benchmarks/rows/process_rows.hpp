// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "groups.hpp"
#include "report.hpp"

namespace tenon::bench {

/// Whole processes, from their start to their end, with the output of one run of a program.
[[nodiscard]] std::vector<Row> process_rows(const Setup& setup);

}  // namespace tenon::bench
