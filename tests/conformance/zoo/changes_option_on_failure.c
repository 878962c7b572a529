// SPDX-License-Identifier: MIT
// Breaks TN-OPT-1 at level 5: a value of another type is refused but changes the option.
#include "good.h"

static tenon_status set_option(tenon_backend* backend, const tenon_option* option) {
  const tenon_status status = good_set_option(backend, option);
  if (status == TENON_STATUS_INVALID_TYPE) atomic_fetch_add(&backend->bias, 1);
  return status;
}

#define ZOO_SET_OPTION set_option
#include "good_plugin.h"
