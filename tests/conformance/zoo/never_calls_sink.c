// SPDX-License-Identifier: MIT
// Breaks TN-OPT-2 at level 5: `get_option` succeeds without a value.
#include "good.h"

static void no_sink(void* context, const tenon_option* option) {
  (void)context;
  (void)option;
}

static tenon_status get_option(tenon_backend* backend, const char* key, tenon_option_sink sink,
                               void* context) {
  (void)sink;
  return good_get_option(backend, key, no_sink, context);
}

#define ZOO_GET_OPTION get_option
#include "good_plugin.h"
