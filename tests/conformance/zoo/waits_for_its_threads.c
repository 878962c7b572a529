// SPDX-License-Identifier: MIT
// Breaks TN-THR-4 at level 5: the parts of its work wait for each other.
#include <time.h>

#include "pool.h"

typedef struct meeting {
  uint32_t num_threads;
  atomic_uint num_here;
} meeting;

static tenon_status meet(void* data, uint32_t worker, uint64_t begin, uint64_t end) {
  (void)worker;
  meeting* const here = (meeting*)data;
  atomic_fetch_add(&here->num_here, (unsigned)(end - begin));
  // Not for ever: a pool that fails begins no other part.
  const struct timespec millisecond = {.tv_nsec = 1000000};
  for (int i = 0; i < 6000 && atomic_load(&here->num_here) < here->num_threads; ++i) {
    nanosleep(&millisecond, NULL);
  }
  return TENON_STATUS_OK;
}

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_thread_pool* const pool = pool_of(context);
  if (pool) {
    meeting here = {.num_threads = pool->num_threads, .num_here = 0};
    const tenon_status status = pool->parallel_for(pool, pool->num_threads, 1, meet, &here);
    if (status != TENON_STATUS_OK) return good_fail(backend->host, status, "execute: the pool");
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
