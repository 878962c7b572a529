// SPDX-License-Identifier: MIT
// Breaks TN-BCK-9 at level 9: delegates share a number, so that two concurrent runs compute wrong
// outputs.
#include <time.h>

#include "good.h"

static atomic_int num_running;

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  atomic_fetch_add(&num_running, 1);
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  const tenon_tensor* const result = good_output(args, num_args);
  if (status == TENON_STATUS_OK && result) {
    *good_data(result) += (float)(atomic_load(&num_running) - 1);
  }
  atomic_fetch_sub(&num_running, 1);
  return status;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
