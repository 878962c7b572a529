// SPDX-License-Identifier: MIT
#pragma once

#include <tenon/aot.hpp>
#include <vector>

namespace openvino_backend {

/// By node: false when its result depends on 64-bit integers of any value.
///
/// OpenVINO's device for CPUs reduces 64-bit integers to 32 bits and reports nothing, also where
/// they are only moved. That is exact for positions: integers that follow from sizes, numbers in
/// the program and constants alone ("aten.arange.start_step" and what is computed from it). Numbers
/// that a caller passes may be larger. They are used as indices and moved on the way there;
/// everything else with them is left to others.
///
/// `partitions` says what is compiled together; a node that must leave its partition can make
/// others inexact, so this is asked again with the next partitions.
[[nodiscard]] std::vector<bool> find_exact_integers(const tenon::aot::EdgeProgram& program,
                                                    const tenon::aot::PartitionResult& partitions);

}  // namespace openvino_backend
