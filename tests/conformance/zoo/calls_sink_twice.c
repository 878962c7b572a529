// SPDX-License-Identifier: MIT
// Breaks TN-OPT-2 at level 5: the value of an option is passed to the sink twice.
#include "good.h"

static tenon_status get_option(tenon_backend* backend, const char* key, tenon_option_sink sink,
                               void* context) {
  const tenon_status status = good_get_option(backend, key, sink, context);
  return status == TENON_STATUS_OK ? good_get_option(backend, key, sink, context) : status;
}

#define ZOO_GET_OPTION get_option
#include "good_plugin.h"
