// SPDX-License-Identifier: MIT
// Breaks TN-OPT-5 at level 5: `set_option` takes a value that is above the declared maximum.
#include "option_limits.h"

static tenon_status set_option(tenon_backend* backend, const tenon_option* option) {
  if (strcmp(option->key, "bias") == 0 && option->type == TENON_OPTION_INT &&
      option->as.integer > 8) {
    atomic_store(&backend->bias, option->as.integer);
    return TENON_STATUS_OK;
  }
  return good_set_option(backend, option);
}

#define ZOO_SET_OPTION set_option
#include "good_plugin.h"
