// SPDX-License-Identifier: MIT
//
// Hosts and their extensions (TN-HST, TN-EXT). README.md says how a section becomes a plugin.

#include "good.h"

#ifdef ZOO_answers_any_extension
// Breaks TN-EXT-1 at level 5: an unknown extension id returns a table.
/// Only its size, without functions.
static const uint32_t table[8] = {sizeof table};

#define ZOO_EXTENSIONS(id) \
  if (strncmp(id, "tenon.", 6) != 0) return table
#endif

#ifdef ZOO_extension_without_size
// Breaks TN-EXT-1 at level 5: the size field of its options table is 0.
static const tenon_options_v1 table = {0, 1, good_specs, good_set_option, good_get_option};

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_OPTIONS) == 0) return &table
#endif

#ifdef ZOO_reads_past_context
// Breaks TN-HST-1: `init` reads beyond the end of its context.
#define ZOO_BEFORE_INIT (void)*((const volatile char*)context + context->struct_size)
#endif

#ifdef ZOO_reads_past_host
// Breaks TN-HST-1: `open` reads beyond the end of the host struct.
#define ZOO_BEFORE_OPEN (void)((const volatile char*)host)[host->struct_size]
#endif

#ifdef ZOO_table_changes
// Breaks TN-EXT-1 at level 5: each request for its options returns another table.
static const tenon_options_v1 tables[] = {
    {sizeof(tenon_options_v1), 1, good_specs, good_set_option, good_get_option},
    {sizeof(tenon_options_v1), 1, good_specs, good_set_option, good_get_option},
};
static atomic_uint num_asked;

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_OPTIONS) == 0) return &tables[atomic_fetch_add(&num_asked, 1) % 2]
#endif

#include "good_plugin.h"
