// SPDX-License-Identifier: MIT
// Breaks TN-OPT-5 at level 5: a load takes a value that is below the declared minimum.
#define ZOO_IS_ALLOWED(value) ((value) <= 8)
#include "option_limits.h"

static tenon_status set_option(tenon_backend* backend, const tenon_option* option) {
  if (strcmp(option->key, "bias") == 0 && option->type == TENON_OPTION_INT &&
      option->as.integer < -8) {
    return good_fail(backend->host, TENON_STATUS_INVALID_ARGUMENT,
                     "option bias: expected -8 or more, found %lld", (long long)option->as.integer);
  }
  return good_set_option(backend, option);
}

#define ZOO_SET_OPTION set_option
#include "good_plugin.h"
