// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "tenon/host/layers/prove/compare_layers.hpp"

namespace tenon::run {

using host::compare_layers;
using host::LayersReport;
using host::LayerTolerance;
using host::RecordedRun;
using Layer = host::ComparedLayer;

/// The table for a person, with the first layer that differs; ends with a line feed.
[[nodiscard]] std::string layers_text(const LayersReport& report);

/// A picture of the largest difference of each layer, as SVG.
[[nodiscard]] std::string layers_svg(const LayersReport& report);

}  // namespace tenon::run
