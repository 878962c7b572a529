// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "tenon/abi/static_plugin.h"
#include "tenon/aot/edge_program.hpp"

TENON_DECLARE_STATIC_PLUGIN(Toy);

namespace graphs {

/// Programs that delegates of backend "Toy" interpret. A blob is a number of one of them, four
/// bytes long.
std::vector<tenon::aot::EdgeProgram>& toy_programs();

}  // namespace graphs
