// SPDX-License-Identifier: MIT
// Breaks TN-OPT-1 at level 5: an unknown option is refused with the wrong status.
#include "good.h"

static tenon_status set_option(tenon_backend* backend, const tenon_option* option) {
  if (strcmp(option->key, "bias") == 0) return good_set_option(backend, option);
  return good_fail(backend->host, TENON_STATUS_INVALID_ARGUMENT,
                   "option %.64s is unknown, expected bias", option->key);
}

#define ZOO_SET_OPTION set_option
#include "good_plugin.h"
