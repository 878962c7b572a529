// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "report.hpp"

namespace tenon::bench {

/// The rows of the group growth as a picture: an SVG. A side that was not measured is left out.
[[nodiscard]] std::string growth_plot(const std::vector<Row>& rows);

}  // namespace tenon::bench
