// SPDX-License-Identifier: MIT
// Breaks TN-EXT-1 at level 5: the size field of its options table is 0.
#include "good.h"

static const tenon_options_v1 table = {0, 1, good_specs, good_set_option, good_get_option};

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_OPTIONS) == 0) return &table
#include "good_plugin.h"
