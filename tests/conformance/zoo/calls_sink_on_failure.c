// SPDX-License-Identifier: MIT
// Breaks TN-OPT-2 at level 5: an unknown option is passed to the sink and then refused.
#include "good.h"

static tenon_status get_option(tenon_backend* backend, const char* key, tenon_option_sink sink,
                               void* context) {
  const tenon_status status = good_get_option(backend, key, sink, context);
  if (status != TENON_STATUS_OK) sink(context, &good_initial);
  return status;
}

#define ZOO_GET_OPTION get_option
#include "good_plugin.h"
