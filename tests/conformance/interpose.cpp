// SPDX-License-Identifier: MIT
//
// The C library's functions that count what a plugin takes and can fail it.
#include "tenon/conformance/interpose.hpp"
