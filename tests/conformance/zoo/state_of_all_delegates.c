// SPDX-License-Identifier: MIT
// Breaks TN-SEQ-4 at level 5: a part of the state is that of all delegates.
#include "good.h"

static atomic_llong all_runs;

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  atomic_fetch_add(&all_runs, 1);
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_STATE_PARTS(delegate) \
  {"runs", &(delegate)->runs, sizeof(delegate)->runs}, { "all runs", &all_runs, sizeof all_runs }
#define ZOO_EXECUTE execute
#include "sequence.h"
