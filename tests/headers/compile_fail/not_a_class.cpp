// SPDX-License-Identifier: MIT
// expect: tenon: TENON_PLUGIN takes the names of backend classes
#include <tenon/tenon.hpp>

using X = int;

TENON_PLUGIN(X);
