// SPDX-License-Identifier: MIT
// Breaks TN-OPT-1 at level 5: an unknown option is accepted and ignored.
#include "good.h"

static tenon_status set_option(tenon_backend* backend, const tenon_option* option) {
  if (strcmp(option->key, "bias") != 0) return TENON_STATUS_OK;
  return good_set_option(backend, option);
}

#define ZOO_SET_OPTION set_option
#include "good_plugin.h"
