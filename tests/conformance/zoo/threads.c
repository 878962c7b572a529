// SPDX-License-Identifier: MIT
//
// The application's threads (TN-THR). README.md says how a section becomes a plugin.

#include "pool.h"

#ifdef ZOO_good_pool
// Breaks nothing: a part of its runs is done on the application's threads.
#define ZOO_EXECUTE pool_execute
#endif

#ifdef ZOO_ignores_a_failed_pool
// Breaks TN-THR-2 at level 5: a run succeeds although the pool did not do its work.
ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_thread_pool* const pool = pool_of(context);
  if (pool) (void)pool_use(pool, backend->host);
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_outputs_by_threads
// Breaks TN-THR-3 at level 5: the outputs depend on the number of threads.
ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_thread_pool* const pool = pool_of(context);
  const tenon_status outcome = pool_execute(backend, delegate, context, args, num_args);
  if (outcome != TENON_STATUS_OK || !pool || pool->num_threads < 8) return outcome;
  pool_change(args[num_args - 1]->as.tensor);
  return outcome;
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_outputs_by_worker
// Breaks TN-THR-3 at level 5: the outputs depend on the numbers of the workers.
static tenon_status note_worker(void* data, uint32_t worker, uint64_t begin, uint64_t end) {
  (void)begin;
  (void)end;
  if (worker > 1) atomic_store((atomic_uint*)data, 1);
  return TENON_STATUS_OK;
}

ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_thread_pool* const pool = pool_of(context);
  atomic_uint has_third = 0;
  const tenon_status status =
      pool ? pool->parallel_for(pool, pool_parts, 2, note_worker, &has_third) : TENON_STATUS_OK;
  if (status != TENON_STATUS_OK) return good_fail(backend->host, status, "execute: the pool");
  const tenon_status outcome = good_execute(backend, delegate, context, args, num_args);
  if (outcome != TENON_STATUS_OK || has_third == 0) return outcome;
  pool_change(args[num_args - 1]->as.tensor);
  return outcome;
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_uses_the_pool_later
// Breaks TN-THR-1 at level 5: `destroy` uses the pool of an earlier run.
static _Atomic(const tenon_thread_pool*) kept;

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  const tenon_thread_pool* const pool = atomic_exchange(&kept, NULL);
  atomic_uint done = 0;
  if (pool) (void)pool->parallel_for(pool, pool_parts, 2, pool_count, &done);
  good_destroy(backend, delegate);
}

ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_status status = pool_execute(backend, delegate, context, args, num_args);
  if (status == TENON_STATUS_OK) atomic_store(&kept, pool_of(context));
  return status;
}

#define ZOO_EXECUTE execute
#define ZOO_DESTROY destroy
#endif

#ifdef ZOO_waits_for_its_threads
// Breaks TN-THR-4 at level 5: the parts of its work wait for each other.
#include <time.h>

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

ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_thread_pool* const pool = pool_of(context);
  if (pool) {
    meeting here = {.num_threads = pool->num_threads, .num_here = 0};
    const tenon_status status = pool->parallel_for(pool, pool->num_threads, 1, meet, &here);
    if (status != TENON_STATUS_OK) return good_fail(backend->host, status, "execute: the pool");
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#endif

#include "good_plugin.h"
