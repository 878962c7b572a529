// SPDX-License-Identifier: MIT
//
// `destroy` (TN-DES). README.md says how a section becomes a plugin.

#ifdef ZOO_crashes_on_null_delegate
// Breaks TN-DES-2: `destroy` dereferences the NULL delegate that `init` returned.
#include "null_delegate.h"

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  *(volatile int64_t*)&delegate->runs = 0;
  good_destroy(backend, delegate);
}

#define ZOO_DESTROY destroy
#endif

#ifdef ZOO_good_null_delegate
// Breaks nothing: a delegate may be NULL.
#include "null_delegate.h"
#endif

#include "good.h"

#ifdef ZOO_destroys_neighbour
// Breaks TN-DES-1 at level 3: `destroy` changes the numbers of the delegate that was loaded last.
static _Atomic(tenon_delegate*) newest;

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  tenon_delegate* expected = delegate;
  // The model of another delegate; for the newest itself, only its own memory.
  if (!atomic_compare_exchange_strong(&newest, &expected, NULL) && expected) {
    expected->model->added += 1.0f;
  }
  good_destroy(backend, delegate);
}

#define ZOO_AFTER_INIT atomic_store(&newest, *out)
#define ZOO_DESTROY destroy
#endif

#ifdef ZOO_leaks_after_failed_run
// Breaks TN-DES-3 at level 6: after a failed run, the memory of the delegate is kept until `close`.
#include "keep.h"

ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  delegate->note = status == TENON_STATUS_OK ? NULL : delegate;
  return status;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate && delegate->note) keep_memory(&backend->note);
  good_destroy(backend, delegate);
}

#define ZOO_EXECUTE execute
#define ZOO_DESTROY destroy
#define ZOO_CLOSE keep_close
#endif

#ifdef ZOO_leaks_delegate
// Breaks TN-DES-3 at level 6: the memory of a delegate is kept until `close`.
#include "keep.h"

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  keep_memory(&backend->note);
  good_destroy(backend, delegate);
}

#define ZOO_DESTROY destroy
#define ZOO_CLOSE keep_close
#endif

#include "good_plugin.h"
