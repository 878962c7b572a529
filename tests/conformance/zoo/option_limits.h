// SPDX-License-Identifier: MIT
//
// The good backend with an option from -8 to 8.

#ifndef TENON_ZOO_LIMITS_H
#define TENON_ZOO_LIMITS_H

#include "tenon/abi/extensions/options.h"

static const tenon_option least_bias = {
    .struct_size = sizeof(tenon_option),
    .type = TENON_OPTION_INT,
    .as = {.integer = -8},
};
static const tenon_option most_bias = {
    .struct_size = sizeof(tenon_option),
    .type = TENON_OPTION_INT,
    .as = {.integer = 8},
};

#define ZOO_LIMITS .minimum = &least_bias, .maximum = &most_bias
#ifndef ZOO_IS_ALLOWED
#define ZOO_IS_ALLOWED(value) ((value) >= -8 && (value) <= 8)
#endif
#include "good.h"

#endif  // TENON_ZOO_LIMITS_H
