// SPDX-License-Identifier: MIT
// Breaks TN-EXT-1 at level 5: each request for its options returns another table.
#include "good.h"

static const tenon_options_v1 tables[] = {
    {sizeof(tenon_options_v1), 1, good_specs, good_set_option, good_get_option},
    {sizeof(tenon_options_v1), 1, good_specs, good_set_option, good_get_option},
};
static atomic_uint num_asked;

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_OPTIONS) == 0) return &tables[atomic_fetch_add(&num_asked, 1) % 2]
#include "good_plugin.h"
